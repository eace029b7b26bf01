#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a new kind of NIC would need changes throughout the component. The test runs jobs on a kind of NIC
# whose name does not occur in the component, the fake NIC of tests/unit/nic_fake.c, which is the only kind in a
# component built from the same sources. It must be found, measured, chosen, named and counted like any other kind.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/drawn_common.sh"
drawn_barriers shapes 200

ln -sf "$builddir/tests/unit/fake/.libs/mca_coll_nicbarr.so" "$scratch/components/mca_coll_nicbarr.so"
export NICBARR_FAKE=$scratch/fake
plays() { # NAME HOSTS PER-HOST ARGUMENT...
    rm -rf "$NICBARR_FAKE"
    mkdir "$NICBARR_FAKE"
    check "$1 on $2 hosts with $3 processes each" on_hosts "${@:2:2}" -x NICBARR_FAKE \
        --mca coll_nicbarr_verbose 1 "${@:4}" --seed "$seed"
    check "the memory of the fake NIC is used" test -n "$(ls "$NICBARR_FAKE")"
}
ledger="$programs/barrier_ledger --iterations 600 --ledger $scratch/ledger"

# Every process has a fake NIC of its own, and therefore is a node.
for algorithm in pairwise dissemination:1 tree:2@fake; do
    # shellcheck disable=SC2086 # words
    plays $algorithm 3 2 --mca coll_nicbarr_algorithm $algorithm $ledger
    check "the fake NIC executes barriers by $algorithm" said "MPI_Barrier on .* nodes: ${algorithm%@fake}@fake (parameter)"
done
plays "communicators of all shapes" 2 2 --mca coll_nicbarr_algorithm tree:2 "${shapes[@]}"
# shellcheck disable=SC2086 # words
plays "algorithms chosen by tuning" 3 1 --mca coll_nicbarr_report "$scratch/report" $ledger
check "the fake NIC is measured" said "3 nodes: .*(measured"
check "a prediction is reported" predicted fake

# If a NIC fails to allocate memory for a group, the network must not be suspected, and the next communicator must use
# the NIC.
export NICBARR_FAKE_REFUSALS=1
for algorithm in tree:2 auto; do
    by=measured
    [ $algorithm = auto ] || by=parameter
    rm -f "$scratch/report"
    plays "the first group of each has no memory, $algorithm" 2 2 -x NICBARR_FAKE_REFUSALS \
        --mca coll_nicbarr_algorithm $algorithm --mca coll_nicbarr_tune_after 0 \
        --mca coll_nicbarr_report "$scratch/report" "${shapes[@]}"
    check "the reason is reported for the communicator that is left to Open MPI" grep -q "the fake NIC has no memory left" "$scratch/report"
    check "no firewall is suspected" bash -c '! grep "get through" "$1"' - "$scratch/report"
    check "the other communicators use the fake NIC" said "MPI_Barrier on .* nodes: .*($by"
done
unset NICBARR_FAKE_REFUSALS

# If one process has no such NIC, all processes must use Open MPI's barrier.
unset NICBARR_FAKE
# shellcheck disable=SC2086 # words
check "the memory of the fake NIC is missing" on_hosts 2 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_tune_after 1 $ledger --seed "$seed"
check "a message gives the reason" said "are left to Open MPI: process 0: NICBARR_FAKE is not set"
check "the kinds of NIC that the fake NIC replaces are not used" \
    bash -c "! ompi_info --param coll nicbarr --level 9 | grep -q 'coll_nicbarr_network\|kernel'"
finish
