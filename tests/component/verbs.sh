#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the RDMA NIC plays wrong barriers or misreports faults. On hosts with a soft-RoCE device each
# (verbshosts): barriers are correct, measured or forced, with one process on a host or two. Without a device or
# lockable memory, a message gives the reason, and the barrier of Open MPI is used. The job waits for a stopped process
# without a message. A message names a killed process, and a process whose network card is removed. Connections are
# established with librdmacm, and without it by exchanging addresses.
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

all_send() { # each device has sent at least so many packets since the last call
    local host now good=0
    for host in 1 2; do
        now=$(packets "$host")
        [ $((now - ${before[host]:-0})) -ge "$1" ] || good=1
        before[host]=$now
    done > "$scratch/out"
    return "$good"
}
before=()
# By chance, nearly all of the ledger's own barriers may be on communicators of one process. Those on the late
# communicators (10 each, the first of them Open MPI's own) are certain.
check "dissemination on 2 hosts" on_hosts 2 1 --mca coll_nicbarr_algorithm dissemination:1@verbs \
    "${ledger[@]}" --late 40
check "the RDMA NIC executes the barriers" played dissemination:1 parameter 2
check "each device sends" all_send 300
check "a tree on 3 hosts with 2 processes each" on_hosts 3 2 --mca coll_nicbarr_algorithm tree:2@verbs "${ledger[@]}"
check "the RDMA NIC executes the barriers" played tree:2 parameter 3
check "3 hosts, chosen by tuning" on_hosts 3 1 "${ledger[@]}"
check "a message reports the measurement" said "MPI_Barrier on .* 3 nodes: .*(measured"
drawn_barriers shapes 60
check "communicators of all shapes" on_hosts 2 2 --mca coll_nicbarr_algorithm pairwise@verbs "${shapes[@]}"
# The first host has two devices. Ranks alternate between the hosts, so each of its processes is the first one of half
# of the communicators; --until makes all communicators play.
two_devices() { # PROGRAM...
    # shellcheck disable=SC2016 # expanded there
    on_hosts 2 2 --map-by node --mca coll_nicbarr_algorithm dissemination:1@verbs \
        bash -c '[ "$(hostname)" != host1 ] || export OMPI_MCA_coll_nicbarr_verbs_devices=rxe1,rxe3
        exec "$@"' bash "$@"
}
first=$(packets 1) third=$(packets 3)
check "processes of a host are distributed over its two devices" two_devices "${ledger[@]}" --until /dev/null
check "both devices send" test "$(packets 1)" -gt "$first" -a "$(packets 3)" -gt "$third"
check "librdmacm is available" has_librdmacm
mv /dev/infiniband/rdma_cm /dev/infiniband/hidden
check "communicators are created and freed without librdmacm" on_hosts 3 1 --mca coll_nicbarr_algorithm dissemination:2@verbs \
    "${shapes[@]}"
mv /dev/infiniband/hidden /dev/infiniband/rdma_cm
check "a message reports that librdmacm is missing" said "$no_librdmacm"

# ---- collectives that carry data

drawn any --length 40 --first 10
check "data on 2 hosts with 2 processes each" on_hosts 2 2 "${ours[@]}" \
    --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
check "the RDMA NIC executes the collectives" carried 2 dissemination:1@verbs Allreduce Allgather Bcast Scatter
check "data on 3 hosts" on_hosts 3 1 "${ours[@]}" --mca coll_nicbarr_algorithm tree:2 "${data[@]}"
check "the RDMA NIC executes the collectives" carried 3 tree:2@verbs Allreduce Allgather
check "one process combines" on_hosts 3 2 --mca coll_nicbarr_allreduce rooted --mca coll_nicbarr_reduce exchange \
    "${data[@]}"
check "the RDMA NIC broadcasts the results" carried 3 rooted:2@verbs Allreduce
check "chosen by tuning" on_hosts 2 1 --mca coll_nicbarr_tune_after 5 "${any[@]}"
check "a message reports the choice" said "MPI_Allreduce up to .*, 2 processes on 2 nodes: .* (measured, "

# Rank 0 makes no call of MPI until the others have finished.
mkdir "$scratch/directory"
check "a thread makes progress while a process computes" on_hosts 3 1 --mca coll_nicbarr_verbs_thread 1 "${ours[@]}" \
    --mca coll_nicbarr_algorithm dissemination:1 "$programs/asynchronous" --directory "$scratch/directory" --allreduce \
    --watchdog "$patience"

# ---- where it is not available

# mpirun passes its variables to all hosts, and `run` sets a host's own later. This sets one in between.
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
check "one host has no device" no_device "${ledger[@]}"
check "a message gives the reason" own "no RDMA device that coll_nicbarr_verbs_devices allows"
check "the memory cannot be locked" no_memory "${ledger[@]}"
check "a message gives the reason" own "locked memory, ulimit -l"

# ---- a process is stopped, or killed

# A job that plays nicbarr's barriers only. Something happens to the process on the second host.
second() { # SIGNAL: send it to that one
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
check "nicbarr status shows its NIC" grep -qE \
    "RDMA NIC rxe2, port 1, of process [0-9]+: 1 queue pairs \(1 connected by librdmacm\), [1-9][0-9.]* [KM]iB registered" \
    <(tr -s ' \n' ' ' < "$scratch/status") # (lines are wrapped)
silent() { ! said "without a response from"; }
check "no message is printed" silent
something 20 second KILL
check "a message names a killed process" named "host2 (rank 1)"
check "the MPI call returns an error" said "MPI_ERR_"

# ---- a device's network card is removed

# `rdma link delete` blocks until no program has the device open, as soft-RoCE cannot revoke one.

dir=$scratch/overdue
all_have() { # has each of the three processes created it?
    [ "$(find "$dir" -name "$1.?" | wc -l)" = 3 ]
}
until_all() { # FILE JOB
    until all_have "$1" || ! kill -0 "$2" 2> /dev/null; do sleep 0.2; done
}
go_on_by_rdma() { [ $(($(packets 1) - first)) -ge 60 ]; } # the writes of 30 barriers, and as many answers
remove_one() { # (without its card no process ends well: Open MPI's own TCP has lost it, too)
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
