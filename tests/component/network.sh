#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job hangs or gives no reason on a network that the NICs cannot use. All processes must decline
# together with one clear message, and use the barrier of Open MPI.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

# With 300 barriers the ledger has a phase that uses all communicators.
ledger="$programs/barrier_ledger --iterations 300 --ledger $scratch/ledger --seed $seed"
said_so() { # REASON: one message per communicator must contain it; the rank 0 of each communicator prints it
    check "a message gives the reason: $1" said "nicbarr: barriers on .*are left to Open MPI: .*$1"
    check "the message is printed once for each communicator: $1" test -z "$(sed -n "s/.*nicbarr: barriers on \(.*\) are left to Open MPI.*/\1/p" \
        "$scratch/out" | sort | uniq -d | grep MPI_COMM_WORLD)"
}
# The messages that NICs execute barriers, on any communicator of several hosts, and on MPI_COMM_WORLD. The latter is
# for cases in which only some of the hosts cannot communicate.
plays="MPI_Barrier on .* nodes: [^o]"
plays_world="MPI_Barrier on MPI_COMM_WORLD, .* nodes: [^o]"
not_said() { ! said "$1"; }
on_three() { # ARGUMENT...
    # shellcheck disable=SC2086 # words
    on_hosts 3 2 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm dissemination:1 "$@" $ledger
}

check "a job with a network that does not exist" on_three --mca coll_nicbarr_network 192.0.2.0/24
said_so "there is no network to use"
check "the NICs do not execute barriers" not_said "$plays"
check "a job with an interface that does not exist" on_three --mca coll_nicbarr_network eth7
said_so "there is no network to use"
check "the NICs do not execute barriers" not_said "$plays"
check "a job with an IPv6 network on hosts without IPv6" on_three --mca coll_nicbarr_network fd00::/64
said_so "no address of this machine is in fd00::/64"
check "the NICs do not execute barriers" not_said "$plays"
check "a job with an invalid network" on_three --mca coll_nicbarr_network fd00::/129
said_so '"fd00::/129" is neither an interface nor a network'
check "the NICs do not execute barriers" not_said "$plays"
check "a job with the loopback interface only" on_three --mca coll_nicbarr_network lo
said_so "do not get through"
check "the NICs do not execute barriers" not_said "$plays"
check "a job with the network of the hosts, by the name of the interface" on_three --mca coll_nicbarr_network eth0
check "the NICs execute the barriers" said "$plays"
check "a job with the network of the hosts, by its address" on_three --mca coll_nicbarr_network 10.77.0.0/16
check "the NICs execute the barriers" said "$plays"

# bridged.sh ARGUMENT...: a job on hosts that reach each other as if through a router, and each of which has a bridge
# with the same address.
cat > "$scratch/bridged.sh" << 'EOS'
#!/bin/bash
for host in $(seq 1 "$NETHOSTS_HOSTS"); do
    "$NETHOSTS_RUN" "$host" ip -batch - << END || exit
link add docker0 type bridge
address add 172.17.0.1/16 dev docker0
link set docker0 up
address del 10.77.0.$host/24 dev eth0
address add 10.77.0.$host/32 dev eth0
route add 10.77.0.0/24 dev eth0
END
done
exec "$NETHOSTS_MPIRUN" "$@"
EOS
chmod +x "$scratch/bridged.sh"
# shellcheck disable=SC2086 # words
check "a job on hosts with a bridge that has the same address on all of them" on_hosts --shell 3 2 "$scratch/bridged.sh" \
    --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm dissemination:1 $ledger
check "the bridge is not used between hosts" said "$plays_world"

# taken.sh PORT ARGUMENT...: a job while the UDP port is in use on the second host.
cat > "$scratch/taken.sh" << 'EOS'
#!/bin/bash
port=$1
shift
"$NETHOSTS_RUN" 2 python3 -c '
import socket, sys, time
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind(("", int(sys.argv[1])))
print("taken", flush=True)
time.sleep(1000)' "$port" > "$TAKEN" &
until grep -q taken "$TAKEN"; do sleep 0.1; done
exec "$NETHOSTS_MPIRUN" "$@"
EOS
chmod +x "$scratch/taken.sh"
export TAKEN=$scratch/taken
# shellcheck disable=SC2086 # words
check "a job with a UDP port that is in use on one host" on_hosts --shell 3 2 "$scratch/taken.sh" 7312 --mca coll_nicbarr_port 7312 \
    --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm dissemination:1 $ledger
said_so "cannot open UDP port 7312"
check "the NICs do not execute barriers" not_said "$plays"
check "a job with a UDP port that is free" on_three --mca coll_nicbarr_port 7312
check "the NICs execute the barriers" said "$plays"

# Detecting a firewall takes seconds, so not every communicator may try it. The program creates two further
# communicators later: either the first of them does not try, or it does, and the second one does not.
spared() { check "a later communicator does not test the network again" grep -q "packets did not get through for an earlier" "$scratch/report"; }
# shellcheck disable=SC2086 # words
check "a job with a firewall between two hosts" on_hosts --cut 1-2 3 2 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_report "$scratch/report" --mca coll_nicbarr_algorithm dissemination:1 \
    $ledger --late 2
said_so "do not get through"
check "the NICs do not execute barriers" not_said "$plays_world"
spared
rm "$scratch/report"
# shellcheck disable=SC2086 # words
check "a job with a firewall between two hosts, algorithms chosen by tuning" on_hosts --cut 2-3 3 2 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_report "$scratch/report" --mca coll_nicbarr_tune_after 3 \
    "$programs/barrier_ledger" --iterations 1000 --ledger "$scratch/ledger" --late 2 \
    --seed "$seed"
said_so "do not get through"
check "the NICs do not execute barriers" not_said "$plays_world"
spared

# Only the kernel NIC is allowed, and no host has one. (Each host has a /run of its own.)
unset NICBARR_KERNEL_SOCKET
check "a job that requests the kernel NIC, which does not run" on_three --mca coll_nicbarr_nic kernel
said_so "process [0-9]*: "
check "the NICs do not execute barriers" not_said "$plays"
# shellcheck disable=SC2086 # words
check "a job with an algorithm for the kernel NIC, which does not run" on_hosts 3 2 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm dissemination:1@kernel $ledger
said_so "not all of the nodes have the kernel NIC"
check "the NICs do not execute barriers" not_said "$plays"

# More processes on a node than any table of the NIC has entries.
# shellcheck disable=SC2086 # words
check "a job with 20 processes on each host" on_hosts 2 20 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm pairwise \
    "$programs/barrier_ledger" --iterations 50 --ledger "$scratch/ledger" --seed "$seed"
check "the NICs execute the barriers" said "$plays"
finish
