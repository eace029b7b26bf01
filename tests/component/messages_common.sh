# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts of the components that carry messages, btl/myr and mtl/myr. The scripts set $component to
# the component's name and $myr to the options of mpirun that select it. To be sourced after common.sh.
# shellcheck shell=bash disable=SC2154
ln -s "$builddir/${component}/.libs/mca_$component.so" "$scratch/components/"
nethosts=$srcdir/testbeds/hosts/nethosts
usual=self,sm,tcp
! is_open_mpi 4 || usual=self,vader,tcp
unset OMPI_MCA_btl

ok() { job "$@" && said "^ok"; }
unsaid() { ! said "$1"; }
over_myr() { # PROCESSES PROGRAM...
    local processes=$1
    shift
    # shellcheck disable=SC2086 # options
    ok "$processes" $myr "$@"
}

# Runs as many processes as a large node has.
many_over_myr() { over_myr 128 --mca coll ^nicbarr "$programs/barrier_ledger" --iterations 3; }

# Programs for jobs whose barriers are executed by nicbarr or by other components.
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
# shellcheck source=tests/component/drawn_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/drawn_common.sh"
drawn_barriers shapes 400
drawn in_threads --length 200 --flavour '{"threads": true, "messages": true}'
case $component in
    btl_myr) can='"windows": true, "atomics": true' ;;
    mtl_myr) can='"truncated": true' ;;
esac
drawn messages --flavour "{\"messages\": true, \"away\": true, $can}"
drawn meetings --flavour '{"messages": true, "jobs": true}'
drawn blind --flavour "{\"messages\": true, \"away\": true, \"blind\": true, $can}"
barriers_over_myr() {
    local some=nicbarr,tuned,basic,libnbc,inter,sync,self coll program
    is_open_mpi 6 || some+=,sm
    for coll in $some ^nicbarr; do
        for program in "barrier_ledger --iterations 500" "soak --cycles 500"; do
            # shellcheck disable=SC2086 # a program with its options
            check "$program passes over messages of this component, coll $coll" over_myr 4 --mca coll $coll "$programs"/$program
        done
        check "barriers on communicators of all shapes, coll $coll" over_myr 4 --mca coll "$coll" "${shapes[@]}"
        check "messages of several threads, coll $coll" over_myr 4 --mca coll "$coll" "${in_threads[@]}"
    done
}

killed_over_myr() { # RUNS
    check "processes are killed at arbitrary times" bash -c "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' $1 \
        > '$scratch/out' 2>&1"
}

# Succeeds if hosts can be created, and otherwise prints a message.
there_are_hosts() {
    is_open_mpi 4 && "$nethosts" 2 true > /dev/null 2>&1 && return
    echo "skip hosts: nethosts needs root and 4.1's launcher"
    return 1
}
on_hosts() { # [NETHOSTS-OPTION...] HOSTS PER-HOST PROGRAM...: runs the program with the options $myr
    local hosts=()
    while [[ $1 == --* ]]; do
        hosts+=("$1" "$2")
        shift 2
    done
    # shellcheck disable=SC2086 # options
    timeout -k 5 "${watchdog:-300}" "$nethosts" "${hosts[@]}" "$1" "$2" $myr "${@:3}" \
        > "$scratch/out" 2>&1 && said "^ok"
}
# Two processes on the first of some hosts spawn others elsewhere (tests/mpi/spawned.c).
starting_others() { # HOSTS PROGRAM-OPTION...
    local count=$1
    shift
    # shellcheck disable=SC2016,SC2086 # NETHOSTS_MPIRUN is nethosts' own; options
    timeout -k 5 "${watchdog:-300}" "$nethosts" --shell "$count" 2 \
        bash -c 'exec "$NETHOSTS_MPIRUN" -np 2 "$@"' starts $myr --mca coll ^nicbarr \
        "$programs/spawned" "$@" --ledger "$scratch/ledger" --cells "$scratch/ledger" \
        > "$scratch/out" 2>&1 && [ "$(grep -c "^ok spawned" "$scratch/out")" = 3 ]
}
# A receiver that makes no calls for some time, or only after its senders have ended (tests/mpi/late_receiver.c).
away() { # PROCESSES PROGRAM-OPTION...: all make no calls until the first and the last have exchanged messages
    rm -f "$scratch/go"
    over_myr "$1" "$programs/late_receiver" --file "$scratch/go" "${@:2}"
}
away_on_hosts() { # HOSTS PROGRAM-OPTION...
    rm -f "$scratch/go"
    on_hosts "$1" 1 "$programs/late_receiver" --file "$scratch/go" "${@:2}"
}
late_on_one_node() {
    local bytes
    for bytes in 200 1000 5000 20000; do
        check "messages of $bytes bytes arrive after their senders have ended" over_myr 1 "$programs/late_receiver" --bytes $bytes \
            --messages 200
        check "messages of $bytes bytes arrive after their senders have disconnected" over_myr 1 "$programs/late_receiver" --bytes $bytes --messages 600 \
            --spawned 3 --disconnect
        check "a receiver that makes no calls delays no others, $bytes bytes" away 3 --bytes $bytes
        check "8 receivers that make no calls delay no others, $bytes bytes" away 10 --bytes $bytes
    done
}
late_from_host() { # NETHOSTS-OPTION-OR-"" MPIRUN-OPTION... -- PROGRAM-OPTION...: senders on the second host
    local faults=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    # shellcheck disable=SC2016,SC2086 # NETHOSTS_MPIRUN is nethosts' own; options
    timeout -k 5 "${watchdog:-300}" "$nethosts" $faults --shell 2 2 bash -c 'exec "$NETHOSTS_MPIRUN" -np 1 "$@"' late \
        $myr "${options[@]}" "$programs/late_receiver" --hosts 10.77.0.2 "${@:2}" > "$scratch/out" 2>&1 && said "^ok"
}
late_on_hosts() {
    local coll
    check "a receiver that makes no calls delays no others, 3 hosts" away_on_hosts 3
    for coll in ^nicbarr ^monitoring; do
        check "messages from another host arrive after their senders have ended, coll $coll" late_from_host "--loss 20" \
            --mca coll $coll --
        check "messages from another host arrive after their senders have disconnected, coll $coll" late_from_host "--loss 20" --mca coll $coll -- \
            --disconnect
    done
    check "the connections to processes that have ended can be reused" late_from_host "--loss 20" \
        --mca coll ^nicbarr -- --disconnect --rounds 3 --late 0 --messages 10 --then "$scratch/no_peers.sh"
}
# Waits until the NIC of this host has been notified that all other NICs to which it was connected are closed.
cat > "$scratch/no_peers.sh" << EOS
#!/bin/sh
until "$builddir/tools/nicbarr" status --json | grep -q '"peers": *0\\>'; do sleep 0.1; done
EOS
chmod +x "$scratch/no_peers.sh"

