#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nicbarr on machines that are apart: two kernels, Debian 12's and Debian 13's, each with a network card
# and a wire between them. mpirun starts jobs by ssh and hosts' names. Each barrier is one, and each bit
# right, by the soft NIC and by the kernels' NICs, theirs over IPv6, too; a cable that is pulled and put back
# loses nothing; a machine that is gone is named.
#
# With the argument `all` it also tries what clusters have besides (launching.sh), on machines with two processors
# each, so that two of them receive.
# (Both take a fifth of the time that they may have: that is there for hangs, and for machines with much else to do.)
# NICBARR_MACHINES_LONGER=N makes each game N times as long; NICBARR_MACHINES_CARD is the network card, and
# NICBARR_MACHINES_RELEASES=bookworm,forky are two other releases of Debian, the older first.
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
TMPDIR=$MACHINES_OUT # what both machines see
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

# A job with so many processes on each machine, started by the command `as` (none, or one that makes it
# another user's). Its ledger is memory that both machines see.
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
    check "barriers by the $1 NIC" played 2 "dissemination:1@$1" "${ledger[@]}"
    check "communicators of all shapes" played 2 "tree:2@$1" "${shapes[@]}"
    check "data, bit by bit" runs 1 --mca coll_nicbarr_nic "$1" "${ours[@]}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
    check "the $1 NIC carries it" carried 2 "dissemination:1@$1" Allreduce Allgather Bcast Scatter
}

on_both uname -r > "$scratch/out"
two_kernels() {
    [ "$(sort -u "$scratch/out" | wc -l)" = 2 ] &&
        { [ -n "${NICBARR_MACHINES_RELEASES-}" ] || grep -q '^6\.1\..*6\.12\.' <(paste -s "$scratch/out"); }
}
check "two kernels" two_kernels
caught() { ! NICBARR_TEST_BREAK=3 start 1 -x NICBARR_TEST_BREAK "${ledger[@]}" && said "^FAIL barrier_ledger"; }
check "a barrier that is none is found" caught

# ---- the soft NIC

by soft
check "messages" runs 1 --mca pml ob1 --mca btl myr,self "${messages[@]}"

# ---- the soft NIC in a daemon of the user's

users_daemons() { on_both "$builddir/myrd/myrd" --network 10.79.0.0/24; } > "$scratch/out" 2>&1
check "a user's daemon on both machines" users_daemons
check "barriers by them" played 2 dissemination:1@soft --mca coll_nicbarr_nic daemon "${ledger[@]}"
check "data, bit by bit" runs 1 --mca coll_nicbarr_nic daemon "${ours[@]}" --mca coll_nicbarr_algorithm dissemination:1 \
    "${data[@]}" --steps $((20 * longer))
on_both pkill -x myrd

# ---- the second machine has another setting, and no NIC serves

odd() { # VARIABLE=VALUE
    # shellcheck disable=SC2016 # expanded there
    runs 1 bash -c '[ "$(hostname)" != machine2 ] || export "$1"; shift; exec "$@"' bash "$1" "${ledger[@]}"
}
own() { said "barriers on .* (2 processes) are left to Open MPI: process $1" && told_once; }
check "the second machine is without nicbarr" odd OMPI_MCA_coll=^nicbarr
check "a line says so" own "1 does not have the component"
mkdir "$scratch/other"
changed_component "$to_another_format" > "$scratch/other/mca_coll_nicbarr.so"
check "it has another version" odd "OMPI_MCA_mca_base_component_path=$scratch/other:SYSTEM_DEFAULT"
# (Neither can read what the other one says, so each says it.)
check "a line says so" said \
    "barriers on .* (2 processes) are left to Open MPI: process [01] does not have the component, has another version"

# ---- the kernels' NICs

daemons() { on_both "$builddir/myrd/myrd" --kernel --network 10.79.0.0/24; } > "$scratch/out" 2>&1
check "the kernel NIC on both machines" daemons
on_both tc filter show dev eth0 ingress > "$scratch/out" 2>&1
check "by traffic control in the older kernel alone" said_once "nicbarr-10\.79\.0\.1:"
by kernel
# (Each machine has a report of its own: in the directory that both see, neither sees the other one's locks.)
check "chosen by measurement" runs 1 --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_report /run/report \
    "${ledger[@]}"
check "with a word" said "MPI_Barrier on .*, 2 processes on 2 nodes: .*(measured"
"$builddir/tools/nicbarr" report /run/report > "$scratch/out" 2>&1
both() { said "@soft" && said "@kernel"; }
check "of both kinds of NIC" both

# ---- who may trace whom

