#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node that is lost while a communicator is measured is waited for once, and not once for each
# candidate that is left. Its NIC is killed; each wait for it that takes longer than coll_nicbarr_warn
# is told, so these lines are counted.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1 || {
    cat "$scratch/out"
    exit 77
}
export out=$scratch/out
cat > "$scratch/beside.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_MPIRUN" "$@" &
job=$!
until grep -q ": np " "$out"; do
    kill -0 $job 2> /dev/null || exit 1
    sleep 0.05
done
sleep 1 # so that it is measured, most probably; if not, this proves less, but does not fail
"$NETHOSTS_RUN" 2 bash -c 'pkill -KILL -x --ns $$ --nslist net myrd'
wait $job
EOS
chmod +x "$scratch/beside.sh"

# The third barrier begins a contest that takes a minute.
lost() { # OPTION...: the job comes to an end, well or not
    timeout -k 5 "$patience" "$nethosts" --kernel --shell 2 1 "$scratch/beside.sh" \
        --mca coll_nicbarr_nic kernel --mca coll_nicbarr_tune_after 2 --mca coll_nicbarr_cache none \
        --mca coll_nicbarr_tune_budget 60000 --mca coll_nicbarr_warn 1 --mca coll_nicbarr_timeout 4 \
        "$@" "$programs/barrier_ledger" --iterations 20000 > "$out" 2>&1
    [ $? != 124 ]
}
waits() { grep -c "without a sign of life" "$out"; }
check "a NIC is killed while collectives are measured" lost
check "somebody is told of it" test "$(waits)" -ge 1
check "each process waits for it once" test "$(waits)" -le 2
finish
