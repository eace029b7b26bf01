#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, barriers by the RDMA NIC are wrong, or its faults are misreported. On hosts with a soft-RoCE device
# each (verbshosts), barriers must be correct, whether their algorithm is measured or forced, with one or two processes
# on a host. Without a device or lockable memory, a message must give the reason, and the barrier of Open MPI is used.
# The job must wait for a stopped process without a message. A message must name a killed process, and a process whose
# network card is removed. Connections are established by librdmacm, or without it by exchanging addresses.
#
# Everything runs in one virtual machine with emulated processors.
# shellcheck source=tests/component/verbs_common.sh
. "$(dirname "$0")/verbs_common.sh"
[ "${1-}" = inside ] || on_machine --seconds 900 3 1
begin
played() { # CHOICE HOW HOSTS
    said "MPI_Barrier on .* $3 nodes: $1@verbs ($2"
}
ledger=("$programs/barrier_ledger" --iterations 300 --seed "$seed")

all_send() { # NUMBER: each device has sent at least this many packets since the last call
    local host now good=0
    for host in 1 2; do
        now=$(packets "$host")
        [ $((now - ${before[host]:-0})) -ge "$1" ] || good=1
        before[host]=$now
    done > "$scratch/out"
    return "$good"
}
before=()
# Nearly all random barriers of barrier_ledger may be on communicators of one process. Therefore the packets are counted
# with --late, which adds 10 barriers on each late communicator, of which only the first is Open MPI's own.
check "barriers by dissemination on 2 hosts" on_hosts 2 1 --mca coll_nicbarr_algorithm dissemination:1@verbs \
    "${ledger[@]}" --late 40
check "the RDMA NIC executes the barriers" played dissemination:1 parameter 2
check "each host's device has sent packets" all_send 300
check "barriers by a tree on 3 hosts with 2 processes each" on_hosts 3 2 --mca coll_nicbarr_algorithm tree:2@verbs "${ledger[@]}"
check "the RDMA NIC executes the barriers" played tree:2 parameter 3
check "barriers on 3 hosts, algorithm chosen by tuning" on_hosts 3 1 "${ledger[@]}"
check "a message reports the measurement" said "MPI_Barrier on .* 3 nodes: .*(measured"
drawn_barriers shapes 60
check "barriers on communicators of all shapes" on_hosts 2 2 --mca coll_nicbarr_algorithm pairwise@verbs "${shapes[@]}"
# Runs a job whose first host has two devices. Ranks alternate between the hosts, so each process of the first host is
# the first member of half of the communicators. With --until the program uses all communicators.
two_devices() { # PROGRAM...
    # shellcheck disable=SC2016 # expanded there
    on_hosts 2 2 --map-by node --mca coll_nicbarr_algorithm dissemination:1@verbs \
        bash -c '[ "$(hostname)" != host1 ] || export OMPI_MCA_coll_nicbarr_verbs_devices=rxe1,rxe3
        exec "$@"' bash "$@"
}
first=$(packets 1) third=$(packets 3)
check "processes of a host are distributed over its two devices" two_devices "${ledger[@]}" --until /dev/null
check "both devices of the first host send packets" test "$(packets 1)" -gt "$first" -a "$(packets 3)" -gt "$third"
check "librdmacm is available" has_librdmacm
mv /dev/infiniband/rdma_cm /dev/infiniband/hidden
check "communicators are created and freed without librdmacm" on_hosts 3 1 --mca coll_nicbarr_algorithm dissemination:2@verbs \
    "${shapes[@]}"
mv /dev/infiniband/hidden /dev/infiniband/rdma_cm
check "a message reports that librdmacm is missing" said "$no_librdmacm"

# ---- collectives that carry data

drawn any --length 40 --first 10
check "collectives with data on 2 hosts with 2 processes each" on_hosts 2 2 "${ours[@]}" \
    --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
check "the RDMA NIC executes the collectives" carried 2 dissemination:1@verbs Allreduce Allgather Bcast Scatter
check "collectives with data on 3 hosts" on_hosts 3 1 "${ours[@]}" --mca coll_nicbarr_algorithm tree:2 "${data[@]}"
check "the RDMA NIC executes the collectives" carried 3 tree:2@verbs Allreduce Allgather
check "one process combines for all" on_hosts 3 2 --mca coll_nicbarr_allreduce rooted --mca coll_nicbarr_reduce exchange \
    "${data[@]}"
check "the RDMA NIC broadcasts the results" carried 3 rooted:2@verbs Allreduce
check "collectives with data, algorithms chosen by tuning" on_hosts 2 1 --mca coll_nicbarr_tune_after 5 "${any[@]}"
check "a message reports the choice" said "MPI_Allreduce up to .*, 2 processes on 2 nodes: .* (measured, "

