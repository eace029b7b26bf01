#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the daemon of the kernel NIC gives the NIC to the wrong users, keeps rights that it does not need, or
# does not end as it should. Starts no jobs.
hosts=(2) patience=300
. "$(dirname "$0")/inside.sh"
. "$(dirname "$0")/common.sh"
myrd=$builddir/myrd/myrd
nicbarr=$builddir/tools/nicbarr
chmod 711 "$scratch"
mkdir -m 755 "$scratch/1" "$scratch/2"

# Each host has a socket of its own in the test's directory, because these hosts share /run.
on() { # HOST COMMAND...
    local host=$1
    shift
    "$NETHOSTS_RUN" "$host" env NICBARR_KERNEL_SOCKET="$scratch/$host/sock" "$@"
}
# Prints an expression over the host's kernel NIC k in the status, optionally as another user.
kernel() { # HOST EXPRESSION [AS-WHOM...]
    local host=$1 expression=$2
    shift 2
    on "$host" "$@" "$nicbarr" status --json | EXPRESSION=$expression python3 -c '
import json, os, sys
k = json.load(sys.stdin)["kernel"]
print(eval(os.environ["EXPRESSION"]))'
}

if ! on 1 "$myrd" --kernel > "$scratch/out" 2>&1; then
    if said "built without\|no permission to load"; then
        echo "skip: $(cat "$scratch/out")"
        exit 77
    fi
    cat "$scratch/out"
    exit 1
fi
daemon=$(kernel 1 'k["runner"]')
check "nicbarr status shows the NIC at the interface" [ "$(kernel 1 'k["interface"], k["addresses"][0]')" = \
    "('eth0', {'address': '10.77.0.1', 'prefix': 24, 'port': 7077})" ]
check "nicbarr status shows no NIC on the other host" [ "$(kernel 2 k)" = None ]
in_words() { on 1 "$nicbarr" status > "$scratch/out" && said "^Kernel: a NIC at interface eth0" && said "0 open" && said "counters *all zero"; }
check "nicbarr status prints the NIC as text" in_words
secrets=clear
! grep -q '^S."HAVE_SODIUM_TRUE".=""' "$builddir/config.status" || secrets=sealed
check "nicbarr status shows how secrets are sent" [ "$(kernel 1 'k["secrets"]')" = "$secrets" ]

