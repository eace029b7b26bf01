#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, restarting a daemon of the kernel NIC disturbs running jobs. Daemons are killed at random moments and
# restarted under programs that make and free communicators, have many barriers outstanding and carry data, then under
# random legal programs (tests/programs).
#
#     KILLS=1000 ROUNDS=200 make check TESTS=tests/component/myrd_restart.sh
#
# KILLS: kills per program (10). ROUNDS: random programs (5). The seed (NICBARR_SEED) determines the moments and the
# victims.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/playing_common.sh"
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
if [ $? = 77 ]; then
    echo "skip: $(cat "$scratch/out")"
    exit 77
fi
. "$(dirname "$0")/random_common.sh"
kills=${KILLS:-10} rounds=${ROUNDS:-5}
patience=$((patience + 4 * kills))
export kills seed myrd=$builddir/myrd/myrd said=$scratch/out

cat > "$scratch/restarts.sh" << 'EOS'
#!/bin/bash
. "$srcdir/tests/programs/daemons.sh"
RANDOM=$seed
"$NETHOSTS_MPIRUN" "$@" &
job=$!
until grep -q "@kernel" "$said"; do kill -0 $job && sleep 0.05 || exit 1; done
for kill in $(seq "$kills"); do
    host=$((1 + RANDOM % NETHOSTS_HOSTS))
    sleep "0.$((100 + RANDOM % 900))"
    kill -0 $job || break
    kill_daemon $host $((RANDOM % 2)) || exit 1
done
kill -0 $job && echo "killed: $kill" || exit 1
touch "$until"
wait $job
EOS
chmod +x "$scratch/restarts.sh"

export until=$scratch/until
algorithms=(dissemination:1 pairwise tree:2)
unharmed() { # HOSTS PER-HOST MPIRUN-ARGUMENT...
    rm -f "$until"
    on_hosts --kernel --shell "$1" "$2" "$scratch/restarts.sh" --mca coll_nicbarr_verbose 1 \
        --mca coll_nicbarr_algorithm "${algorithms[turn++ % 3]}@kernel" "${@:3}" &&
        said "killed: $kills" && ! said "the kernel NIC of this node"
}
check "barriers are correct while daemons are killed and restarted" unharmed 3 2 "$programs/barrier_ledger" --iterations 100 --until "$until" \
    --ledger "$scratch/ledger" --seed "$seed"
check "communicators are created and freed while daemons are killed and restarted" unharmed 2 2 "${of_shapes[@]}" --until "$until"
drawn data
check "collectives with data are correct while daemons are killed and restarted" unharmed 3 1 "${data[@]}" --until "$until"

# ---- random programs, whose results must be correct, whichever NIC serves them in the end

export NICBARR_KILLED=$scratch/killed
under_programs() {
    local round
    true > "$NICBARR_KILLED"
    for round in $(seq "$rounds"); do
        random 0.01 $((seed + round)) --hosts killed --length 300 || return
    done
    echo "# killed: $(wc -l < "$NICBARR_KILLED")"
    [ -s "$NICBARR_KILLED" ]
}
if is_open_mpi 4; then # see random_programs.sh
    check "random programs are correct while daemons are killed and restarted" under_programs
fi

finish
