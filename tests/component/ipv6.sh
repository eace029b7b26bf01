#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, hosts with IPv6 and without IPv4 cannot use the NICs: the soft NIC (a job's own and a daemon's) for
# barriers, data and messages, and the kernel NIC for barriers and data; or tools do not show their addresses. If hosts
# have different families, the hosts that can reach each other must use the NICs. (tests/unit/kernel6_test checks bit by
# bit which packets the kernel's program accepts.)
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/drawn_common.sh"

is_open_mpi 4 || { echo "skip: hosts of IPv6 need 4.1's launcher"; exit 77; }
if [ ! -e /proc/net/if_inet6 ] || ! ompi_info --all --parsable | grep -q '^options:ipv6:yes'; then
    echo "skip: this kernel, or this Open MPI, has no IPv6"
    exit 77
fi
for component in btl_myr mtl_myr; do
    ln -s "$builddir/$component/.libs/mca_$component.so" "$scratch/components/"
done

drawn data --first 2
drawn messages --flavour '{"messages": true, "away": true}'
soft=(--mca coll_nicbarr_verbose 1 --mca coll_nicbarr_nic soft)
ledger=("$programs/barrier_ledger" --iterations 200 --ledger "$scratch/ledger" --seed "$seed")
plays="MPI_Barrier on .* nodes: dissemination:1@soft"
unsaid() { ! said "$1"; }
on_three() { # ARGUMENT...
    on_hosts --ipv6 3 2 "${soft[@]}" --mca coll_nicbarr_algorithm dissemination:1 "$@" "${ledger[@]}"
}
on_three_through() { # NETHOSTS-OPTION...
    on_hosts --ipv6 "$@" 3 2 "${soft[@]}" --mca coll_nicbarr_algorithm dissemination:1 "${ledger[@]}"
}

# ---- no IPv4

check "barriers on three hosts with IPv6 only" on_three
check "the NICs execute the barriers" said "$plays"
check "barriers with a list of networks, of which one exists" on_three --mca coll_nicbarr_network 10.0.0.0/8,fd77::/64
check "the NICs execute these barriers" said "$plays"
for other in fd78::/64 10.0.0.0/8 fe80::/10; do
    check "barriers with $other, which is not the hosts' network" on_three --mca coll_nicbarr_network $other
    check "a message reports that the network does not exist" said "there is no network to use (no address of this machine is in $other)"
    check "the NICs do not execute barriers" unsaid "$plays"
done
check "barriers while packets are lost, duplicated, reordered and corrupted" on_three_through --loss 5 --duplicate 5 --reorder 5 --corrupt 5 --seed "$seed"
check "the NICs execute barriers nevertheless" said "$plays"
check "the switch has injected many faults" said "^switch: .* udp [0-9]*[0-9][0-9][0-9], .* lost [1-9].* repaired [1-9]"
check "collectives with data over IPv6 have correct results in all bits" on_hosts --ipv6 3 1 "${soft[@]}" --mca coll_nicbarr_algorithm dissemination:1 \
    --mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_bcast ring "${data[@]}"
check "the NICs execute the collectives" said "MPI_Allreduce up to .* on 3 nodes: dissemination:1@soft"
check "messages of btl/myr over IPv6" on_hosts --ipv6 3 1 --mca pml ob1 --mca btl myr,self "${messages[@]}"
check "messages of mtl/myr over IPv6" on_hosts --ipv6 3 1 --mca pml cm --mca mtl myr "${messages[@]}"
cat > "$scratch/fragments.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_MPIRUN" "$@" && "$NETHOSTS_RUN" 1 grep Ip6FragCreates /proc/net/snmp6
EOS
check "messages of btl/myr over IPv6 with a smaller MTU" on_hosts --ipv6 --mtu 1400 --shell 2 1 bash "$scratch/fragments.sh" \
    --mca pml ob1 --mca btl myr,self "${messages[@]}"
check "no packet is fragmented" said "^Ip6FragCreates[[:space:]]*0$"

# ---- the benchmark of UDP round trips, over either family

cat > "$scratch/round_trip.sh" << 'EOS'
#!/bin/bash
set -eu
srcdir=$1 scratch=$2 PATH=$builddir/bench:$PATH
. "$srcdir/bench/udp_round_trip.sh"
udp_round_trip 3
echo ok
EOS
for family in --ipv6 --switch; do
    check "round trips of UDP packets ($family)" on_hosts $family --shell 2 bash "$scratch/round_trip.sh" "$srcdir" "$scratch"
    check "polling is measured" said "^polling .*[1-9]"
    check "blocking is measured" said "^blocking .*[1-9]"
done

# ---- tools and daemons on hosts with IPv6 only

