# SPDX-License-Identifier: BSD-3-Clause
# Tests nicbarr under further conditions of real clusters: network cards with several queues, with and without offloads;
# VLANs, bridges, bonds, teams and IPv6; interfaces and clocks that change while a job runs; firewalls; users with
# different UIDs; a tuning cache in a home directory on NFS; and a host that reboots. machines.sh sources this file
# while both machines run and have a daemon of the kernel NIC.
# shellcheck shell=bash disable=SC2154

# mpirun and Open MPI's own messages use only the network of ssh.
export OMPI_MCA_oob_tcp_if_include=10.79.0.0/24 OMPI_MCA_btl_tcp_if_include=10.79.0.0/24
there() { # COMMAND...
    # shellcheck disable=SC2029 # expanded here
    ssh machine2 "$*"
}
both_do() { # COMMAND, in which # stands for the number of the machine
    eval "${1//#/1}" && there "${1//#/2}"
}
no_daemons() {
    on_both pkill -x myrd
    until ! pgrep -x myrd && ! there pgrep -x myrd; do sleep 0.2; done
} > /dev/null 2>&1
daemons_at() { # NETWORK
    no_daemons
    on_both "$builddir/myrd/myrd" --kernel --network "$1" > "$scratch/out" 2>&1
}
# Both kinds of NIC execute barriers on a network that ssh does not use.
by_both() { # WHAT NETWORK
    check "$1: the daemon of the kernel NIC starts on both machines" daemons_at "$2"
    for nic in soft kernel; do
        check "$1: barriers by the $nic NIC" played 1 "dissemination:1@$nic" --mca coll_nicbarr_network "$2" "${ledger[@]}"
    done
}
# Executes a command while a job runs whose barriers the NIC executes. The job must end with correct barriers.
meanwhile() { meanwhile_on 10.79.0.0/24 "$@"; }
meanwhile_on() { # NETWORK NIC COMMAND...
    begun "$2" --mca coll_nicbarr_network "$1"
    "${@:3}"
    sleep 1
    touch "$scratch/end"
    wait "$job" && said "^ok" && said "MPI_Barrier on .* 2 nodes: dissemination:1@$2"
}

# ---- two processors receive packets of one group