# Each thread of the daemon must have a seccomp filter (mode 2), CAP_BPF (39) and no other capability. Its uid is
# root's, because clients trust no other user.
few_rights() { # PID BOUNDING-SET
    local thread right none=0000000000000000 bpf=0000008000000000
    right="Uid 0 0 0 0 CapInh $none CapPrm $bpf CapEff $bpf CapBnd $2 CapAmb $none"
    for thread in /proc/"$1"/task/*; do
        sed -nE 's/^(Uid|Cap...|NoNewPrivs|Seccomp):\s+/\1 /p' "$thread/status" > "$scratch/out"
        [ "$(xargs < "$scratch/out")" = "$right NoNewPrivs 1 Seccomp $filter" ] || return 1
    done
}
# The daemon's root directory must contain nothing but pins, which only bpf(2) can open.
its_pins_alone() { # PID
    local visible=/proc/$1/root
    [ -e "$visible/kept" ] && [ -z "$(find "$visible/" -mindepth 1 -type d)" ] && [ ! -e "$visible/../../nicbarr" ]
}
filter=0
! ldd "$myrd" | grep -q libseccomp || filter=2
check "the daemon keeps only the necessary capabilities" few_rights "$daemon" 0000000000000000
check "the daemon can only access the pins of its NIC" its_pins_alone "$daemon"

a_second() { ! on 1 "$myrd" --kernel && said "is already running"; } > "$scratch/out" 2>&1
check "a second daemon is refused" a_second
same_port() { ! on 1 "$myrd" --kernel --socket "$scratch/2/sock" && said "UDP port 7077 .*--port" && [ ! -e "$scratch/2/sock" ]; } > "$scratch/out" 2>&1
check "no other process can bind the port" same_port
could_be() { on 2 "$myrd" --kernel --check --network 10.77.0.0/24 && said "this host supports such a NIC"; } > "$scratch/out" 2>&1
check "myrd --check reports that the host can run the NIC" could_be
check "the check has not created a NIC" [ "$(kernel 2 k)" = None ]
no_network() { ! on 2 "$myrd" --kernel --network nosuch0 && said "nosuch0"; } > "$scratch/out" 2>&1
check "myrd --kernel prints a message if the network does not exist" no_network

elsewhere() { "$NETHOSTS_RUN" 2 env NICBARR_KERNEL_SOCKET="$scratch/1/sock" "$nicbarr" status && said "another network namespace"; } > "$scratch/out" 2>&1
check "a client in a different network namespace is refused" elsewhere
check "the refusal is counted" [ "$(kernel 1 'k["refused"]')" = 1 ]

user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if [ "$(id -u)" = 0 ] && "${user[@]}" "$nicbarr" --version > /dev/null 2>&1; then
    check "other users can use the NIC" [ "$(kernel 1 'k["interface"]' "${user[@]}")" = eth0 ]
    mkdir "$scratch/user" && chown 65534 "$scratch/user"
    no_rights() { ! on 2 "${user[@]}" "$myrd" --kernel --socket "$scratch/user/sock" && said "root"; } > "$scratch/out" 2>&1
    check "myrd --kernel prints a message if it has no privileges" no_rights
    # As in a container that grants only some of the capabilities.
    each_missing() {
        local right
        for right in bpf net_admin perfmon; do
            ! on 2 setpriv --bounding-set "-$right,-sys_admin" "$myrd" --kernel > "$scratch/out" 2>&1 &&
                said "for lack of CAP_${right^^} (.*--cap-add" && [ "$(wc -l < "$scratch/out")" = 1 ] || return 1
        done
    }
    check "myrd --kernel names a missing capability" each_missing
    these_alone() {
        on 2 setpriv --bounding-set "-all,+bpf,+net_admin,+perfmon" "$myrd" --kernel > "$scratch/out" 2>&1 || return 1
        local other
        other=$(kernel 2 'k["runner"]')
        few_rights "$other" 000000c000001000 && kill -TERM "$other" &&
            while [ -e "$scratch/2/sock" ]; do sleep 0.05; done
    }
    check "the daemon starts with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and keeps CAP_BPF only" these_alone
    may_not_load=(setpriv --bounding-set "-bpf,-sys_admin" env)
    says_more() {
        ! on 2 "${may_not_load[@]}" "$myrd" --kernel && ! said "^libbpf: " &&
            ! on 2 "${may_not_load[@]}" NICBARR_KERNEL_DEBUG=1 "$myrd" --kernel && said "^libbpf: "
    } > "$scratch/out" 2>&1
    check "with NICBARR_KERNEL_DEBUG the messages of the kernel are printed" says_more
fi

kill -KILL "$daemon"
until [ "$(kernel 1 k)" = None ]; do sleep 0.05; done
check "a daemon that was killed is replaced" on 1 "$myrd" --kernel
check "a new daemon runs the NIC" [ "$(kernel 1 "k['runner'] != $daemon")" = True ]
daemon=$(kernel 1 'k["runner"]')
ends() {
    kill -TERM "$daemon"
    until [ "$(kernel 1 k)" = None ]; do sleep 0.05; done
    while [ -e "$scratch/1/sock" ]; do sleep 0.05; done
    while [ -e "/proc/$daemon/fd/0" ]; do sleep 0.05; done
}
check "SIGTERM ends the daemon and removes its socket" ends
check "SIGTERM removes the pins of the NIC" [ -z "$(ls /sys/fs/bpf/nicbarr)" ]

# ---- a daemon of another version was killed, and its NIC still exists

another_version() {
    on 1 "$myrd" --kernel || return 1
    daemon=$(kernel 1 'k["runner"]')
    kill -KILL "$daemon"
    until [ "$(kernel 1 k)" = None ]; do sleep 0.05; done
    bpftool map update pinned /sys/fs/bpf/nicbarr/*/kept key 0 0 0 0 value 99 0 0 0 1 0 0 0 0 0 0 0 \
        0 0 0 0 0 0 0 0 0 0 0 0 ||
        return 1
    on 1 "$myrd" --kernel --foreground > "$scratch/out" 2>&1 &
    while [ "$(kernel 1 k)" = None ]; do kill -0 $! && sleep 0.05 || return 1; done
    daemon=$(kernel 1 'k["runner"]')
    ends
    [ "$(grep -c "of another version" "$scratch/out")" = 1 ]
}
if command -v bpftool > "$scratch/out"; then
    check "a NIC of a different version is replaced, and a message is printed" another_version
