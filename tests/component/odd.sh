#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job in which one rank lacks the component, or has another value of a parameter on which members must
# agree, computes wrong results or hangs. All members must use the functions of Open MPI for every call. Until this is
# known, nicbarr must not send any message, because a single extra message would shift all later ones.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/odd_common.sh"
. "$(dirname "$0")/drawn_common.sh"
export odd_rank=1
# If coll/han of Open MPI 5.0 cannot serve a communicator, it replaces its functions there. If a component of higher
# priority exists on some ranks only, these ranks continue to call coll/han, and the others do not.
without=^nicbarr
is_open_mpi 4 || { export OMPI_MCA_coll=^han && without=^nicbarr,han; }
soon=(--mca coll_nicbarr_tune_after 3)
drawn data --first 10
here() { job 3 "${soon[@]}" "$scratch/odd.sh" "$1" "${data[@]}" && said "^ok"; }
there() { on_hosts 2 1 "${soon[@]}" "$scratch/odd.sh" "$1" "${data[@]}"; }
odd() { # NAME SETTING
    check "one node, one rank differs in: $1" here "$2"
    check "two hosts, one rank differs in: $1" there "$2"
}

odd "no component" "OMPI_MCA_coll=$without"
odd "no NIC is wanted" OMPI_MCA_coll_nicbarr_nic=none
# All parameters on which members must agree (SHARED in the component's table).
parameters=$(sed -n 's/.*\<\([a-z_]*\), SHARED,.*/\1/p' "$srcdir/coll_nicbarr/parameters.c")
check "ompi_info lists parameters on which members must agree" [ "$(wc -w <<< "$parameters")" -gt 10 ]
for parameter in $parameters; do
    case $parameter in
        priority) value=-1 ;;
        tune_watch | nonblocking) value=0 ;;
        tune_* | join_*) value=7 ;;
        *) value=openmpi ;;
    esac
    odd "$parameter $value" "OMPI_MCA_coll_nicbarr_$parameter=$value"
done
finish