export NICBARR_LIBEXECDIR=$scratch/libexec
mkdir -p "$NICBARR_LIBEXECDIR/tools/probe"
ln -s "$srcdir/ompi" "$NICBARR_LIBEXECDIR/"
ln -s "$srcdir/tools/job.sh" "$NICBARR_LIBEXECDIR/tools/"
ln -s "$builddir/tools/probe/nicbarr_probe" "$NICBARR_LIBEXECDIR/tools/probe/"
cat > "$scratch/tools.sh" << 'EOS'
#!/bin/bash
set -eu
unset XDG_RUNTIME_DIR
for host in 1 2; do
    "$NETHOSTS_RUN" $host "$builddir/myrd/myrd" --port 7312
done
"$builddir/tools/nicbarr" status
"$builddir/tools/nicbarr" status --json
"$builddir/tools/nicbarr" status --prometheus
"$NETHOSTS_RUN" 1 "$builddir/tools/nicbarr" doctor || [ $? = 1 ]
"$NETHOSTS_MPIRUN" --mca coll_nicbarr_nic daemon "${@}"
EOS
check "a job on hosts with a daemon each" on_hosts --ipv6 --shell 2 2 bash "$scratch/tools.sh" --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm dissemination:1 "${ledger[@]}"
check "nicbarr status shows the address of the daemon" said "soft, fd77::2/64 port 7312"
check "the JSON contains the prefix" said '"prefix":[[:space:]]*64'
check "the metrics contain the address" said 'nic="\[fd77::2\]:7312"'
check "nicbarr doctor shows the address" said "at fd77::1 UDP port 7312"
check "the NIC of the daemon executes the barriers of a job" said "$plays"

# ---- the kernel NIC over IPv6

"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1 # over IPv4: if this works, IPv6 must work as well
kernels=$?
[ $kernels != 77 ] || echo "not played by the kernels: $(cat "$scratch/out")"
by_kernels() { # NETHOSTS-ARGUMENT...
    on_hosts --ipv6 --kernel "$@"
}
kernel=(--mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm dissemination:1@kernel)
too_long() {
    timeout -k 5 "$patience" "$nethosts" --ipv6 --kernel --mtu 1280 3 1 "${kernel[@]}" --mca coll_nicbarr_allreduce \
        exchange "$builddir/bench/nicbarr_bench" allreduce -c 1 -m 2048:2048 > "$scratch/out" 2>&1
}
plays_there="MPI_Barrier on .* nodes: dissemination:1@kernel"
# A host without a daemon sends unsolicited packets from the NICs' port: random bytes of the length of a NIC's packets,
# and valid packets with an unknown key; all with correct checksums.
cat > "$scratch/stranger.py" << 'PYTHON'
import random, socket, struct, sys, time
random.seed(int(sys.argv[1]))
out = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
while True:
    try:
        out.bind(("fd77::3", 7077))
        break
    except OSError: # the daemon still runs
        time.sleep(0.01)
while True:
    for host in 1, 2:
        head = struct.pack("=HBBIQ", 0x4d59, 7, random.randint(1, 8), 0, random.getrandbits(64))
        out.sendto(random.choice((b"", head)).ljust(32, b"%c" % random.getrandbits(8)), ("fd77::%d" % host, 7077))
PYTHON
cat > "$scratch/stranger.sh" << 'EOS'
#!/bin/bash
export NETHOSTS_HOSTS=2
"$NETHOSTS_RUN" 3 bash -c 'pkill -TERM -x --ns $$ --nslist net myrd'
"$NETHOSTS_RUN" 3 python3 "$STRANGER" 7 &
stranger=$!
"$NETHOSTS_MPIRUN" "$@"
status=$?
kill $stranger
"$NETHOSTS_RUN" 1 "$builddir/tools/nicbarr" status
exit $status
EOS
export STRANGER=$scratch/stranger.py
# One daemon per family.
cat > "$scratch/families.sh" << 'EOS'
#!/bin/bash
for host in 1 2; do
    "$NETHOSTS_RUN" $host ip address add 10.78.0.$host/24 dev eth0
