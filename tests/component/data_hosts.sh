#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, collectives that carry data between hosts give wrong results, or sums that differ from those on one
# node. MPI_Allreduce, MPI_Iallreduce, MPI_Reduce, MPI_Allgather, MPI_Gather, MPI_Bcast and MPI_Scatter, with each
# schedule and placement, by soft NICs and by kernels, over a bad network, and with late processes.
#
# NICBARR_DATA_LONGER=N makes each program N times as long.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
longer=${NICBARR_DATA_LONGER:-1}
# Open MPI 5.0.7's coll/han gives wrong results of MPI_Allgather, with and without nicbarr, where a host has
# several processes and the types of both sides differ.
is_open_mpi 4 || export OMPI_MCA_coll=^han
patience_of_programs=$((${watchdog:-300} - 10))
# shellcheck source=tests/component/carried_common.sh
. "$(dirname "$0")/carried_common.sh"
soft=(--mca coll_nicbarr_verbose 1 --mca coll_nicbarr_nic soft)
reductions=("${soft[@]}" "${reductions[@]}")
ours=("${soft[@]}" "${ours[@]}")
mismatched=("$programs/mismatched" --hosts --watchdog "$patience_of_programs")
usual=(--length $((40 * longer)) --first 10)
drawn any "${usual[@]}"
drawn persistent "${usual[@]}" --ours hosts --flavour '{"hows": "bip"}'
written any_persistent < <(for what in allreduce reduce bcast allgather gather scatter; do
    printf "1 %s r=0\n" "coll what=$what how=p c=0 type=MPI_INT op=MPI_MAX n=2 times=2" start wait start wait rfree
done)
drawn operations "${usual[@]}" --ours hosts --flavour '{"own": true, "collectives": ["allreduce", "reduce"]}'
handed_on() { carried "$@" Bcast Scatter; } # HOSTS SCHEDULE@NIC

did() { grep -qE "^switch: .* $1 [1-9]" "$scratch/out"; }

# ---- collectives of nicbarr from the first call on

# If the forced schedule is not suitable for broadcasts, tuning chooses a schedule for them.
for game in "2 1 pairwise" "3 2 tree:2" "4 1 dissemination:1" "2 3 dissemination:1" "5 1 dissemination:4" \
    "4 2 dissemination:2"; do
    # shellcheck disable=SC2086 # words
    set -- $game
    check "random programs, $1 hosts with $2 processes each, $3: results are correct bit by bit" on_hosts "$1" "$2" "${ours[@]}" \
        --mca coll_nicbarr_algorithm "$3" "${data[@]}"
    check "the NICs execute the collectives" carried "$1" "$3@soft" Allreduce Reduce Allgather Gather
    case $3 in
        dissemination*) check "the NICs forward broadcasts" handed_on "$1" "$3@soft" ;;
        *) check "the NICs forward broadcasts" handed_on "$1" "dissemination:[0-9]@soft" ;;
    esac
done
# With `rooted` one process combines all contributions, and a broadcast returns the result.
rooted=(--mca coll_nicbarr_verbose 1 --mca coll_nicbarr_nic soft --mca coll_nicbarr_allreduce rooted
    --mca coll_nicbarr_reduce exchange)
for game in "2 3" "4 1" "3 2 --loss 10 --duplicate 5 --reorder 10 --seed $seed"; do
    # shellcheck disable=SC2086 # words
    set -- $game
    check "one process combines for all, $1 hosts with $2 processes each${3+, over a bad network}" on_hosts "${@:3}" "$1" "$2" \
        "${rooted[@]}" "${data[@]}"
    check "a NIC broadcast returns the results of MPI_Allreduce" said "MPI_Allreduce up to .* on $1 nodes: rooted:$(($1 - 1))@soft (parameter"
    check "one process combines for all, persistent collectives" on_hosts "${@:3}" "$1" "$2" "${rooted[@]}" --mca coll_nicbarr_bcast ring \
        "${persistent[@]}"
done
for kind in "" --persistent; do
    # shellcheck disable=SC2086 # nothing or a word
    check "a NIC broadcast returns the results of MPI_Iallreduce${kind:+ ($kind)}" on_hosts 2 2 "${rooted[@]}" \
        "$programs/pvars" --iallreduce --done $kind
