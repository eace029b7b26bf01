#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, barriers, collectives with data or messages do not work at all in shared memory or on a kind of NIC.
# The test runs one job for each; hosts.sh, data.sh, data_hosts.sh, kernel.sh, lossy.sh, btl.sh and mtl.sh test
# variants.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
is_open_mpi 4 || export OMPI_MCA_coll=^han # see data_hosts.sh
# shellcheck source=tests/component/carried_common.sh
. "$(dirname "$0")/carried_common.sh"
ln -s "$builddir"/{btl_myr/.libs/mca_btl_myr.so,mtl_myr/.libs/mca_mtl_myr.so} "$scratch/components/"
verbose=(--mca coll_nicbarr_verbose 1)
on_node() { job "$@" && said "^ok"; }
drawn_barriers barriers 200
drawn messages --flavour '{"messages": true, "away": true}'

for processes in 2 5; do
    check "barriers of $processes processes on one node" on_node $processes "${barriers[@]}"
    check "collectives with data of $processes processes on one node" on_node $processes "${ours[@]}" "${data[@]}"
done
for kind in soft kernel; do
    hosts=(--loss 5 --duplicate 5 --reorder 5 --seed "$seed")
    if [ $kind = kernel ]; then
        hosts+=(--kernel)
        "$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
        [ $? != 77 ] || { echo "skip kernel: $(cat "$scratch/out")"; continue; }
    fi
    check "barriers of 3 hosts by the $kind NIC" on_hosts "${hosts[@]}" 3 2 "${verbose[@]}" \
        --mca coll_nicbarr_algorithm "dissemination:1@$kind" "${barriers[@]}"
    check "the NICs execute the barriers" said "MPI_Barrier on .* nodes: dissemination:1@$kind"
    check "collectives with data of 3 hosts by the $kind NIC" on_hosts "${hosts[@]}" 3 2 "${verbose[@]}" "${ours[@]}" \
        --mca coll_nicbarr_algorithm "dissemination:2@$kind" "${data[@]}"
    check "the NICs execute the collectives" carried 3 "dissemination:2@$kind" Allreduce Reduce Allgather Gather Bcast Scatter
done
for component in "pml ob1 --mca btl myr,self" "pml cm --mca mtl myr"; do
    # shellcheck disable=SC2086 # words
    check "messages on one node, $component" on_node 3 --mca $component "${messages[@]}"
    # shellcheck disable=SC2086 # words
    ! is_open_mpi 4 || check "messages between 2 hosts, $component" on_hosts 2 2 --mca $component "${messages[@]}"
done
finish
