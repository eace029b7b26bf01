#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the tests of the RDMA NIC do not run on separate hosts. Each host must have its own name, shared
# memory and device. The messages of jobs must pass through the network, with UCX as well as with TCP. The status and
# the files of the command must be returned, and verbshosts must leave nothing behind. The jobs do not use nicbarr.
#
# The properties of hosts are tested in one virtual machine. For the other tests two more machines boot, and
# some are ended before they have booted.
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../../tools/usage.sh"
if [ "${1-}" != inside ]; then
    srcdir=$(cd "${srcdir:-.}" && pwd)
    "$srcdir/testbeds/image" > /dev/null || exit 77 # it has printed the reason
    kept_image=${XDG_CACHE_HOME:-$HOME/.cache}        # the next line sets another one
fi
. "$(dirname "$0")/../../../tests/component/common.sh"

# ---- inside: three hosts

# Print the number of packets that each of the three hosts has sent by its device, by its interface, and onto
# the wire.
counts() { # FILE (with HOST for the host's number)
    local host
    for host in 1 2 3; do cat "${1//HOST/$host}"; done
}
by_rdma() { counts /sys/class/infiniband/rxeHOST/ports/1/hw_counters/sent_pkts; }
by_interface() { counts /sys/class/net/rdmaHOST/statistics/tx_packets; }
on_wire() { counts /sys/class/net/portHOST/statistics/rx_packets; }
# each_sent NUMBER COUNTS-BEFORE COUNTS-AFTER: checks that each host has sent more packets than NUMBER
each_sent() {
    paste <(echo "$2") <(echo "$3") |
        awk -v most="$1" 'NF == 2 && $2 - $1 > most { ++good } END { exit good != 3 }'
}

# Runs a program with more than 100 barriers, with two processes on each host.
barriers=100
ledger() { # MPIRUN-OPTION...
    timeout -k 5 "${watchdog:-300}" "$VERBSHOSTS_MPIRUN" --mca coll ^nicbarr "$@" \
        "$programs/barrier_ledger" --iterations 200 --seed 1 > "$scratch/out" 2>&1 && said "^ok"
}
on_each() { # COMMAND...: prints its output on the three hosts, in one line
    local host
    for host in 1 2 3; do "$VERBSHOSTS_RUN" "$host" "$@"; done 2>&1 | paste -sd ' ' > "$scratch/out"
    cat "$scratch/out"
}
is() { [ "$1" = "$2" ]; }
status_of() { # COMMAND...
    "$@" > "$scratch/out" 2>&1
    echo $?
}

if [ "${1-}" = inside ]; then
    check "hosts have names" is "$(on_each hostname)" "host1 host2 host3"
    "$VERBSHOSTS_RUN" 1 touch /dev/shm/mine
    check "and shared memory of their own" is "$(on_each ls /dev/shm)" mine
    check "and shared segments of their own" is \
        "$(on_each readlink /proc/self/ns/ipc | tr ' ' '\n' | sort -u | wc -l)" 3
    check "and a device each" is "$(on_each printenv UCX_NET_DEVICES)" "rxe1:1 rxe2:1 rxe3:1"

    rdma=$(by_rdma) wire=$(on_wire)
    check "a job by UCX" ledger --mca pml ucx
    check "each device sends" each_sent $barriers "$rdma" "$(by_rdma)"
    check "over the wire" each_sent $barriers "$wire" "$(on_wire)"
    rdma=$(by_rdma) interface=$(by_interface) wire=$(on_wire)
    check "a job by TCP" ledger --mca pml ob1 --mca btl tcp,vader,self
    check "no device sends" is "$(by_rdma)" "$rdma"
    check "each interface does" each_sent $barriers "$interface" "$(by_interface)"
    check "over the wire" each_sent $barriers "$wire" "$(on_wire)"
    check "two hosts of three" is "$(VERBSHOSTS_HOSTS=2 VERBSHOSTS_PER_HOST=1 "$VERBSHOSTS_MPIRUN" hostname |
        sort | paste -sd ' ')" "host1 host2"
    check "the status of a job" is "$(status_of "$VERBSHOSTS_MPIRUN" bash -c 'exit 5')" 5
    echo kept > "$VERBSHOSTS_OUT/kept"
    (finish) && exit 7
    exit 1
fi

# ---- outside

# All instances of verbshosts in this test create their directories in one place.
verbshosts() {
    TMPDIR=$scratch/directories XDG_CACHE_HOME=$kept_image "$srcdir/testbeds/verbs/verbshosts" "$@"
}
mkdir "$scratch/directories"
running() { pgrep -f -- "${1-}$scratch/directories" > /dev/null; } # [WHAT COMES BEFORE]
gone() {
    local tries
    for tries in $(seq 1000); do
        running || return 0
        sleep 0.05
    done
    return 1
}
no_dir() { [ -z "$(ls -A "$scratch/directories")" ]; }

# The output of the virtual machine is the output of the test.
verbshosts --seconds 900 --out "$scratch/handed" --shell 3 2 bash "$0" inside
check "these hosts are as they should be, and the command's status comes back" test $? = 7
check "so does what it leaves" grep -qx kept "$scratch/handed/kept"
check "and nothing else" is "$(ls -A "$scratch/handed")" kept
check "the machine's directory is gone" no_dir

check "the time is over" is "$(status_of verbshosts --seconds 1 --shell 1 1 sleep 1000)" 124
check "a line says so" said "ended after 1 s"
check "the machine is gone" gone
check "and its directory" no_dir
check "a machine that dies is an error" is \
    "$(status_of verbshosts --shell 1 1 bash -c 'echo c > /proc/sysrq-trigger; sleep 1000')" 125
check "a line says so" said "the virtual machine has died"

ends() { # SIGNAL
    local pid
    # bash starts background processes of a script with SIGINT ignored.
    TMPDIR=$scratch/directories XDG_CACHE_HOME=$kept_image env --default-signal=INT \
        "$srcdir/testbeds/verbs/verbshosts" --shell 1 1 sleep 1000 > "$scratch/out" 2>&1 &
    pid=$!
    until running '^qemu-system.*' || ! kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
    kill "-$1" "$pid" || return
    wait "$pid" 2> /dev/null
    gone
}
for signal in INT TERM HUP KILL; do
    check "no machine is left after SIG$signal" ends $signal
done

# A configuration of apt that knows no packages.
printf 'Dir::State "%s/apt";\nDir::Cache "%s/apt";\n' "$scratch" "$scratch" > "$scratch/apt.conf"
no_kernel() {
    XDG_CACHE_HOME=$scratch/empty APT_CONFIG=$scratch/apt.conf \
        "$srcdir/testbeds/verbs/verbshosts" --shell 1 1 true
}
check "no kernel to be had" is "$(status_of no_kernel)" 77
check "a line says so" said "apt has no package linux-image-amd64"
finish
