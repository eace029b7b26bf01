#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, tests and experiments on nethosts run on a network with other properties than requested. Each fault
# must occur as often as requested, and only to the selected packets. The counters of the switch must agree with the
# packets that arrive. nethosts must leave nothing behind.
#
# Counts may differ from the expected value by 7 standard deviations. With random seeds, a correct switch would fail in
# one of 10^11 runs, but the seed is fixed (NICBARR_SEED sets another one).
. "$(dirname "$0")/../../../tests/component/common.sh"
seed=1
. "$srcdir/tests/component/hosts_common.sh"
flood=$builddir/testbeds/hosts/tests/flood

# flooded SWITCH-OPTION... -- HOSTS FLOOD-ARGUMENT...
flooded() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    local hosts=$2
    shift 2
    timeout -k 5 120 "$nethosts" --switch --port 9000 --seed "$seed" "${options[@]}" --shell "$hosts" \
        "$flood" "$@" > "$scratch/out" 2>&1
}
# Prints a count of the switch ("lost", "duplicated", ...) or of the receiver ("whole", "again", ...).
counted() { grep -o "$1 [0-9]*" "$scratch/out" | head -n 1 | grep -o '[0-9]*$'; }
# around NAME COUNT PERCENT: checks that a count is within 7 standard deviations of a binomial distribution
around() {
    awk -v n="$2" -v p="$3" -v x="$(counted "$1")" 'BEGIN {
        mean = n * p / 100; wide = 7 * sqrt(mean * (1 - p / 100))
        exit !(x >= mean - wide && x <= mean + wide) }'
}
is() { [ "$(counted "$1")" = "$2" ]; }
# Checks the counts: the packets received are those sent, without those lost or with a wrong checksum, plus the
# copies.
adds_up() {
    is held 0 && is refused 0 && is damaged "$(counted repaired)" &&
        [ $(($(counted whole) + $(counted again) + $(counted damaged))) = \
            $(($(counted udp) - $(counted lost) - $(counted cut) + $(counted duplicated) - \
                $(counted corrupted) + $(counted repaired))) ]
}

# Checks that all cables are up when the command starts, because packets over other cables would be lost.
all_up() {
    local try
    for try in 1 2 3 4 5 6 7 8; do
        "$nethosts" --switch --shell 4 bash -c 'for host in 1 2 3 4; do
            ip -o link; nsenter --net=/run/netns/$host ip -o link # (a query for one interface would bring it up)
        done' > "$scratch/out" 2>&1
        ! grep -q "state DOWN" "$scratch/out" || return
    done
}
check "all cables are up when the command begins" all_up

# nethosts must hide Open MPI's spurious message about process groups, but no other line, and not the status.
vain='[host1:7] plm:rsh: Warning: setpgid(8,8) failed in parent with errno=Permission denied(13)'
says="echo '$vain' >&2; printf 'the rest' >&2; exit 3"
hidden() { # COMMAND...
    timeout -k 5 120 "$@" > "$scratch/out" 2>&1
    [ $? = 3 ] && ! said setpgid && said "the rest"
}
check "setpgid's warnings are hidden" hidden "$nethosts" 2 bash -c "$says"
check "those of a script on the hosts, too" hidden "$nethosts" --shell 2 bash -c "$says"
# If the output is a terminal, $NETHOSTS_MPIRUN filters it. Here a fake of mpirun prints the message.
mkdir "$scratch/bin"
printf '#!/bin/bash\n[ "$1" != --version ] || exec %s --version\n%s\n' "$(command -v mpirun)" "$says" > "$scratch/bin/mpirun"
chmod +x "$scratch/bin/mpirun"
check "and those of a job on a terminal" hidden env PATH="$scratch/bin:$PATH" \
    script -qec "'$nethosts' --shell 2 bash -c '\$NETHOSTS_MPIRUN'" /dev/null

check "no faults" flooded -- 2 1 2 5000 200
check "all arrive" is whole 5000
check "in order" is late 0
check "nothing else" is udp 5000

