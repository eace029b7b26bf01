#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs whose NICs are run by daemons (myrd) fail. The test covers jobs across hosts, concurrent jobs,
# clients and daemons that are killed at any time, and other users. Its verdict does not depend on timing: the script
# waits until counters of the NICs have the expected values.
hosts=(2 2) patience=300
. "$(dirname "$0")/inside.sh"
. "$(dirname "$0")/common.sh"
unset XDG_RUNTIME_DIR OMPI_MCA_btl
myrd=$builddir/myrd/myrd
nicbarr=$builddir/tools/nicbarr
ledger=(--ledger "$scratch/ledger")

on() { "$NETHOSTS_RUN" "$@"; }
# Starts a job in the background with output to OUT; $! is its pid.
begin_job() { # OUT MPIRUN-ARGUMENT...
    local out=$1
    shift
    timeout -k 5 100 "$NETHOSTS_MPIRUN" --mca coll_nicbarr_algorithm dissemination:1 "$@" \
        > "$out" 2>&1 &
}
run_job() { # MPIRUN-ARGUMENT...
    begin_job "$scratch/out" "$@"
    wait $!
}
served() { # runs a job whose barriers the NICs must execute
    run_job "$@" "$programs/pvars" --done && said "^ok"
}

# Prints the value of EXPRESSION over the segments s of the status that have a NIC.
status() { # EXPRESSION
    "$nicbarr" status --json | EXPRESSION=$1 python3 -c '
import json, os, sys
s = [x for x in json.load(sys.stdin)["segments"] if x["nic"]]
names = lambda x: [p["name"] for p in x["processes"]]
by = lambda name: [x for x in s if name in names(x)]
pids = lambda name: [p["pid"] for x in s for p in x["processes"] if p["name"] == name]
print(eval(os.environ["EXPRESSION"]))'
}
until_status() { # waits until EXPRESSION is true; a watchdog ends the script if it hangs
    until [ "$(status "$1")" = True ]; do sleep 0.05; done
}
barriers() { status 'sum(x["nic"]["counters"]["barriers"] for x in s)'; }
until_more_barriers() {
    local before
    before=$(barriers)
    until_status "sum(x['nic']['counters']['barriers'] for x in s) > $before + 20"
}

could_be() { on 1 "$myrd" --check && ! on 1 "$myrd" --check --network nosuch0 && said "nosuch0"; } > "$scratch/out" 2>&1
check "myrd --check reports that a host can run a daemon" could_be
both_start() { on 1 "$myrd" && on 2 "$myrd"; } > "$scratch/out" 2>&1
check "a daemon starts on each host" both_start
check "nicbarr status shows that the daemons run the NICs" [ "$(status '[x["nic"]["run_by"] for x in s]')" = "['daemon', 'daemon']" ]

