#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One rank lacks the component, or has another value of a parameter that members must have alike: all
# members then use Open MPI's own functions in each call, so every result is right. Nothing of
# nicbarr's is sent before that is known: one message too many shifts all that follow.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/odd_common.sh"
. "$(dirname "$0")/drawn_common.sh"
export odd_rank=1
# (5.0's coll/han replaces itself in the communicator where it cannot serve; with a component above it
# on some ranks alone, these go on calling it, and the others do not.)
without=^nicbarr
is_open_mpi 4 || { export OMPI_MCA_coll=^han && without=^nicbarr,han; }
soon=(--mca coll_nicbarr_tune_after 3)
drawn data --first 10
here() { job 3 "${soon[@]}" "$scratch/odd.sh" "$1" "${data[@]}" && said "^ok"; }
there() { on_hosts 2 1 "${soon[@]}" "$scratch/odd.sh" "$1" "${data[@]}"; }
odd() { # NAME SETTING
    check "one node: $1" here "$2"
    check "two hosts: $1" there "$2"
}

odd "no component" "OMPI_MCA_coll=$without"
odd "no NIC is wanted" OMPI_MCA_coll_nicbarr_nic=none
# All that is SHARED in the component's table.
parameters=$(sed -n 's/.*\<\([a-z_]*\), SHARED,.*/\1/p' "$srcdir/coll_nicbarr/parameters.c")
check "there are such parameters" [ "$(wc -w <<< "$parameters")" -gt 10 ]
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