# Two hosts execute barriers over messages. The second one is disconnected until a process reports that the other host
# does not respond. Since this may be the process on the disconnected host, each process writes its output to a file.
# Then the job continues.
cat > "$scratch/unplugs.sh" << 'EOS'
#!/bin/bash
until_all_began() { until [ -e "$dir/pid.0" ] && [ -e "$dir/pid.1" ]; do sleep 0.05; done; }
until_said() { until grep -rq "$1" "$dir/said"; do sleep 0.05; done; }
"$NETHOSTS_MPIRUN" --output-filename "$dir/said" "$@" &
job=$!
until_all_began
"$NETHOSTS_RUN" 2 ip link set eth0 down
until_said "no response from"
kill -0 $job && echo "goes on waiting"
"$NETHOSTS_RUN" 2 ip link set eth0 up
touch "$dir/stop"
wait $job
EOS
chmod +x "$scratch/unplugs.sh"
unplugged() { # MCA-OPTIONS...
    export dir=$scratch/unplugged
    rm -rf "$dir"
    mkdir "$dir"
    # shellcheck disable=SC2086 # options
    timeout -k 5 "${watchdog:-300}" "$nethosts" --shell 2 1 "$scratch/unplugs.sh" $myr \
        --mca coll ^nicbarr "$@" "$programs/overdue" --directory "$dir" --ledger "$scratch/ledger" \
        > "$scratch/out" 2>&1 && said "^ok"
}
says_who() { # on each host at most once
    local lines
    lines=$(grep -rhE "nicbarr: ${component%_myr} myr: no response from (host|10\.77\.0\.)[12] \(10\.77\.0\.[12]:[0-9]+, process .*\) for [0-9]+ s. Messages to it continue to wait" \
        "$scratch/unplugged/said" | wc -l)
    [ "$lines" -ge 1 ] && [ "$lines" -le 2 ]
}

messages_on_hosts() {
    check "a host is disconnected for a while: the job continues" unplugged --mca "${component}_warn" 2
    check "the job waits while the host is disconnected" said "^goes on waiting"
    check "a message names the host that does not respond" says_who
    check "messages between 2 hosts" on_hosts 2 1 "${messages[@]}"
    check "messages between 3 hosts with 2 processes each" on_hosts 3 2 "${messages[@]}"
    check "messages of several threads, 2 hosts with 2 processes each" on_hosts 2 2 "${in_threads[@]}"
    check "messages with spawned processes on another host" starting_others 2 --hosts 10.77.0.2 \
        --more-hosts 10.77.0.1,10.77.0.2
    late_on_hosts
    check "messages between two jobs that connect, on two hosts" starting_others 3 --strangers --hosts 10.77.0.2 \
        --more-hosts 10.77.0.3
}
