#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr trace` derives wrong times from the kernel's events, or misreports missing ones. The events
# are recorded; tests/component/trace.sh traces jobs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
NICBARR_LIBEXECDIR=$(cd "$here/../.." && pwd)
export NICBARR_LIBEXECDIR
# shellcheck source=tests/tap.sh
. "$here/../../tests/tap.sh"
nicbarr=$build/tools/nicbarr

run() { # ARGUMENT...
    "$nicbarr" trace "$@" > out 2> err
    status=$?
}

# Prints the events of identical barriers of one message, from which the times of the stages follow.
events() { # FIRST LAST
    echo "# host1, Linux 6.1.0; interface eth0, driver virtio_net"
    local barrier
    for ((barrier = $1; barrier <= $2; ++barrier)); do
        awk -F '|' -v at="$((barrier * 100))" '{ printf "%16s [00%d] d.h1. %11.6f: %s\n", $1, $2, 50 + (at + $3) / 1e6, $4 }' << 'END'
my job:2-17|1|0|sys_sendto(fd: 0x18, buff: 0x7ffeb7ddd950, len: 0x20, flags: 0x4040, addr: 0, addr_len: 0)
my job:2-17|1|12|net_dev_queue: dev=eth0 skbaddr=00000000bb912013 len=74
my job:2-17|1|15|net_dev_xmit: dev=eth0 skbaddr=00000000bb912013 len=74 rc=0
<idle>-0|0|20|irq_handler_entry: irq=25 name=virtio0-requests
<idle>-0|0|21|irq_handler_exit: irq=25 ret=handled
<idle>-0|0|45|irq_handler_entry: irq=29 name=virtio3-input.0
<idle>-0|0|46|softirq_raise: vec=3 [action=NET_RX]
<idle>-0|0|47|irq_handler_exit: irq=29 ret=handled
<idle>-0|0|49|softirq_entry: vec=3 [action=NET_RX]
<idle>-0|0|56|netif_receive_skb: dev=eth0 skbaddr=00000000bb912015 len=60
<idle>-0|0|62|kfree_skb: skbaddr=00000000bb912015 protocol=2048 location=0 reason: TC_INGRESS
<idle>-0|0|64|softirq_exit: vec=3 [action=NET_RX]
END
    done
}
events 1 101 > whole
run --read whole
works "where the time goes" "^host1, Linux 6.1.0; interface eth0, driver virtio_net: 96 barriers\.$" "; 1\.0 messages received per barrier:$" \
    "^call  +12\.0 " "^driver  +3\.0 " "^away  +30\.0 " "^interrupt  +4\.0 " "^stack  +7\.0 " "^program  +6\.0 " \
    "^host  +38\.0 " "^all  +100\.0$"
works "one of them" "^ +0 +1 +my job:2-17 sends$" "^ +45 +0 +away +interrupt of virtio3-input\.0$" \
    "^ +62 +0 +program +kfree_skb$" "^ +100 +1 +host +the host sends again$"

# A message arrives before its barrier has begun on this host, because its sender was faster.
{ events 1 1 && sed -n '2,4p' <(events 2 2) && events 3 101; } > early
run --read early
works "a barrier whose message comes with the next one's" "^all  +10[0-9]\.[0-9]$"
# Another processor receives a message while the last process is in its system call. No time may be counted
# twice.
events 1 101 | awk '{ print }
    /sys_sendto/ {
        at = substr($0, match($0, /[0-9]+\.[0-9]+:/)) + 0
        split("softirq_entry: vec=3|netif_receive_skb: dev=eth0 len=60|kfree_skb: protocol=2048|softirq_exit: vec=3", event, "|")
        for (i = 1; i <= 4; ++i) { printf "<idle>-0 [002] d.h1. %11.6f: %s\n", at + 2e-6 * i, event[i] }
    }' > other
run --read other
works "another processor takes a message during the call" "; 2\.0 messages received per barrier:$" "^call  +6\.0 " "^away  +70\.0 " \
    "^stack  +9\.0 " "^program  +8\.0 " "^host  +0\.0 " "^all  +100\.0$"
events 1 20 > few
run --read few
refuses "too few" "no barriers seen: .*nicbarr status"
: > nothing
run --read nothing
refuses "none" "'nothing' is not an output of nicbarr trace --raw"
run --read not/there
refuses "no such file" "cannot read 'not/there'"
run --read .
refuses "a directory" "cannot read '\.'"
run
refuses "no interface" "INTERFACE is missing.*--help" 64
run eth0 eth1
refuses "two" "only one interface is possible, not 'eth0' and 'eth1'" 64
run --for 0 eth0
refuses "no time" "^nicbarr trace: --for must be a number from 1 to 10000, not '0'" 64
run --wibble eth0
refuses "another option" "there is no option '--wibble'" 64
run no-such-interface
refuses "no such interface" "there is no interface no-such-interface"
run --help
works "--help" "^Usage: nicbarr trace " "^  --raw "
run --version
works "--version" "^nicbarr trace [0-9]+\."
finish