# Every thread must have a seccomp filter (mode 2) and no capability except CAP_NET_ADMIN (12), which root keeps.
confined() {
    local thread filter=0 none=0000000000000000 rights
    rights=$none
    [ "$(id -u)" != 0 ] || rights=0000000000001000
    ! ldd "$myrd" | grep -q libseccomp || filter=2
    for thread in /proc/"$(status 'pids("myrd")[0]')"/task/*; do
        sed -nE 's/^(Cap[^B]..|NoNewPrivs|Seccomp):\s+/\1 /p' "$thread/status" > "$scratch/out"
        [ "$(xargs < "$scratch/out")" = "CapInh $none CapPrm $rights CapEff $rights CapAmb $none NoNewPrivs 1 Seccomp $filter" ] ||
            return 1
    done
}
check "the daemons have dropped privileges" confined

a_second() { ! on 1 "$myrd" && said "is already running"; } > "$scratch/out" 2>&1
check "a second daemon on the host is refused" a_second

check "a job uses the daemons" served --mca coll_nicbarr_nic daemon
check "a job finds the daemons by default" served
before=$(barriers)
check "a job uses private NICs" served --mca coll_nicbarr_nic soft
check "the daemons do not take part in that job" [ "$(barriers)" = "$before" ]

two_jobs() {
    begin_job "$scratch/out1" "$programs/barrier_ledger" --iterations 1000 --ledger "$scratch/ledger1"
    local one=$!
    begin_job "$scratch/out2" "$programs/barrier_ledger" --iterations 1000 --ledger "$scratch/ledger2"
    wait $! && wait "$one"
    local rc=$?
    cat "$scratch/out1" "$scratch/out2" > "$scratch/out"
    [ "$rc" = 0 ] && [ "$(grep -c "^ok" "$scratch/out")" = 2 ]
}
check "two concurrent jobs use the daemons" two_jobs
check "the groups of these jobs are closed" [ "$(status 'sum(len(x["nic"]["groups"]) for x in s)')" = 0 ]

# A client is killed while it executes barriers.
client_killed() {
    begin_job "$scratch/out" "$programs/barrier_ledger" --iterations 100000000 "${ledger[@]}"
    local job=$!
    until_status 'len(pids("barrier_ledger")) == 4'
    until_more_barriers
    kill -KILL "$(status 'pids("barrier_ledger")[0]')"
    ! wait "$job"
    until_status 'len(pids("barrier_ledger")) == 0'
    until_status 'sum(len(x["nic"]["groups"]) for x in by("myrd")) == 0'
}
check "a client is killed, and its job ends" client_killed
check "another job uses the daemons" served --mca coll_nicbarr_nic daemon
check "both daemons continue to run" [ "$(status 'len(pids("myrd"))')" = 2 ]

# A daemon is killed while a job runs. If it ran the NIC at that moment, the NIC would be broken as well. Therefore the
# daemon is stopped first, until barriers continue, which proves that it was not stopped while it ran the NIC.
daemon_killed() {
    begin_job "$scratch/out" "$programs/barrier_ledger" --iterations 100000000 "${ledger[@]}"
    local job=$! daemon before tries=0
    until_status 'len(pids("barrier_ledger")) == 4'
    until_more_barriers
    daemon=$(status 'pids("myrd")[0]')
    kill -STOP "$daemon"
    before=$(barriers)
    until [ "$(barriers)" -gt $((before + 20)) ]; do
        tries=$((tries + 1))
        if [ $((tries % 20)) = 0 ]; then # the daemon was probably stopped while it ran the NIC: try again
            kill -CONT "$daemon"
            sleep 0.01
            kill -STOP "$daemon"
            before=$(barriers)
        fi
        kill -0 "$job" || return 1
    done
    kill -KILL "$daemon"
    until_status 'len(pids("myrd")) == 1'
    until_more_barriers
    kill -0 "$job" && ! said FAIL || return 1
    kill -TERM "$job"
    until_status 'len(pids("barrier_ledger")) == 0'
}
check "a daemon is killed, and the job continues" daemon_killed
check "the other daemon still runs" [ "$(status 'len(pids("myrd"))')" = 1 ]

declined() {
    run_job --mca coll_nicbarr_nic daemon "$programs/pvars" && said "^ok.*counted 0" &&
        said "are left to Open MPI: .*cannot reach the daemon myrd"
}
check "a job that requires a missing daemon uses Open MPI, and a message gives the reason" declined
check "a job uses private NICs by default" served

# MPI_Init does not wait for daemons that are stopped. If they have been continued by the time the NICs are needed, the
# job uses them. Otherwise it uses its own NICs, and a message gives the remedy.
signal_daemons() { # SIGNAL
    # shellcheck disable=SC2046 # words
    kill "-$1" $(status '" ".join(str(p) for p in pids("myrd"))')
}
until_stopped() { until [ "$(status 'sum(") T " in open("/proc/%d/stat" % p).read() for p in pids("myrd"))')" = 2 ]; do sleep 0.05; done; }
come_back() {
    signal_daemons STOP
    until_stopped
    rm -f "$scratch/go"
    begin_job "$scratch/out" --mca coll_nicbarr_nic daemon "$programs/pvars" --done --hold "$scratch/go"
    local job=$!
    until said "pvars: np 4" || ! kill -0 "$job"; do sleep 0.05; done
    signal_daemons CONT
    touch "$scratch/go"
    wait "$job" && said "^ok"
}
stay_away() {
    signal_daemons STOP
    until_stopped
    run_job --mca coll_nicbarr_verbose 1 "$programs/pvars" --done
    local rc=$?
    signal_daemons CONT
    [ "$rc" = 0 ] && said "^ok" && said "nicbarr: myrd (process [0-9]*) does not answer: .*kill -CONT"
}

# Another, unprivileged user has created the daemon's directory and listens on a socket there. Clients must neither
# trust nor contact this user's process.
stranger() {
    mkdir -p "$scratch/taken/nicbarr" && chmod 755 "$scratch/taken" "$scratch/taken/nicbarr" && chmod 711 "$scratch"
    chown 65534:65534 "$scratch/taken/nicbarr"
    setpriv --reuid 65534 --regid 65534 --clear-groups perl -MSocket -e '
        socket(S, AF_UNIX, SOCK_SEQPACKET, 0) && bind(S, sockaddr_un($ARGV[0])) && listen(S, 0) or die "$!\n";
        chmod 0777, $ARGV[0];
                accept(C, S) and print "somebody came\n";
        sleep' "$scratch/taken/nicbarr/myrd.sock" > "$scratch/stranger" &
    local stranger=$!
    until [ -S "$scratch/taken/nicbarr/myrd.sock" ]; do
        kill -0 "$stranger" || return 1
        sleep 0.05
    done
    run_job --mca coll_nicbarr_verbose 1 -x XDG_RUNTIME_DIR="$scratch/taken" "$programs/pvars" --done
    local rc=$?
    kill "$stranger"
    rm "$scratch/taken/nicbarr/myrd.sock"
    [ "$rc" = 0 ] && said "^ok" && [ ! -s "$scratch/stranger" ] &&
        said "nicbarr: the daemon at $scratch/taken/nicbarr/myrd.sock is not used: its directory is writable for others"
}

restart() { on 1 "$myrd" || on 2 "$myrd"; } > "$scratch/out" 2>&1
check "a new daemon replaces the socket of a killed one" restart
check "another job uses the daemons" served --mca coll_nicbarr_nic daemon
check "daemons that are only stopped during MPI_Init are used" come_back
check "daemons stay stopped: private NICs are used, and a message gives the remedy" stay_away
check "after the daemons are continued, a job uses them" served --mca coll_nicbarr_nic daemon
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups perl -MSocket -e '' 2> /dev/null; then
    check "a different process in place of the daemon is ignored" stranger
fi

# A daemon in the foreground logs to standard error.
told=$scratch/told
begin_telling() { # ENVIRONMENT...
    env "$@" "$myrd" --foreground --socket "$scratch/open/myrd.sock" --network lo > "$told" 2>&1 &
    telling=$!
    until grep -q "serves" "$told"; do
        kill -0 "$telling" && sleep 0.05 || return 1
    done
}
tells() { # PREFIX-OF-NOTICES PREFIX-OF-REMARKS
    kill -TERM "$telling" && wait "$telling" || return 1
    grep -Eqx "$1serves as the user's soft NIC at 127.0.0.1/8 port [0-9]+; jobs find it by $scratch/open/myrd.sock" "$told" &&
        [ "$(tail -n 1 "$told")" = "$2terminates on a signal" ]
}
mkdir -m 755 "$scratch/open"
touch "$told"

# A client is stopped while it runs the NIC. Other processes must not wait for it indefinitely, and new clients soon get
# another NIC (clients that come at once give up the first one after 10 s).
daemon_client=$builddir/tests/component/daemon_client
client=("$daemon_client" "$scratch/open/myrd.sock")
stops_inside() {
    begin_telling JOURNAL_STREAM=1:2 || return 1
    "${client[@]}" stop > "$scratch/former" &
    stopped=$!
    until [ "$(ps -o stat= -p "$stopped" | cut -c1)" = T ]; do
        kill -0 "$stopped" && sleep 0.05 || return 1
    done
    sleep 4
    until "${client[@]}" > "$scratch/newer" 2> "$scratch/out"; do
        said "process $stopped holds its lock and does not continue" || return 1
    done
    ! cmp -s "$scratch/former" "$scratch/newer" &&
        grep -q "^myrd: process $stopped holds the NIC's lock and does not continue" "$told"
}
goes_on() { kill -CONT "$stopped" && wait "$stopped" && "${client[@]}" > "$scratch/out" && cmp -s "$scratch/out" "$scratch/newer"; }
check "a client is stopped while it holds the NIC's lock: new clients get a new NIC" stops_inside
check "the client is continued and can still use its NIC" goes_on
check "the daemon logs in the foreground and ends on SIGTERM" tells "myrd: " "myrd: "
check "a daemon under systemd starts" begin_telling JOURNAL_STREAM="$(stat -c %d:%i "$told")"
check "the messages of a daemon under systemd have levels" tells "<5>" "<6>"
check "a daemon without systemd starts" begin_telling JOURNAL_STREAM=1:2

# A job uses up the memory of the NIC, and frees it. The next job must be able to use the NIC.
begin_small() {
    "$myrd" --foreground --socket "$scratch/open/small.sock" --network lo --memory 1 > "$scratch/small" 2>&1 &
    small=$!
    until grep -q "serves" "$scratch/small"; do
        kill -0 "$small" && sleep 0.05 || return 1
    done
}
filled_twice() {
    local rc=0 job
    for job in 1 2; do
        "$daemon_client" "$scratch/open/small.sock" fill > "$scratch/out" 2>&1 || rc=$?
    done
    kill -TERM "$small" && wait "$small" && [ "$rc" = 0 ]
}
check "a daemon with little memory starts" begin_small
check "clients use up its memory, one after the other" filled_twice

# The NIC is broken while there is no network. The daemon continues, and opens another NIC when the network is back.
losing=$scratch/losing
until_lost() { # TEXT
    until grep -q "$1" "$losing"; do
        kill -0 "$loser" && sleep 0.05 || return 1
    done
}
network_lost() {
    # shellcheck disable=SC2016 # expanded there
    unshare --net bash -c 'ip link set lo up && exec "$@"' bash "$myrd" --foreground --network lo \
        --socket "$scratch/open/lost.sock" > "$losing" 2>&1 &
    loser=$!
    local client=("$daemon_client" "$scratch/open/lost.sock") stopped
    until_lost "serves" || return 1
    "${client[@]}" stop > "$scratch/out" &
    stopped=$!
    until [ "$(ps -o stat= -p "$stopped" | cut -c1)" = T ]; do
        kill -0 "$stopped" && sleep 0.05 || return 1
    done
    nsenter --net="/proc/$loser/ns/net" ip link set lo down || return 1
    kill -KILL "$stopped"
    wait "$stopped" 2> /dev/null
    until_lost "cannot open another NIC, and tries again when a client comes: there is no network" || return 1
    ! "${client[@]}" > "$scratch/out" 2>&1 && said "there is no network to use" || return 1
    nsenter --net="/proc/$loser/ns/net" ip link set lo up || return 1
    "${client[@]}" > "$scratch/out" 2>&1 && kill -TERM "$loser" && wait "$loser"
}
check "the network is lost while the NIC is replaced" network_lost

# Connects as another user, whom the daemon must refuse. The permissions of the socket would already refuse this user,
# so the test relaxes them.
other_user() { # TIMES
    chmod 711 "$scratch"
    chmod 777 "$scratch/open/myrd.sock"
    setpriv --reuid 65534 --regid 65534 --clear-groups perl -MSocket -e '
        for (1 .. $ARGV[1]) {
            socket(S, AF_UNIX, SOCK_SEQPACKET, 0) && connect(S, sockaddr_un($ARGV[0])) or die "$!\n";
            recv(S, $welcome, 1000, 0);
        }
        print substr($welcome, 8);' "$scratch/open/myrd.sock" "$1"
}
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups perl -MSocket -e '' 2> /dev/null; then
    other_user 12 > "$scratch/out" 2>&1
    check "another user is refused" said "another user's"
    refused() { # NUMBER
        grep -q "^myrd: refuses: the process is another user's (process [0-9]* of user 65534; refusal number $1)$" "$told"
    }
    check "the daemon logs the first refusal" refused 1
    check "the daemon logs the tenth refusal" refused 10
    check "the daemon does not log every refusal" [ "$(grep -c refuses "$told")" = 2 ]
fi
check "the messages of a daemon without systemd have no levels" tells "myrd: " "myrd: "
bad_dir() {
    mkdir "$scratch/bad" && mkdir -m 777 "$scratch/bad/nicbarr" && chmod 777 "$scratch/bad/nicbarr"
    XDG_RUNTIME_DIR=$scratch/bad "$myrd"
    [ $? = 1 ] && said "not a directory that only you can write to"
} > "$scratch/out" 2>&1
check "a directory that others can write to is refused" bad_dir
link_local() { # an IPv6 link-local address, which is valid only together with the name of an interface
    # shellcheck disable=SC2016 # expanded there
    unshare --net bash -c 'ip link set lo up && ip link add v0 type veth peer name v1 && ip link set v0 up &&
        ip address add fe80::1/64 dev v0 && ! "$1" --check 2>&1' bash "$myrd" > "$scratch/out" 2>&1 &&
        said "no interface but loopback has an address"
}
check "myrd prints a message if a host has only a link-local address" link_local
no_network() { ! "$myrd" --socket "$scratch/no.sock" --network nosuch0 && said "nosuch0" && [ ! -e "$scratch/no.sock" ]; } \
    > "$scratch/out" 2>&1
check "myrd prints a message if the network does not exist" no_network

ends() {
    # shellcheck disable=SC2046 # words
    kill -TERM $(status '" ".join(str(p) for p in pids("myrd"))') || return 1
    until_status 'len(pids("myrd")) == 0'
    [ -z "$(find /run/nethosts "$scratch" -name myrd.sock)" ]
}
check "SIGTERM ends the daemons and removes their sockets" ends
finish