done
"$NETHOSTS_RUN" 1 "$builddir/myrd/myrd" --kernel --network 10.78.0.0/24 || exit
"$NETHOSTS_RUN" 2 "$builddir/myrd/myrd" --kernel --network fd77::/64 || exit
exec "$NETHOSTS_MPIRUN" "$@"
EOS
if [ $kernels != 77 ]; then
    check "barriers of the kernel NIC" by_kernels 3 2 "${kernel[@]}" "${ledger[@]}"
    check "the NICs execute the barriers" said "$plays_there"
    check "barriers while packets are lost, duplicated, reordered and corrupted" by_kernels --loss 5 --duplicate 5 --reorder 5 --corrupt 5 \
        --seed "$seed" 3 2 "${kernel[@]}" "${ledger[@]}"
    check "the kernels execute barriers nevertheless" said "$plays_there"
    check "the switch has injected many faults" said "^switch: .* lost [1-9].* repaired [1-9]"
    check "collectives with data by the kernel NIC have correct results in all bits" by_kernels 3 1 "${kernel[@]}" --mca coll_nicbarr_allreduce exchange \
        --mca coll_nicbarr_bcast ring "${data[@]}"
    check "the kernels execute the collectives" said "MPI_Allreduce up to .* on 3 nodes: dissemination:1@kernel"
    check "the kernels forward broadcasts" said "MPI_Bcast up to .* on 3 nodes: dissemination:1@kernel"
    check "the kernel NIC with the smallest MTU of IPv6" by_kernels --mtu 1280 3 1 "${kernel[@]}" \
        --mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_bcast ring "${data[@]}"
    check "reductions that need longer packets than this MTU work" too_long
    check "a message reports that packets exceed the MTU" \
        said "without the kernel NIC: myrd refuses: packets of [0-9]* bytes do not fit into the interface's MTU of 1280"
    check "barriers while a host outside the job sends packets" by_kernels --shell 3 2 bash "$scratch/stranger.sh" "${kernel[@]}" "${ledger[@]}"
    check "the NICs execute the barriers in spite of these packets" said "$plays_there"
    check "the NICs count these packets as dropped_foreign" said "[1-9][0-9]* *dropped_foreign"
    check "nicbarr status shows the address of the kernel NIC" said "kernel, fd77::1/64 port 7077"
    check "a job whose daemons use IPv4 on one host and IPv6 on the other" on_hosts --ipv6 --shell 2 1 bash "$scratch/families.sh" \
        "${kernel[@]}" --mca coll_nicbarr_nic kernel "${ledger[@]}"
    check "the NICs are not used, and a message gives the remedy" said "give all myrd --kernel of a network the same --network"
fi

# ---- each host has a container bridge with IPv4, whose address is the same on all hosts

cat > "$scratch/bridge.sh" << 'EOS'
#!/bin/bash
for host in 1 2 3; do
    "$NETHOSTS_RUN" $host bash -c 'ip link add docker0 type veth peer name container &&
        ip address add 172.17.0.1/16 dev docker0 && ip link set docker0 up && ip link set container up' || exit
done
exec "$NETHOSTS_MPIRUN" "$@"
EOS
check "a job on hosts with such a bridge" on_hosts --ipv6 --shell 3 2 bash "$scratch/bridge.sh" "${soft[@]}" \
    --mca coll_nicbarr_algorithm dissemination:1 "${ledger[@]}"
check "the bridge does not prevent the use of IPv6" said "$plays"

# ---- some hosts have both IPv4 and IPv6

cat > "$scratch/mixed.sh" << 'EOS'
#!/bin/bash
for host in 2 3; do
    "$NETHOSTS_RUN" $host bash -c 'echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6 &&
        case $2 in
            yes) ip address add "10.77.0.$1/24" dev eth0 ;;
            *) ip address add "fd77::$1/64" dev eth0 nodad ;;
        esac' - $host "$NETHOSTS_IPV6" || exit
done
exec "$NETHOSTS_MPIRUN" "$@"
EOS
mixed() { # options in `first` determine the only family of the first host
    on_hosts "${first[@]}" --shell 3 2 bash "$scratch/mixed.sh" "${soft[@]}" --mca coll_nicbarr_algorithm dissemination:1 \
        "$@" "${ledger[@]}"
}
first=(--ipv6)
check "a job of which one host has only IPv6, and two have both families" mixed
check "the NICs are not used, and a message gives the reason" said "one of them uses IPv4 and the other one IPv6"
check "a job on these hosts with the IPv6 network specified" mixed --mca coll_nicbarr_network fd77::/64
check "all hosts use the NICs" said "${plays/ on / on MPI_COMM_WORLD, }"
first=()
check "a job of which one host has only IPv4, and two have both families" mixed
check "all hosts use IPv4" said "$plays"
check "a job with a network that one host does not have" mixed --mca coll_nicbarr_network fd77::/64
check "a message names the missing network" said "no address of this machine is in fd77::/64"
check "the NICs do not execute barriers of all hosts" unsaid "${plays/ on / on MPI_COMM_WORLD, }"
check "a job with both networks specified, IPv6 first" mixed --mca coll_nicbarr_network fd77::/64,10.77.0.0/24
check "all hosts use the NICs" said "$plays"
finish