n=10000
check "10 % loss" flooded --loss 10 -- 2 1 2 $n 100
check "as many are lost" around lost $n 10
check "and no more" is whole $((n - $(counted lost)))
one=$(counted lost)
check "once more" flooded --loss 10 -- 2 1 2 $n 100
check "the same seed, the same losses" is lost "$one"
check "duplication" flooded --duplicate 10 -- 2 1 2 $n 100
check "as many come twice" around duplicated $n 10
check "all copies arrive" is again "$(counted duplicated)"
check "and all packets" is whole $n
check "reordering" flooded --reorder 10 -- 2 1 2 $n 100
check "as many are held back" around reordered $n 10
check "all arrive" is whole $n
# Most of the packets that are held back arrive late, unless the packets that follow them are held back as well.
check "many of them late" test "$(counted late)" -gt $((n / 20))
check "corruption" flooded --corrupt 10 -- 2 1 2 $n 100
check "as many are damaged" around corrupted $n 10
check "half of them reach the program" around repaired "$(counted corrupted)" 50
check "and are seen there" adds_up
check "of every size" flooded --corrupt 50 -- 2 1 2 2000 1399
check "and are seen there, too" adds_up
check "everything at once" flooded --loss 30 --duplicate 10 --reorder 10 --corrupt 10 -- 2 1 2 $n 100
check "adds up" adds_up
check "a delay of 5 ms" flooded --delay 5000 -- 2 1 2 200 100
check "all arrive" is whole 200
check "in order" is late 0
check "none before its time" test "$(counted 'shortest us')" -ge 5000

# The sender passes 32 packets to the kernel in one call (segmentation offload).
check "bundles" flooded -- 2 1 2 5000 1000 bundled
check "all arrive" is whole 5000
check "bundles with 10 % loss" flooded --loss 10 -- 2 1 2 $n 1000 bundled
check "each packet is lost for itself" around lost $n 10
check "adds up" adds_up

check "a firewall" flooded --cut 1-2 -- 3 1 2 500 100
check "stops all" is whole 0
check "both ways" flooded --cut 2-1 -- 3 1 2 500 100
check "stops all, too" is whole 0
check "not others" flooded --cut 1-2 -- 3 1 3 500 100
check "all arrive" is whole 500
check "a firewall later" flooded --cut 1-2 --cut-after 300 -- 2 1 2 500 100
check "stops those after" is whole 300
check "other ports" flooded --port 9002 --loss 100 -- 2 1 2 500 100
check "are spared" is whole 500

record() {
    flooded --record "$scratch/capture" -- 2 1 2 500 100
}
check "a capture" record
# The file has a header of 24 bytes, and each packet a header of 16 bytes, and 42 bytes before its payload.
check "has all packets" test "$(stat -c %s "$scratch/capture")" = $((24 + 500 * (16 + 42 + 100)))

# Tests redirection by the kernel instead of a switch. If the kernel does not permit it, nethosts prints the
# reason.
redirected() {
    timeout -k 5 120 "$nethosts" --redirect --shell 3 "$flood" 1 3 5000 200 > "$scratch/out" 2>&1
    [ $? != 77 ] || { echo "skip --redirect: $(cat "$scratch/out")"; return; }
    is whole 5000 && is late 0
}
check "redirected by the kernel, all arrive in order" redirected
both() { ! "$nethosts" --redirect --loss 10 --shell 2 true && said "cannot have faults"; } > "$scratch/out" 2>&1
check "without faults" both

# Checks that a signal that ends nethosts ends its processes as well, and that nothing is left in /run.
ends() { # SIGNAL
    local tag="nethosts-test-$$-$1" nethosts_pid tries
    echo "$tag" > "$scratch/tag" # grep reads the tag from a file, so that its own command line does not contain it
    # bash starts background processes of a script with SIGINT ignored.
    env --default-signal=INT "$nethosts" --switch --shell 2 bash -c "exec -a $tag sleep 1000" \
        > "$scratch/out" 2>&1 &
    nethosts_pid=$!
    for tries in $(seq 1000); do
        grep -qsxzFf "$scratch/tag" /proc/[0-9]*/cmdline && break
        sleep 0.05
    done
    kill "-$1" "$nethosts_pid"
    wait "$nethosts_pid" 2> /dev/null
    while grep -qsaFf "$scratch/tag" /proc/[0-9]*/cmdline; do
        tries=$((tries + 1))
        [ "$tries" -lt 1000 ] || return 1
        sleep 0.05
    done
    [ ! -e /run/nethosts ] && [ ! -e /run/netns/1 ]
}
for signal in INT TERM HUP KILL; do
    # (SIGHUP does not end a process that was started by nohup.)
    [ "$(trap -p "$signal")" = "trap -- '' SIG$signal" ] || check "nothing is left after SIG$signal" ends $signal
done
check "the command's status" bash -c "'$nethosts' --shell 2 bash -c 'exit 7'; [ \$? = 7 ]"
finish
