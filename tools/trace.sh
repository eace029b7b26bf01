#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Implements `nicbarr trace`. It makes the kernel record network events for a short time (tracefs), and
# derives from them how the duration of a barrier is divided among its stages.
#
# A barrier begins with the system call by which a host sends, and lasts until the next such call. With the kernel NIC a
# host makes one such call per barrier, to ring the doorbell. With the soft NIC it makes one per round, so what is
# called a barrier here is a round. Messages are recognized by their length. The recording uses a separate tracefs
# instance, which is removed at the end, so it does not interfere with other users of tracing. While no recording is in
# progress, there is no overhead.
set -u
here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat << END
Usage: nicbarr trace [OPTION...] INTERFACE
   or: nicbarr trace --read FILE
Shows where the time of a barrier goes on this host, while a job runs whose
barriers are executed by the soft NIC or the kernel NIC: system call, driver,
wire and other hosts, interrupt, the path to the interface, the NIC's program,
and the host again. If barriers are slower than they should be, send the output
of each host.

INTERFACE is that of the network card, such as eth0 (below a bond or VLAN).

  --for MS         trace for MS milliseconds (default 200)
  --raw            print the kernel's events themselves
  --read FILE      interpret FILE, the output of --raw
  --help           this text
  --version        the version

It needs root, and a kernel with tracefs, as distributions build it.
END
}

command_name='nicbarr trace'
# shellcheck source=bench/report/command.sh
. "$here/../bench/report/command.sh"

interface='' milliseconds=200 raw=no read=''
while [ $# -gt 0 ]; do
    case $1 in
        --for | --read)
            [ $# -ge 2 ] || bad "$1 needs a value"
            case $1 in
                --for) number "$2" 1 10000 "$1" && milliseconds=$2 ;;
                --read) read=$2 ;;
            esac
            shift ;;
        --raw) raw=yes ;;
        --help) usage && exit ;;
        --version) tell_version && exit ;;
        -*) bad "there is no option '$1'" ;;
        *)
            [ -z "$interface" ] || bad "only one interface is possible, not '$interface' and '$1'"
            interface=$1 ;;
    esac
    shift
done
[ -n "$read" ] || [ -n "$interface" ] || bad "INTERFACE is missing (such as: nicbarr trace eth0)"
[ -z "$read" ] || { [ -f "$read" ] && [ -r "$read" ]; } || fail "cannot read '$read'"