# Prints the number of interrupts of each receive queue of the first card. (Only virtio-net-pci has several queues.)
calls() { awk '/virtio[0-9]*-input\./ { calls = 0; for (i = 2; $i ~ /^[0-9]+$/; i++) calls += $i; print calls }' /proc/interrupts; }
many_queues() { # NIC
    local before after
    mapfile -t before < <(calls)
    played 2 "dissemination:1@$1" --bind-to core "${ledger[@]}" || return
    mapfile -t after < <(calls)
    echo "calls of the queues: ${before[*]}, then ${after[*]}" >> "$scratch/out"
    [ ${#after[@]} = 2 ] && [ $((after[0] - before[0])) -gt 50 ] && [ $((after[1] - before[1])) -gt 50 ]
}
if ethtool -i eth0 | grep -q virtio_net; then
    for nic in soft kernel; do
        check "packets arrive in two queues: barriers by the $nic NIC" many_queues $nic
    done
fi

# ---- offloads of the card: checksums, segmentation, and merging of received packets

# No card supports all of them.
gathering() { # on|off
    both_do "for what in tx rx tso gso gro lro rx-gro-hw rx-udp-gro-forwarding rx-gro-list; do ethtool -K eth0 \$what $1; done"
} > "$scratch/ethtool" 2>&1
gathers() { [ "$(both_do "ethtool -k eth0" | grep -cE "^(tx-checksumming|generic-(segmentation|receive)-offload): $1")" = 6 ]; }
for state in off on; do
    gathering $state
    check "offloads are switched $state" gathers $state
    for nic in soft kernel; do
        check "barriers by the $nic NIC, offloads $state" played 2 "dissemination:1@$nic" "${ledger[@]}"
    done
    check "messages of btl/myr by the soft NIC" runs 1 --mca pml ob1 --mca btl myr,self "${messages[@]}"
done
both_do "ethtool -K eth0 rx-udp-gro-forwarding off rx-gro-list off"

# ---- changes of the interface and of the clock while a job runs

down_and_up() { there "ip link set eth0 down; sleep 1; ip link set eth0 up"; }
new_mac() { there ip link set eth0 address 02:4e:49:43:02:99; }
small_mtu() { there ip link set eth0 mtu 1400; }
later() { there date -s +1hour; } > /dev/null
for nic in soft kernel; do
    check "the interface goes down and up: the job continues, $nic NIC" meanwhile $nic down_and_up
    check "the clock is set forward by an hour: the job continues, $nic NIC" meanwhile $nic later
    check "the hardware address changes: the job continues, $nic NIC" meanwhile $nic new_mac
    there ip link set eth0 address 02:4e:49:43:02:02
    check "the MTU becomes smaller on one machine: the job continues, $nic NIC" meanwhile $nic small_mtu
    check "collectives with data, smaller MTU on one machine, $nic NIC" runs 1 --mca coll_nicbarr_nic $nic "${ours[@]}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
    there ip link set eth0 mtu 1500
done

# ---- a firewall on the second machine that drops UDP

timed() { # NAME COMMAND...
    local began=$SECONDS
    check "$@"
    echo "     (after $((SECONDS - began)) s)"
}
measured() { runs 1 --mca coll_nicbarr_nic "$1" --mca coll_nicbarr_tune_after 1 "${ledger[@]}"; }
for nic in soft kernel; do
    timed "a job without a firewall, $nic NIC" measured $nic
done
there "nft add table inet f; nft add chain inet f in '{ type filter hook input priority 0; }'; nft add rule inet f in meta l4proto udp drop" \
    > "$scratch/out" 2>&1
check "a firewall that drops UDP is installed" [ ! -s "$scratch/out" ]
for nic in soft kernel; do
    timed "the firewall drops UDP: the job uses Open MPI's barrier, $nic NIC" measured $nic
    check "a message suggests a firewall as the reason, $nic NIC" said "firewall"
done
there nft delete table inet f

# ---- a user with different UIDs, /tmp in memory, and a tuning cache in a home directory on NFS

home=/run/home
# The server had no clients before, so its grace period is ended at once (v4_end_grace).
by_nfs() {
    mkdir $home && chmod 1777 $home && mount -t nfsd nfsd /proc/fs/nfsd && exportfs -i -o "rw,no_root_squash,insecure,fsid=0" "*:$home" &&
        rpc.mountd && rpc.nfsd --no-nfs-version 3 1 && echo Y > /proc/fs/nfsd/v4_end_grace &&
        there "mkdir $home && mount -i -t nfs4 -o addr=10.79.0.1,clientaddr=10.79.0.2,vers=4.2 10.79.0.1:/ $home"
} > "$scratch/out" 2>&1
check "the second machine mounts a home directory by NFS" by_nfs
both_do "mount -t tmpfs -o mode=1777 none /tmp; chmod 666 $MACHINES_LEDGER; echo someone:x:400#:100::$home/#:/bin/bash >> /etc/passwd
    mkdir -p $home/#/.ssh; cp /run/ssh/.key $home/#/.ssh/; echo 'IdentityFile ~/.ssh/.key' > $home/#/.ssh/config; chown -R 400#:100 $home/#"
chmod 755 "$scratch"
as=(setpriv --reuid 4001 --regid 100 --clear-groups env "HOME=$home/1" USER=someone "XDG_CACHE_HOME=$home")
two_numbers() { start 1 id -u && said "^4001" && said "^4002"; }
check "a job of a user whose UIDs on the machines differ" two_numbers
for nic in soft kernel; do
    check "barriers of that user with /tmp in memory, $nic NIC" played 2 "dissemination:1@$nic" "${ledger[@]}"
done
as=()
both_do "umount /tmp"

# The budget is large, so that there are measurements to be stored in the cache.
cached() {
    XDG_CACHE_HOME=$home runs 1 --mca coll_nicbarr_cache auto --mca coll_nicbarr_tune_after 3 \
        --mca coll_nicbarr_tune_budget 30000 -x XDG_CACHE_HOME "${ledger[@]}"
}
check "a job whose tuning cache is in the shared home directory" cached
check "a message reports the measurement" said "MPI_Barrier on .*, 2 processes on 2 nodes: .*(measured"
cache=$home/nicbarr/tuning.jsonl
check "the cache contains the measurement, and its choice can be changed" rewrite_cache "$cache" "$cache" 0.99 pairwise@soft
check "another job with this cache" cached
check "the job uses the choice of the cache" said "MPI_Barrier on .*, 2 processes on 2 nodes: pairwise@soft (cache)"

# ---- a host that reboots

there umount -l $home
"$MACHINES_MONITOR" 2 quit
"$MACHINES_MONITOR" 2 start
until there true 2> /dev/null; do sleep 0.5; done
there "$builddir/myrd/myrd" --kernel --network 10.79.0.0/24
for nic in soft kernel; do
    check "barriers after the second machine has rebooted, $nic NIC" played 1 "dissemination:1@$nic" "${ledger[@]}"
done

# ---- other interfaces

# The second machine has an additional address in a network that does not reach the other one.
there "ip link set eth1 up; ip address add 10.85.0.2/24 dev eth1"
for nic in soft kernel; do
    check "barriers while the second machine has an unreachable second address, $nic NIC" played 1 "dissemination:1@$nic" "${ledger[@]}"
done
there "ip address del 10.85.0.2/24 dev eth1"

# Each machine gets a second address, on a second interface: if it were on the same interface, Open MPI 4.1 would not
# connect by TCP, because it uses only one address of an interface.
both_do "ip link set eth1 up; ip address add 10.81.0.#/24 dev eth1"
by_both "each machine has two addresses" 10.81.0.0/24
both_do "ethtool -C eth1 rx-usecs 1000"
by_both "interrupt coalescing, at most 1000 interrupts a second" 10.81.0.0/24
both_do "ethtool -C eth1 rx-usecs 3; ip address del 10.81.0.#/24 dev eth1"

both_do "ip link add br0 type bridge; ip link set eth1 master br0; ip link set eth1 up; ip address add 10.82.0.#/24 dev br0; ip link set br0 up"
by_both "a bridge over the card" 10.82.0.0/24
no_daemons
both_do "ip link del br0; ip link set eth1 down"

# A card cannot become the active one before its link is up.
first_slave() { both_do "until ip link set bond1 type bond active_slave eth1; do sleep 0.2; done"; } > /dev/null 2>&1
# The bond consists of eth1 and of a VLAN interface over eth0, because mpirun needs eth0 itself.
both_do "ip link add link eth0 name eth0.6 type vlan id 6; ip link set eth0.6 down; ip link add bond1 type bond mode active-backup miimon 100 fail_over_mac active; ip link set eth1 master bond1; ip link set eth0.6 master bond1; ip address add 10.83.0.#/24 dev bond1; ip link set bond1 up"
first_slave
by_both "a bond" 10.83.0.0/24
# The card is switched off, because on a busy machine qemu's e1000e did not report that its cable was disconnected.
fail_over() { both_do "ip link set eth1 down"; }
for nic in soft kernel; do
    check "the active card of a bond goes down: the job continues, $nic NIC" meanwhile_on 10.83.0.0/24 $nic fail_over
    both_do "ip link set eth1 up"
    first_slave
done
no_daemons
both_do "ip link del bond1; ip link del eth0.6"

# Without the daemon teamd, which would set the ports' hardware addresses and monitor their links, the test does both.
active_port() { both_do "teamnl team1 setoption activeport \$(cat /sys/class/net/$1/ifindex)"; }
team() {
    both_do "ip link add link eth0 name eth0.7 type vlan id 7; ip link add team1 address 02:4e:49:43:07:0# type team; teamnl team1 setoption mode activebackup
        ip link set eth1 down; for port in eth1 eth0.7; do ip link set \$port address 02:4e:49:43:07:0#; ip link set \$port master team1; done
        ip address add 10.84.0.#/24 dev team1; ip link set team1 up" && active_port eth1
}
check "a team of two ports is created" team
by_both "a team" 10.84.0.0/24
for nic in soft kernel; do
    active_port eth1
    check "the other port of a team becomes active: the job continues, $nic NIC" meanwhile_on 10.84.0.0/24 $nic active_port eth0.7
done
no_daemons
both_do "ip link del team1; ip link del eth0.7"

# ---- IPv6

of_6=fd79::/64
by_both "IPv6" $of_6
for nic in soft kernel; do
    check "communicators are created and freed, IPv6, $nic NIC" played 1 "pairwise@$nic" --mca coll_nicbarr_network $of_6 "${shapes[@]}"
    check "collectives with data over IPv6, $nic NIC" by_6 runs 1 --mca coll_nicbarr_nic $nic --mca coll_nicbarr_network $of_6 "${ours[@]}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
    check "the $nic NIC executes the collectives over IPv6" carried 2 dissemination:1@$nic Allreduce Allgather Bcast Scatter
done
messages_over_6() {
    by_6 runs 1 --mca pml ob1 --mca btl myr,self --mca btl_myr_network $of_6 "${messages[@]}"
}
for state in off on; do
    gathering $state
    check "offloads are switched $state" gathers $state
    for nic in soft kernel; do
        check "barriers by the $nic NIC over IPv6, offloads $state" by_6 played 2 "dissemination:1@$nic" --mca coll_nicbarr_network $of_6 "${ledger[@]}"
    done
    check "messages of btl/myr by the soft NIC" messages_over_6
done
both_do "ethtool -K eth0 rx-udp-gro-forwarding off rx-gro-list off"

# When an interface goes down, Linux removes its IPv6 address.
down_and_given_back() { there "ip link set eth0 down; sleep 1; ip link set eth0 up; ip address add fd79::2/64 dev eth0 nodad"; }
for nic in soft kernel; do
    check "the interface goes down and up, IPv6: the job continues, $nic NIC" meanwhile_on $of_6 $nic down_and_given_back
    check "the hardware address changes: the job continues, $nic NIC" meanwhile_on $of_6 $nic new_mac
    there ip link set eth0 address 02:4e:49:43:02:02
    check "the MTU becomes smaller on one machine: the job continues, $nic NIC" meanwhile_on $of_6 $nic small_mtu
    there ip link set eth0 mtu 1500
    check "a cable is disconnected, IPv6: the job continues, $nic NIC" pulled $nic --mca coll_nicbarr_network $of_6
    check "barriers over IPv6 are traced, $nic NIC" traced $nic --mca coll_nicbarr_network $of_6
done

# A machine that receives no ICMPv6 packets cannot resolve the addresses of its neighbours.
measured_over_6() { runs 1 --mca coll_nicbarr_nic "$1" --mca coll_nicbarr_network $of_6 --mca coll_nicbarr_tune_after 1 "${ledger[@]}"; }
there "nft add table inet f; nft add chain inet f in '{ type filter hook input priority 0; }'; nft add rule inet f in meta l4proto ipv6-icmp drop" \
    > "$scratch/out" 2>&1
check "a firewall that drops ICMPv6 is installed" [ ! -s "$scratch/out" ]
on_both ip -6 neighbour flush dev eth0
for nic in soft kernel; do
    timed "the firewall drops ICMPv6: the job uses Open MPI's barrier, $nic NIC" measured_over_6 $nic
    check "a message suggests a firewall as the reason, $nic NIC" said "firewall"
done
there nft delete table inet f
no_daemons
check "the daemon of the kernel NIC starts again on both machines" daemons