done
# The types have any layout, which may differ between processes.
check "user-defined operations" on_hosts 2 3 "${ours[@]}" --mca coll_nicbarr_algorithm pairwise "${operations[@]}"
check "user-defined operations, one process combines for all" on_hosts 3 1 "${rooted[@]}" "${operations[@]}"
check "the NICs execute MPI_Ibcast" on_hosts 2 2 "${ours[@]}" "$programs/pvars" --ibcast --done
check "the NICs execute persistent broadcasts" on_hosts 2 2 "${ours[@]}" "$programs/pvars" --ibcast --persistent --done
# Rank 0 makes no call of MPI until the others have finished.
computing() { # NETHOSTS-ARGUMENT...
    rm -rf "$scratch/directory"
    mkdir "$scratch/directory"
    on_hosts "$@" --directory "$scratch/directory" --watchdog "$patience_of_programs"
}
for operation in "" --allreduce; do
    # shellcheck disable=SC2086 # nothing or a word
    check "a thread progresses collectives while a process computes${operation:+, $operation}" computing 3 1 \
        --mca coll_nicbarr_thread 1 "${ours[@]}" --mca coll_nicbarr_algorithm dissemination:1 \
        "$programs/asynchronous" $operation
done
for game in "2 1 pairwise" "3 2 dissemination:1"; do
    # shellcheck disable=SC2086 # words
    set -- $game
    check "persistent collectives, $1 hosts with $2 processes each, $3" on_hosts "$1" "$2" "${ours[@]}" \
        --mca coll_nicbarr_algorithm "$3" "${persistent[@]}"
done
check "persistent collectives, algorithms chosen by tuning" on_hosts 2 1 --mca coll_nicbarr_verbose 1 "${any_persistent[@]}"
check "the algorithm of a persistent collective is measured when it is created" said "MPI_Allreduce up to .*, 2 processes on 2 nodes: .* (measured, "
check "random programs, algorithms chosen by tuning" on_hosts 3 1 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 5 \
    --mca coll_nicbarr_report "$scratch/report" "${any[@]}"
for call in MPI_Allreduce MPI_Allgather MPI_Bcast MPI_Scatter; do
    check "a message reports the measurement of $call" said "$call.* up to .*, 3 processes on 3 nodes: .* (measured, "
done
# With a constant root, Open MPI's own functions let the other processes run ahead.
to_roots() { # OPERATION OPTION...
    on_hosts 3 1 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_nic soft "$builddir/bench/nicbarr_bench" "$1" \
        -m 8:8 -c 20 -x 100 -i 20 "${@:2}"
    said "^A .* Pass"
}
unsaid() { ! said "$1"; }
for operation in Reduce Gather; do
    check "MPI_$operation with a root that changes" to_roots "${operation,}"
    if is_open_mpi 5; then # nicbarr_may_replace_rooted()
        check "MPI_$operation is left to Open MPI 5.0" unsaid "MPI_$operation "
    else
        check "MPI_$operation is measured" said "MPI_$operation up to .*, 3 processes on 3 nodes: .* (measured, "
    fi
    check "MPI_$operation with a fixed root" to_roots "${operation,}" --root 1
    check "MPI_$operation is left to Open MPI" unsaid "MPI_$operation "
done
check "a program with a small tuning budget" on_hosts 3 2 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 0 \
    --mca coll_nicbarr_tune_budget 1 "$programs/short_job" --allreduces 5000
check "tuning with a small budget continues until the size class is decided" said_before "MPI_Allreduce up to 8 bytes on MPI_COMM_WORLD, .*measured, " \
    "MPI_Barrier on MPI_COMM_WORLD"
with_cache() { # with a large budget, so that the cache is written
    on_hosts 2 1 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 5 --mca coll_nicbarr_tune_budget 2000 \
        --mca coll_nicbarr_cache "$1" "${at_once[@]}" "${@:2}" "${any[@]}"
}
cache=$scratch/cache
check "a job measures for later jobs" with_cache "$cache"
check "a message reports the measurement" said "MPI_Allreduce up to .* (measured, "
check "the confidence in the cache can be raised" rewrite_cache "$cache" "$cache.sure" 0.99
check "a later job reads the cache" with_cache "$cache.sure"
for call in MPI_Allreduce MPI_Allgather MPI_Bcast MPI_Scatter; do
    check "the later job uses the choice for $call" said "$call.* up to .* (cache"
done
check "the cache can prefer Open MPI" rewrite_cache "$cache" "$cache.own" 0.99 openmpi
check "a later job reads that cache" with_cache "$cache.own" --mca coll_nicbarr_report "$scratch/report"
check "the later job uses Open MPI and reports it" said "MPI_Bcast.* up to .*: openmpi (cache"
readable() { "$builddir/tools/nicbarr" report "$scratch/report" > "$scratch/text"; }
check "nicbarr report can read the report" readable
# Whichever choice the cache contains, the job eventually measures it again.
watched() { # FROM CHOICE NETHOSTS-ARGUMENT...
    rewrite_cache "$1" "$1.watched" 0.99 "$2"
    on_hosts "${@:3}" "${at_once[@]}" --mca coll_nicbarr_cache "$1.watched" --mca coll_nicbarr_report "$scratch/report" \
        "$programs/watched" --data --seed "$seed" --watchdog "$patience_of_programs" "${limits[@]}"
}
check "a job writes the measurements of a shape to a cache" on_hosts 2 2 --mca coll_nicbarr_cache "$cache.shape" --mca coll_nicbarr_tune_budget 500 \
    "$programs/watched" --data --calls 200 --most 0 --seed "$seed"