work=$(mktemp -d) || exit 1
trace=$work/tracefs/instances/nicbarr-$$
leave() {
    [ ! -d "$trace" ] || rmdir "$trace"
    local mounted
    for mounted in tracefs sysfs; do
        ! mountpoint -q "$work/$mounted" || umount "$work/$mounted"
    done
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# Enables an event, with an optional filter. The frame of a message without data has 74 bytes, or 94 over IPv6, of
# which 14 are the Ethernet header.
watch() { # EVENT [FILTER]
    { echo "${2-0}" > "$trace/events/$1/filter" && echo 1 > "$trace/events/$1/enable"; } 2> /dev/null ||
        fail "this kernel has no event $1"
}

record() {
    grep -qF " $interface:" <(sed 's/^ */ /' /proc/net/dev) || fail "there is no interface $interface (ip link lists them)"
    mkdir "$work/tracefs"
    mount -t tracefs tracefs "$work/tracefs" 2> /dev/null ||
        fail "cannot mount tracefs: run as root, with a kernel that has it; a container needs CAP_SYS_ADMIN"
    mkdir "$trace" 2> /dev/null || fail "cannot create an instance in tracefs"
    echo 0 > "$trace/tracing_on"
    echo mono > "$trace/trace_clock"
    echo 8192 > "$trace/buffer_size_kb"
    watch syscalls/sys_enter_sendto "len == 32"
    watch net/net_dev_queue "(len == 74 || len == 94) && name == \"$interface\""
    watch net/net_dev_xmit "(len == 74 || len == 94) && name == \"$interface\""
    watch irq/irq_handler_entry
    watch irq/irq_handler_exit
    watch irq/softirq_raise "vec == 3"
    watch irq/softirq_entry "vec == 3"
    watch net/netif_receive_skb "(len == 60 || len == 80) && name == \"$interface\""
    watch skb/kfree_skb "protocol == 2048 || protocol == 34525"
    watch irq/softirq_exit "vec == 3"
    echo 1 > "$trace/tracing_on"
    sleep "$((milliseconds / 1000)).$(printf %03d $((milliseconds % 1000)))"
    echo 0 > "$trace/tracing_on"
    echo "# $(uname -n), Linux $(uname -r), $(nproc) CPUs; interface $interface$(driver)"
    cat "$trace/trace"
}
# A sysfs shows the interfaces of the network namespace in which it was mounted. /sys may have been mounted in
# another namespace, so this function mounts another sysfs.
driver() {
    local link
    mkdir "$work/sysfs"
    mount -t sysfs -o ro sysfs "$work/sysfs" 2> /dev/null || return 0
    link=$(readlink "$work/sysfs/class/net/$interface/device/driver")
    echo "${link:+, driver ${link##*/}}"
}

# Converts events to one line per run of consecutive barriers: duration in microseconds, number of received messages,
# microseconds of each stage, and the events of the last barrier. Each event ends one stage and begins the next, so the
# stages add up to the duration. (Single barriers are not compared, because a message may arrive before this host has
# begun the barrier to which it belongs.)
runs() {
    awk -v stages="$stages" -v run=$run '
        function mark(stage, at, event) {
            if (at > now) {
                spent[stage] += at - now
                now = at
            }
            story = story sprintf("|%8.0f  %3d  %-10s %s", at - begun, cpu, stage, event)
        }
        function finish(at,    s) {
            if (at < now) { at = now } # another processor has recorded a message since
            if (begun) {
                mark("host", at, "the host sends again")
                took += at - begun
                if (++barriers % run == 0) {
                    printf "%.0f %d", took, came
                    for (s = 1; s <= count; ++s) { printf " %.0f", spent[name[s]] }
                    print " " story
                    split("", spent)
                    took = came = 0
                }
            }
            begun = now = at
            story = sprintf("|%8.0f  %3d  %-10s %s", 0, cpu, "", who[cpu] " sends")
        }
        BEGIN { count = split(stages, name, " ") }
        /^#/ || !match($0, /\[[0-9]+\] +[^ ]+ +[0-9]+\.[0-9]+: /) { next }
        {
            split(substr($0, RSTART, RLENGTH), head, " ")
            cpu = substr(head[1], 2) + 0
            at = head[3] * 1e6
            event = substr($0, RSTART + RLENGTH)
            kind = event
            sub(/[:(].*/, "", kind)
        }
        kind == "irq_handler_entry" {
            handler[cpu] = at
            sub(/.*name=/, "", event)
            card[cpu] = event
            next
        }
        kind == "irq_handler_exit" { delete handler[cpu]; next }
        kind == "softirq_raise" {
            if (cpu in handler) {
                interrupt[cpu] = handler[cpu]
                which[cpu] = card[cpu]
            }
            next
        }
        kind == "sys_sendto" {
            bell[cpu] = at
            who[cpu] = substr($0, 1, RSTART - 1)
            gsub(/^ +| +$/, "", who[cpu])
            next
        }
        (cpu in inside) {
            mark("program", at, kind)
            delete inside[cpu]
        }
        kind == "softirq_entry" { soft[cpu] = at; delete bell[cpu] }
        kind == "softirq_exit" { delete soft[cpu]; delete interrupt[cpu] }
        kind == "net_dev_queue" && (cpu in bell) {
            finish(bell[cpu])
            delete bell[cpu]
        }
        kind == "net_dev_queue" && begun { mark((cpu in soft) ? "program" : "call", at, kind) }
        kind == "net_dev_xmit" && begun { mark("driver", at, kind) }
        kind == "netif_receive_skb" && begun {
            if (cpu in interrupt) {
                mark("away", interrupt[cpu], "interrupt of " which[cpu])
                mark("interrupt", soft[cpu], "softirq_entry")
                delete interrupt[cpu]
            } else if (soft[cpu] > now) {
                mark("away", soft[cpu], "softirq_entry")
            }
            mark((cpu in soft) ? "stack" : "away", at, kind)
            inside[cpu] = 1
            ++came
        }'
}

# Prints the means over the middle half of the runs, ordered by duration.
tell() {
    sort -n | awk -v stages="$stages" -v run=$run -v where="$where" '
        { line[NR] = $0 }
        END {
            if (NR < 4) { exit 1 }
            first = int(NR / 4) + 1
            last = NR - int(NR / 4)
            barriers = (last - first + 1) * run
            for (r = first; r <= last; ++r) {
                split(line[r], part, " ")
                all += part[1]
                came += part[2]
                for (s = 1; s <= 7; ++s) { sum[s] += part[s + 2] }
            }
            what["call"] = "the system call of the last process: UDP, IP, the NIC on the way out"
            what["driver"] = "the driver, until it has handed the packet to the card"
            what["away"] = "the wire and the other hosts"
            what["interrupt"] = "the interrupt, until packets are processed (softirq)"
            what["stack"] = "driver and network stack, until the packet is at the interface"
            what["program"] = "the program of the NIC (soft NIC: UDP, until the packet is in the socket)"
            what["host"] = "the host detects the release, and enters its next barrier"
            count = split(stages, name, " ")
            printf "%s: %d barriers.\n", where, NR * run
            printf "Microseconds per barrier, means over the %d in the middle; %.1f messages received per barrier:\n", barriers, came / barriers
            for (s = 1; s <= count; ++s) { printf "%-10s %9.1f  %s\n", name[s], sum[s] / barriers, what[name[s]] }
            printf "%-10s %9.1f\n\nOne of these barriers (us, CPU, stage, event that ends it):\n", "all", all / barriers
            story = line[int((first + last) / 2)]
            sub(/^[^|]*\|/, "", story)
            gsub(/\|/, "\n", story)
            print story
        }'
}

stages='call driver away interrupt stack program host' run=8
if [ -n "$read" ]; then
    head -n 1 -- "$read" | grep -q '^# .*; interface ' || fail "'$read' is not an output of nicbarr trace --raw"
    events=$read
else
    events=$work/events
    record > "$events"
fi
if [ "$raw" = yes ]; then
    cat "$events"
    exit
fi
where=$(sed -n '1s/^# //p' "$events")
runs < "$events" | tell ||
    fail "no barriers seen: check that the job uses this interface, and that a NIC executes its barriers (nicbarr status)"