fi

# ---- the interface is renamed, or removed

on_cable() { "$NETHOSTS_RUN" 1 ip "$@"; }
# Connects the hosts by a separate cable, and starts a daemon on its interface.
cable() {
    on_cable link add nic0 type veth peer name nic0 netns 2 && on_cable link set nic0 up && stands nic0
}
stands() { # INTERFACE
    on_cable address add 10.78.0.1/24 dev "$1" || return 1
    on 1 "$myrd" --kernel --foreground --network 10.78.0.0/24 > "$scratch/out" 2>&1 &
    daemon=$!
    while [ "$(kernel 1 k)" = None ]; do kill -0 "$daemon" && sleep 0.05 || return 1; done
}
is_at() { until [ "$(kernel 1 'k["interface"]')" = "$1" ]; do kill -0 "$daemon" && sleep 0.05 || return 1; done; }
ended() { # LINE
    local status
    wait "$daemon"
    status=$?
    [ "$status" = 1 ] && tail -n 1 "$scratch/out" | grep -q "^myrd: interface .*$1.*start myrd --kernel" &&
        [ "$(grep -c "start myrd" "$scratch/out")" = 1 ] && [ ! -e "$scratch/1/sock" ]
}
check "the daemon serves another interface" cable
check "a message names the interface" said "^myrd: serves as the kernel NIC on interface nic0 at 10.78.0.1/24 port 7077; jobs find it by $scratch/1/sock$"
renamed() { on_cable link set nic0 name nic1 && is_at nic1; }
check "the interface is renamed, and the daemon continues" renamed
check "a message names the new interface" said "^myrd: interface nic0 was renamed to nic1$"
# The kernel sends notifications in order, so a daemon that has processed the last one has processed all of them.
shaken() {
    on_cable -batch - << 'EOS' && is_at nic2
link add bridge0 type bridge
link set nic1 master bridge0
link set nic1 nomaster
link delete bridge0
link set nic1 down
link set nic1 up
address add 10.78.0.1/16 dev nic1
address delete 10.78.0.1/24 dev nic1
address add 10.78.0.2/24 dev nic1
address delete 10.78.0.2/24 dev nic1
address delete 10.78.0.1/16 dev nic1
address add 10.78.0.1/24 dev nic1
link set nic1 name nic2
EOS
}
check "the interface leaves a bridge, goes down and up, and changes addresses: the daemon continues" shaken
lost() { on_cable address delete 10.78.0.1/24 dev nic2 && ended "nic2 no longer has the address 10.78.0.1"; }
check "the interface loses its address: the daemon ends with a message" lost
check "a new daemon serves the interface" stands nic2
deleted() { on_cable link delete nic2 && ended "nic2 (10.78.0.1) was deleted"; }
check "the interface is deleted: the daemon ends with a message" deleted
check "a new daemon serves another interface" cable
replaced() {
    kill -KILL "$(kernel 1 'k["runner"]')" || return 1
    wait "$daemon"
    on_cable link delete nic0 && cable && said "^myrd: cannot take over the NIC .* it was on another interface: "
}
check "the daemon is killed and its interface is replaced: the NIC is replaced, and a message is printed" replaced
moved() { on_cable link set nic0 netns 2 name nic1 && ended "nic0 (10.78.0.1) was moved"; }
check "the interface is moved to another host: the daemon ends with a message" moved

usual_place() { "$NETHOSTS_RUN" 1 env -u NICBARR_KERNEL_SOCKET "$myrd" --kernel && [ "$(stat -c %a /run/nicbarr /run/nicbarr/kernel.sock | xargs)" = "755 666" ]; }
check "all users can reach the default socket" usual_place
finish
