#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, nicbarr does not work between separate machines. Two virtual machines run the kernels of Debian 12 and
# Debian 13, and a switch connects their network cards. mpirun starts jobs by ssh and host names. With the soft
# NIC and with the kernel NIC, the latter also over IPv6, barriers and the bits of all results must be correct. A job
# must continue after the cable was disconnected and connected again, and a message must name a machine that was
# switched off.
#
# With the argument `all` the script also tests further conditions of real clusters (launching.sh). The machines then
# have two processors each, so that both of them receive packets.
#
# The time limits are five times as long as the tests usually take, so that a test fails only if it hangs, even on a
# busy machine. NICBARR_MACHINES_LONGER=N makes each test N times as long. NICBARR_MACHINES_CARD is the model of the
# network card. NICBARR_MACHINES_RELEASES=bookworm,forky selects two other releases of Debian, the older one first.
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"
longer=${NICBARR_MACHINES_LONGER:-1}
if [ "${1-}" != inside ]; then
    srcdir=$(cd "${srcdir:-.}" && pwd)
    builddir=$(cd "${builddir:-.}" && pwd)
    export srcdir builddir
    # shellcheck source=ompi/jobs.sh
    (. "$srcdir/ompi/jobs.sh" && is_open_mpi 4) || { echo "it starts jobs by Open MPI 4.1 only"; exit 77; }
    processors=1 seconds=2400
    [ "${1-}" != all ] || processors=2 seconds=7200
    exec "$srcdir/testbeds/machines/machines" --card "${NICBARR_MACHINES_CARD:-virtio-net-pci}" --processors $processors \
        --releases "${NICBARR_MACHINES_RELEASES:-bookworm,trixie}" \
        "${watchdog:-$((seconds * longer))}" bash "$0" inside "$@"
fi
TMPDIR=$MACHINES_OUT # a directory that both machines share
export TMPDIR
# shellcheck source=tests/component/common.sh
. "$(dirname "$0")/../component/common.sh"
unset TMPDIR
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
patience=$((300 * longer))
# shellcheck source=tests/component/carried_common.sh
. "$(dirname "$0")/../component/carried_common.sh"
# shellcheck source=tests/component/traced_common.sh
. "$(dirname "$0")/../component/traced_common.sh"
ln -s "$builddir/btl_myr/.libs/mca_btl_myr.so" "$scratch/components/"

# Runs a job with PER-MACHINE processes on each machine. If `as` is not empty, it is a command that starts mpirun as
# another user. The ledger is in memory that both machines share.
as=()
start() { # PER-MACHINE MPIRUN-ARGUMENT...
    truncate -s 0 "$MACHINES_OUT/ledger"
    truncate -s 16M "$MACHINES_OUT/ledger"
    timeout -k 5 $patience "${as[@]}" mpirun -np $((2 * $1)) --host "machine1:$1,machine2:$1" --mca coll_nicbarr_verbose 1 \
        "${@:2}" > "$scratch/out" 2>&1
}
runs() { start "$@" && said "^ok"; }
drawn messages --flavour '{"messages": true}' --length $((20 * longer))
usual=(--seed "$seed" --watchdog "$patience")
ledger=("$programs/barrier_ledger" --iterations $((400 * longer)) --ledger "$MACHINES_LEDGER" "${usual[@]}")
drawn_barriers shapes $((100 * longer))
played() { # PER-MACHINE ALGORITHM MPIRUN-ARGUMENT...
    runs "$1" --mca coll_nicbarr_algorithm "$2" "${@:3}" && said "MPI_Barrier on .* 2 nodes: $2"
}
on_both() { # WORD...
    # shellcheck disable=SC2029 # expanded here
    "$@" && ssh machine2 "$*"
}
by() { # NIC
    check "barriers by the $1 NIC, 2 processes on each machine" played 2 "dissemination:1@$1" "${ledger[@]}"
    check "barriers on communicators of all shapes" played 2 "tree:2@$1" "${shapes[@]}"
    check "collectives with data have correct results in all bits" runs 1 --mca coll_nicbarr_nic "$1" "${ours[@]}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
    check "the $1 NIC executes the collectives" carried 2 "dissemination:1@$1" Allreduce Allgather Bcast Scatter
}

on_both uname -r > "$scratch/out"
two_kernels() {
    [ "$(sort -u "$scratch/out" | wc -l)" = 2 ] &&
        { [ -n "${NICBARR_MACHINES_RELEASES-}" ] || grep -q '^6\.1\..*6\.12\.' <(paste -s "$scratch/out"); }
}
check "the machines run different kernels" two_kernels
caught() { ! NICBARR_TEST_BREAK=3 start 1 -x NICBARR_TEST_BREAK "${ledger[@]}" && said "^FAIL barrier_ledger"; }
check "barriers that are omitted on purpose are detected" caught