# Rank 0 makes no call of MPI until the others have finished.
mkdir "$scratch/directory"
check "a thread progresses collectives while a process computes" on_hosts 3 1 --mca coll_nicbarr_verbs_thread 1 "${ours[@]}" \
    --mca coll_nicbarr_algorithm dissemination:1 "$programs/asynchronous" --directory "$scratch/directory" --allreduce \
    --watchdog "$patience"

# ---- the RDMA NIC is not available

# mpirun passes its environment variables to all hosts, and `run` sets those of a host later. The command between them
# changes a variable on the second host only.
no_device() { # on the second host
    # shellcheck disable=SC2016 # expanded there
    on_hosts 2 1 bash -c '[ "$(hostname)" != host2 ] || export OMPI_MCA_coll_nicbarr_verbs_devices=none
        exec "$@"' bash "$@"
}
no_memory() { # PROGRAM...
    on_hosts 2 1 bash -c 'ulimit -l 0 && exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "$@"' \
        bash "$@"
}
own() { said "nicbarr: barriers on .* (2 processes) are left to Open MPI: .*$1"; }
check "a job of which one host has no device" no_device "${ledger[@]}"
check "a message gives the reason" own "no RDMA device that coll_nicbarr_verbs_devices allows"
check "a job that cannot lock memory" no_memory "${ledger[@]}"
check "a message gives the reason" own "locked memory, ulimit -l"

# ---- a process is stopped, or killed

# A job that calls only barriers of nicbarr, while the process on the second host is stopped or killed.
second() { # SIGNAL: sends it to that process
    local pid
    for pid in $(pgrep -x startup); do
        tr '\0' '\n' < "/proc/$pid/environ" | grep -qx OMPI_COMM_WORLD_RANK=1 && kill "-$1" "$pid"
    done
}
stop_and_go_on() { # for longer than nicbarr waits for a silent process
    local before
    second STOP
    "$builddir/tools/nicbarr" status > "$scratch/status" 2>&1
    sleep 15
    second CONT
    before=$(packets 1)
    until [ $(($(packets 1) - before)) -gt 1000 ] || ! pgrep -x startup > /dev/null; do sleep 0.2; done
    pgrep -x startup > /dev/null && echo "it goes on" >> "$scratch/went"
    pkill -TERM -x mpirun
}
something 10 stop_and_go_on
check "the job waits for a stopped process" grep -q "it goes on" "$scratch/went"
check "nicbarr status shows the NIC of the stopped process" grep -qE \
    "RDMA NIC rxe2, port 1, of process [0-9]+: 1 queue pairs \(1 connected by librdmacm\), [1-9][0-9.]* [KM]iB registered" \
    <(tr -s ' \n' ' ' < "$scratch/status") # joins wrapped lines
silent() { ! said "without a response from"; }
check "no message is printed about the stopped process" silent
something 20 second KILL
check "a message names a killed process" named "host2 (rank 1)"
check "the MPI call returns an error" said "MPI_ERR_"

# ---- a device's network card is removed

# `rdma link delete` blocks until no program has the device open, as soft-RoCE cannot revoke one.

dir=$scratch/overdue
all_have() { # FILE: each of the three processes has created it
    [ "$(find "$dir" -name "$1.?" | wc -l)" = 3 ]
}
until_all() { # FILE JOB
    until all_have "$1" || ! kill -0 "$2" 2> /dev/null; do sleep 0.2; done
}
go_on_by_rdma() { [ $(($(packets 1) - first)) -ge 60 ]; } # the writes of 30 barriers, and as many answers
remove_one() { # the job cannot end normally, because Open MPI's TCP connections used the card as well
    local job
    mkdir "$dir"
    job_on 3 1 --mca coll_nicbarr_algorithm dissemination:1@verbs --mca coll_nicbarr_warn 5 \
        --mca coll_nicbarr_timeout 20 "$programs/overdue" --directory "$dir" --ledger "$dir/ledger" \
        --seed "$seed" --fails --apart --watchdog "$patience" &
    job=$!
    until_all pid "$job"
    ip link delete rdma3 & # removed at once; the command returns when the job has ended
    until_all failed "$job"
    first=$(packets 1)
    touch "$dir/resume"
    until go_on_by_rdma || ! kill -0 "$job" 2> /dev/null; do sleep 0.2; done
    pkill -TERM -x mpirun
    wait "$job"
}
remove_one
check "a card is removed: the barrier of each process has failed" all_have failed
check "a message names the host" named "host3 (rank 2)"
check "barriers of the other hosts continue by RDMA" go_on_by_rdma
finish
