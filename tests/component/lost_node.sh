#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job whose network is lost during tuning waits once for each remaining candidate instead of only once.
# The switch drops all packets of the NICs after the first few thousand. A message reports each wait that takes longer
# than coll_nicbarr_warn, and the test counts these messages.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

# The third barrier begins a tuning run that may take a minute, and sends many more packets than that.
lost() { # the job must end with an error
    timeout -k 5 "$patience" "$nethosts" --cut 1-2 --cut-after 5000 2 1 \
        --mca coll_nicbarr_nic soft --mca coll_nicbarr_tune_after 2 --mca coll_nicbarr_cache none \
        --mca coll_nicbarr_tune_budget 60000 --mca coll_nicbarr_warn 1 --mca coll_nicbarr_timeout 4 \
        "$programs/barrier_ledger" --iterations 1000000 > "$scratch/out" 2>&1
    local status=$?
    [ "$status" != 0 ] && [ "$status" != 124 ]
}
waits() { grep -c "without a response from" "$scratch/out"; }
check "the network is lost while barriers are measured" lost
check "a message reports the loss" test "$(waits)" -ge 1
check "each process waits for the lost node once" test "$(waits)" -le 2
finish