# ---- the soft NIC

by soft
check "messages of btl/myr are correct" runs 1 --mca pml ob1 --mca btl myr,self "${messages[@]}"

# ---- the soft NIC, run by a daemon of the user

users_daemons() { on_both "$builddir/myrd/myrd" --network 10.79.0.0/24; } > "$scratch/out" 2>&1
check "a user's daemon starts on both machines" users_daemons
check "barriers by the soft NICs of these daemons" played 2 dissemination:1@soft --mca coll_nicbarr_nic daemon "${ledger[@]}"
check "collectives with data have correct results in all bits" runs 1 --mca coll_nicbarr_nic daemon "${ours[@]}" --mca coll_nicbarr_algorithm dissemination:1 \
    "${data[@]}" --steps $((20 * longer))
on_both pkill -x myrd

# ---- the second machine has different settings, and all processes must fall back to Open MPI

odd() { # VARIABLE=VALUE
    # shellcheck disable=SC2016 # expanded there
    runs 1 bash -c '[ "$(hostname)" != machine2 ] || export "$1"; shift; exec "$@"' bash "$1" "${ledger[@]}"
}
own() { said "barriers on .* (2 processes) are left to Open MPI: process $1" && told_once; }
check "the second machine lacks the component" odd OMPI_MCA_coll=^nicbarr
check "a message reports that process 1 lacks the component" own "1 does not have the component"
mkdir "$scratch/other"
changed_component "$to_another_format" > "$scratch/other/mca_coll_nicbarr.so"
check "the second machine has a component with a different format" odd "OMPI_MCA_mca_base_component_path=$scratch/other:SYSTEM_DEFAULT"
# Neither process can read what the other one publishes, so each of them prints the message.
check "a message reports the different version" said \
    "barriers on .* (2 processes) are left to Open MPI: process [01] does not have the component, has another version"

# ---- the kernel NIC

daemons() { on_both "$builddir/myrd/myrd" --kernel --network 10.79.0.0/24; } > "$scratch/out" 2>&1
check "the daemon of the kernel NIC starts on both machines" daemons
on_both tc filter show dev eth0 ingress > "$scratch/out" 2>&1
check "only the older kernel attaches the program by traffic control (tc)" said_once "nicbarr-10\.79\.0\.1:"
by kernel
# Each machine writes a report of its own, because file locks in the shared directory do not work between machines.
check "the algorithm is chosen by tuning" runs 1 --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_report /run/report \
    "${ledger[@]}"
check "a message reports the measurement" said "MPI_Barrier on .*, 2 processes on 2 nodes: .*(measured"
"$builddir/tools/nicbarr" report /run/report > "$scratch/out" 2>&1
both() { said "@soft" && said "@kernel"; }
check "the report contains candidates of both kinds of NIC" both

# ---- restrictions on tracing (Yama's ptrace_scope), on which pidfd_getfd depends

# They apply only to processes without CAP_SYS_PTRACE, which processes of root have.
yama() { on_both eval "echo $1 > /proc/sys/kernel/yama/ptrace_scope"; } > "$scratch/out" 2>&1
untraced=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
only_to_tracers() { yama 1 && played 2 "dissemination:1@soft" "${untraced[@]}" "${ledger[@]}"; }
check "with ptrace_scope 1 the processes of a node share the soft NIC" only_to_tracers
to_nobody() {
    yama 2 && runs 2 --mca coll_nicbarr_nic soft "${untraced[@]}" "${ledger[@]}" &&
        said "are left to Open MPI: .*pidfd_getfd is not permitted"
}
check "with ptrace_scope 2 a message reports that they cannot share it" to_nobody
check "ptrace_scope is reset" yama 0

# ---- a VLAN

vlan() {
    on_both ip link add link eth0 name eth0.5 type vlan id 5 && on_both ip link set eth0.5 up &&
        ip address add 10.80.0.1/24 dev eth0.5 && ssh machine2 ip address add 10.80.0.2/24 dev eth0.5
} > "$scratch/out" 2>&1
check "both machines have an interface on a VLAN" vlan
by_vlan() { # NIC MPIRUN-ARGUMENT...: Open MPI itself sends nothing through that interface
    local before
    before=$(cat /sys/class/net/eth0.5/statistics/tx_packets)
    played 2 "dissemination:1@$1" --mca btl_tcp_if_include eth0 "${@:2}" "${ledger[@]}" &&
        [ "$(cat /sys/class/net/eth0.5/statistics/tx_packets)" -gt $((before + 100)) ]
}
check "barriers by the soft NIC on a VLAN" by_vlan soft --mca coll_nicbarr_network 10.80.0.0/24
vlan_daemons() { on_both "$builddir/myrd/myrd" --kernel --network 10.80.0.0/24 --socket /run/vlan.sock; } > "$scratch/out" 2>&1
check "the daemon of the kernel NIC starts on the VLAN's interface" vlan_daemons
check "barriers by the kernel NIC on a VLAN" by_vlan kernel -x NICBARR_KERNEL_SOCKET=/run/vlan.sock