# For processes without CAP_SYS_PTRACE, which root's have.
yama() { on_both eval "echo $1 > /proc/sys/kernel/yama/ptrace_scope"; } > "$scratch/out" 2>&1
untraced=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
only_to_tracers() { yama 1 && played 2 "dissemination:1@soft" "${untraced[@]}" "${ledger[@]}"; }
check "Yama's ptrace_scope 1: processes share their NIC" only_to_tracers
to_nobody() {
    yama 2 && runs 2 --mca coll_nicbarr_nic soft "${untraced[@]}" "${ledger[@]}" &&
        said "are left to Open MPI: .*pidfd_getfd is not permitted"
}
check "ptrace_scope 2: they do not, and a line says so" to_nobody
check "as before" yama 0

# ---- a VLAN

vlan() {
    on_both ip link add link eth0 name eth0.5 type vlan id 5 && on_both ip link set eth0.5 up &&
        ip address add 10.80.0.1/24 dev eth0.5 && ssh machine2 ip address add 10.80.0.2/24 dev eth0.5
} > "$scratch/out" 2>&1
check "an interface of a VLAN on both machines" vlan
by_vlan() { # NIC MPIRUN-ARGUMENT...: nothing of Open MPI's own goes there
    local before
    before=$(cat /sys/class/net/eth0.5/statistics/tx_packets)
    played 2 "dissemination:1@$1" --mca btl_tcp_if_include eth0 "${@:2}" "${ledger[@]}" &&
        [ "$(cat /sys/class/net/eth0.5/statistics/tx_packets)" -gt $((before + 100)) ]
}
check "barriers by the soft NIC on a VLAN" by_vlan soft --mca coll_nicbarr_network 10.80.0.0/24
vlan_daemons() { on_both "$builddir/myrd/myrd" --kernel --network 10.80.0.0/24 --socket /run/vlan.sock; } > "$scratch/out" 2>&1
check "the kernel NIC at the VLAN's interface" vlan_daemons
check "barriers by it" by_vlan kernel -x NICBARR_KERNEL_SOCKET=/run/vlan.sock

# ---- IPv6

# Open MPI's own has IPv4 there, and no UDP.
datagrams() { awk '$1 == "Udp6OutDatagrams" { print $2 }' /proc/net/snmp6; }
by_6() { # COMMAND...
    local before
    before=$(datagrams)
    "$@" && [ "$(datagrams)" -gt $((before + 100)) ]
}
daemons_of_6() { on_both "$builddir/myrd/myrd" --kernel --network fd79::/64 --socket /run/ipv6.sock; } > "$scratch/out" 2>&1
check "the kernel NIC at IPv6 addresses" daemons_of_6
check "barriers by it" by_6 played 2 dissemination:1@kernel -x NICBARR_KERNEL_SOCKET=/run/ipv6.sock "${ledger[@]}"

# ---- the second machine's cable

# A job that has barriers until there is a file, and nothing of Open MPI's own between the machines.
# `job` is its number.
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
    check "a cable is pulled, for a second and until it is said: nothing is lost by the $nic NIC" pulled $nic
done

# ---- where the time goes

# (A machine with much else to do plays few barriers in a second.)
traced_on() { # MACHINE
    local ms
    for ms in 1000 3000 10000; do
        ssh "$1" env NICBARR_LIBEXECDIR="$srcdir" "$builddir/tools/nicbarr" trace --for "$ms" eth0 > "$scratch/traced$1" 2>&1 && return
    done
}
tell() { # MACHINE: each stage's microseconds
    sed -nE 's/^(.*); interface .*/     (\1:/p; s/^(call|driver|away|interrupt|stack|program|host|all) +([0-9.]+).*/ \1 \2/p' "$scratch/traced$1" |
        paste -s -d '' | sed 's/$/)/'
}
traced() { # NIC MPIRUN-ARGUMENT...: both machines' times
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
    check "barriers of the $nic NIC are traced on both machines: each stage, and a message a barrier" traced $nic
done

if [ "${2-}" = all ]; then
    # shellcheck source=tests/machines/launching.sh
    . "$srcdir/tests/machines/launching.sh"
fi

# ---- the second machine has no current any more

# (mpirun then waits for its own daemon there.)
begun soft --mca coll_nicbarr_warn 5 --mca coll_nicbarr_timeout 10
"$MACHINES_MONITOR" 2 quit
until_said "will not complete"
while pgrep -x barrier_ledger > /dev/null && kill -0 "$job" 2> /dev/null; do sleep 0.2; done
pkill -KILL -x mpirun
wait "$job"
check "a machine is gone: it is named" said "will not complete: machine2 (rank [01]) does not respond, or its processes have exited"
ended() { ! said "Forwarding signal"; } # of the watchdog's, that is
check "the job's other process ends by itself" ended
finish
