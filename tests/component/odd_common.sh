# SPDX-License-Identifier: BSD-3-Clause
# Jobs in which one rank differs from the others; to be sourced after common.sh.
# shellcheck shell=bash disable=SC2154
# odd.sh SETTING PROGRAM...: one rank, 2 or $odd_rank, gets an environment variable or a limit that the others do
# not have.
cat > "$scratch/odd.sh" << 'EOF'
#!/bin/bash
setting=$1
shift
if [ "${OMPI_COMM_WORLD_RANK-${PMIX_RANK-}}" = "${odd_rank-2}" ]; then
    case $setting in
        *=*) export "${setting?}" ;;
        *) ulimit -v "$setting" ;;
    esac
fi
exec "$@"
EOF
chmod +x "$scratch/odd.sh"