rm "$scratch/report"
limits=(--least 1)
for choice in openmpi slowest; do
    check "$choice from the cache is remeasured" watched "$cache.shape" $choice 2 2
    grep '^ok' "$scratch/out"
    check "nicbarr report can read the report" readable
    check "the report states that it was remeasured" grep -q "measured, remeasured [1-9]" "$scratch/text"
done
check "a choice is remeasured in spite of packet loss" watched "$cache.shape" openmpi --loss 5 --reorder 5 --duplicate 5 2 2
limits=(--calls 800 --most 0)
check "with coll_nicbarr_tune_watch 0 nothing is remeasured" watched "$cache.shape" openmpi 2 2 --mca coll_nicbarr_tune_watch 0

# ---- the interface of one host accepts short packets only, so that barriers pass and long blocks do not
# The hosts are connected by the switch of nethosts, because the kernel's bridge lets a few of the long packets through.

cat > "$scratch/short.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_RUN" 2 ip link set eth0 mtu 600
exec "$NETHOSTS_MPIRUN" "$@"
EOS
draw() { "$srcdir/tests/programs/run.sh" draw "$scratch/short" "$seed" --length 100; }
check "a program that also works with Open MPI alone is generated" draw
check "a random program while one host accepts short packets only" on_hosts --switch --shell 3 1 bash "$scratch/short.sh" "${soft[@]}" \
    --mca coll_nicbarr_tune_after 0 "$builddir/tests/programs/player" --program "$scratch/short"
short_loop=(--mca coll_nicbarr_tune_after 0 "$programs/short_job" --allreduces 200)
check "a size class is tested with its longest packets" on_hosts --switch --shell 3 1 bash "$scratch/short.sh" "${soft[@]}" "${short_loop[@]}"
check "the size class is left to Open MPI" said "packets do not get through between all nodes"
# The 12th barrier, which is Open MPI's own by a provisional choice, is about to continue its measurement when it finds
# that no data get through.
written both < <(printf "1 %s\n" "coll what=barrier how=b c=0 times=11" \
    "coll what=allreduce how=i r=0 c=0 type=MPI_DOUBLE op=MPI_SUM n=128 times=1" "wait r=0" \
    "coll what=barrier how=b c=0 times=30")
check "a barrier is declined when it is about to be measured" on_hosts --switch --shell 2 1 bash "$scratch/short.sh" "${soft[@]}" \
    --mca coll_nicbarr_tune_after 0 --mca coll_nicbarr_tune_budget 1 --mca coll_nicbarr_tune_share 99 "${both[@]}"
check "a measurement was provisional before" said "openmpi (measured, provisional"
check "the barrier is left to Open MPI" said "barriers on MPI_COMM_WORLD (2 processes) are left to Open MPI"

# ---- collectives executed by the kernel NIC, where BPF programs are allowed

by_kernels() { # NETHOSTS-ARGUMENT...
    on_hosts --kernel "$@" "${ours[@]/#soft/kernel}" "${data[@]}"
}
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
if [ $? = 77 ]; then
    echo "not played by the kernels: $(cat "$scratch/out")"