# ---- IPv6

# Open MPI itself uses TCP over IPv4 here, so all UDP datagrams over IPv6 are those of the NICs.
datagrams() { awk '$1 == "Udp6OutDatagrams" { print $2 }' /proc/net/snmp6; }
by_6() { # COMMAND...
    local before
    before=$(datagrams)
    "$@" && [ "$(datagrams)" -gt $((before + 100)) ]
}
daemons_of_6() { on_both "$builddir/myrd/myrd" --kernel --network fd79::/64 --socket /run/ipv6.sock; } > "$scratch/out" 2>&1
check "the daemon of the kernel NIC starts with IPv6 addresses" daemons_of_6
check "barriers by the kernel NIC over IPv6" by_6 played 2 dissemination:1@kernel -x NICBARR_KERNEL_SOCKET=/run/ipv6.sock "${ledger[@]}"

# ---- the second machine's cable

# Starts a job in the background that calls barriers until a file exists, and waits until all communicators are set up.
# From then on Open MPI itself sends nothing between the machines. $job is its pid.
begun() { # NIC MPIRUN-ARGUMENT...
    rm -f "$scratch/end"
    : > "$scratch/out"
    start 1 --mca coll_nicbarr_nic "$1" --mca coll_nicbarr_algorithm dissemination:1 "${ours[@]}" "${@:2}" \
        "${ledger[@]}" --until "$scratch/end" &
    job=$!
    until_said "all communicators are set up"
}
until_said() { # WHAT
    until said "$1" || ! kill -0 "$job" 2> /dev/null; do sleep 0.2; done
}
cable() { "$MACHINES_MONITOR" 2 set_link wire "$1"; }
pulled() { # NIC MPIRUN-ARGUMENT...
    begun "$1" --mca coll_nicbarr_warn 8 "${@:2}"
    cable off
    sleep 1
    cable on
    cable off
    until_said "without a response from machine"
    cable on
    until_said "continues now"
    touch "$scratch/end"
    wait "$job" && said "^ok" && said "without a response from machine" && said "continues now"
}
for nic in soft kernel; do
    check "a cable is disconnected for a second, then until a message reports it: the job continues, $nic NIC" pulled $nic
done

# ---- where the time goes

# On a busy machine a trace of one second may contain too few barriers, so longer ones follow.
traced_on() { # MACHINE
    local ms
    for ms in 1000 3000 10000; do
        ssh "$1" env NICBARR_LIBEXECDIR="$srcdir" "$builddir/tools/nicbarr" trace --for "$ms" eth0 > "$scratch/traced$1" 2>&1 && return
    done
}
tell() { # MACHINE: prints the microseconds of each stage
    sed -nE 's/^(.*); interface .*/     (\1:/p; s/^(call|driver|away|interrupt|stack|program|host|all) +([0-9.]+).*/ \1 \2/p' "$scratch/traced$1" |
        paste -s -d '' | sed 's/$/)/'
}
traced() { # NIC MPIRUN-ARGUMENT...: prints and checks the times of both machines
    local machine
    begun "$@"
    for machine in machine1 machine2; do traced_on "$machine"; done
    touch "$scratch/end"
    wait "$job" && said "^ok" || return
    cat "$scratch"/tracedmachine? > "$scratch/out"
    for machine in machine1 machine2; do
        adds_up "$scratch/traced$machine" && came 0.7 "$scratch/traced$machine" || return
        tell "$machine"
    done
    said "^machine1, Linux 6\.1\..*, driver .* barriers\.$" && said "^machine2, Linux 6\.12\..*, driver .* barriers\.$"
}
for nic in soft kernel; do
    check "traces on both machines show all stages and one message per barrier, $nic NIC" traced $nic
done

if [ "${2-}" = all ]; then
    # shellcheck source=tests/machines/launching.sh
    . "$srcdir/tests/machines/launching.sh"
fi

# ---- the second machine is switched off

# mpirun itself does not end the job, because it waits for its own daemon on that machine.
begun soft --mca coll_nicbarr_warn 5 --mca coll_nicbarr_timeout 10
"$MACHINES_MONITOR" 2 quit
until_said "will not complete"
while pgrep -x barrier_ledger > /dev/null && kill -0 "$job" 2> /dev/null; do sleep 0.2; done
pkill -KILL -x mpirun
wait "$job"
check "a message names a machine that was switched off" said "will not complete: machine2 (rank [01]) does not respond, or its processes have exited"
ended() { ! said "Forwarding signal"; } # mpirun prints this if the watchdog ends the job
check "the job's remaining process ends by itself" ended
finish
