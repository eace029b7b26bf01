# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts that run random legal programs (tests/programs). To be sourced after hosts_common.sh.
# shellcheck shell=bash disable=SC2154
machine=$srcdir/tests/programs/run.sh
export srcdir
for component in btl_myr mtl_myr; do # they carry the messages of some programs
    ln -s "$builddir/$component/.libs/mca_$component.so" "$scratch/components/"
done

# Succeeds if a failing program passes three times without nicbarr. Otherwise the failure may be a bug of Open MPI.
ours() { # FILE
    "$machine" play --plain --times 3 "$1" > "$scratch/plain" 2>&1 && return
    echo "# plain Open MPI fails, too: $(head -n 1 "$1")"
    false
}
random() { # SECONDS SEED [OPTION...]
    local status program
    "$machine" --keep "$scratch/failed" "$@" > "$scratch/out" 2>&1
    status=$?
    grep '^#' "$scratch/out"
    [ "$status" != 0 ] || return 0
    for program in "$scratch"/failed/*.program; do
        ! ours "$program" || { cat "$program" >> "$scratch/out" && return 1; }
    done
}