else
    for game in "2 3 pairwise" "3 2 tree:2" "5 1 dissemination:1"; do
        # shellcheck disable=SC2086 # words
        set -- $game
        check "the kernel NIC, $1 hosts with $2 processes each, $3: results are correct bit by bit" by_kernels "$1" "$2" \
            --mca coll_nicbarr_algorithm "$3"
        check "the kernels execute the collectives" carried "$1" "$3@kernel" Allreduce Reduce Allgather Gather
        check "the kernels forward broadcasts" handed_on "$1" "dissemination:[0-9]@kernel"
    done
    check "the kernel NIC progresses collectives while a process computes" computing --kernel 3 1 "${ours[@]/#soft/kernel}" \
        --mca coll_nicbarr_algorithm dissemination:1 "$programs/asynchronous" --allreduce
    check "the kernel NIC, one process combines for all" on_hosts --kernel 4 1 "${rooted[@]/#soft/kernel}" "${data[@]}"
    check "a message reports that the kernel NIC executes MPI_Allreduce" said "MPI_Allreduce up to .* on 4 nodes: rooted:3@kernel (parameter"
    # The interfaces cannot send the packets of the larger size classes, which are therefore left to Open MPI. Open MPI
    # may combine rounded numbers in another order, so the program must not rely on nicbarr's order.
    written short_and_long < <(cat "$scratch/any.program"
        printf '1000%d coll what=allreduce how=b c=0 type=MPI_INT op=MPI_MAX n=%d times=10\n' 1 2 2 256)
    check "the kernel NIC on interfaces with a small MTU" on_hosts --kernel --mtu 600 3 1 "${ours[@]/#soft/kernel}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${short_and_long[@]}"
    check "the kernels execute collectives whose packets fit" said "MPI_Allreduce up to 8 bytes on .* on 3 nodes: dissemination:1@kernel"
    check "a message reports that other packets exceed the MTU" \
        said "without the kernel NIC: myrd refuses: packets of [0-9]* bytes do not fit into the interface's MTU of 600"
    for fault in "lost --loss 10" "repaired --duplicate 10 --reorder 20 --corrupt 10"; do
        # shellcheck disable=SC2086 # words
        set -- $fault
        what=$1
        shift
        check "the kernel NIC over a bad network: $*" by_kernels --seed "$seed" "$@" 3 1 --mca coll_nicbarr_algorithm dissemination:1
        check "some packets were $what" did "$what"
    done
fi

# ---- results have the same bits in every placement of the processes

for layout in "1 6" "2 3" "6 1"; do
    # shellcheck disable=SC2086 # two words
    check "sums of 6 processes have the guaranteed bits, HOSTS PER-HOST $layout" on_hosts $layout "${ours[@]}" "${data[@]}"
done

# ---- a bad network

for fault in "lost --loss 10" "duplicated --duplicate 10 --reorder 20 --loss 5" "repaired --corrupt 10"; do
    # shellcheck disable=SC2086 # words
    set -- $fault
    what=$1
    shift
    check "the soft NIC over a bad network: $*" on_hosts --seed "$seed" "$@" 3 1 "${ours[@]}" "${data[@]}"
    check "some packets were $what" did "$what"
done

# ---- erroneous programs

check "a root that sends a different number of bytes than a rank expects" on_hosts 3 2 "${ours[@]}" "${mismatched[@]}"

# ---- a host that is cut off during the job or from its start

# A program that continues after the error may wait in a function of Open MPI, whose messages are cut off as well.
# Therefore the job is ended when the message has been printed.
cut_off() { # WHAT HOSTS PACKETS MPIRUN-OPTION...: succeeds if a message reports that WHAT fails
    local job line="$1 [0-9]* on .* will not complete: .* does not respond, or its processes have exited"
    : > "$scratch/out"
    on_hosts --cut "$2" --cut-after "$3" 3 1 --mca coll_nicbarr_warn 1 --mca coll_nicbarr_timeout 3 "${@:4}" &
    job=$!
    until said "$line"; do
        kill -0 "$job" 2> /dev/null || break
        sleep 0.2
    done
    pkill -TERM -P "$job" -x timeout
    wait "$job"
    said "$line"
}
# All groups are set up within fewer packets than PACKETS, and the benchmark sends more than that.
allreduces=("$builddir/bench/nicbarr_bench" allreduce -m 8:8 -c 100000)
bcasts=("$builddir/bench/nicbarr_bench" bcast -m 8:8 -c 100000)
check "a host is cut off: a message reports that a reduction fails" cut_off reduction 1-2 3000 "${reductions[@]}" "${allreduces[@]}"
# All collectives except broadcasts are left to Open MPI here, because otherwise the host might be cut off in another
# one.
check "a host is cut off: a message reports that a broadcast fails" cut_off broadcast 1-2 3000 "${soft[@]}" --mca coll_nicbarr_bcast ring \
    --mca coll_nicbarr_allreduce openmpi --mca coll_nicbarr_algorithm openmpi "${bcasts[@]}"
# The first host combines for all. The other hosts send each other only the credits for its broadcasts.
for hosts in 1-2 2-3; do
    check "one process combines for all, and hosts $hosts are cut off from each other: a message reports it" \
        cut_off "\(reduction\|broadcast\)" "$hosts" 3000 "${rooted[@]}" "${allreduces[@]}"
done
check "two hosts never receive each other's packets: the job works" on_hosts --cut 1-2 2 1 --mca coll_nicbarr_tune_after 5 \
    "${any[@]}"
told() { said "are left to Open MPI: .*packets do not get through" && told_once; }
check "a message reports that their packets do not get through" told
finish
