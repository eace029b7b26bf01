# SPDX-License-Identifier: BSD-3-Clause
# What clusters have besides two hosts with a card each: cards with several queues, cards that work for the
# system or do not, firewalls, interfaces of other kinds, interfaces that change while a job runs, clocks that
# differ, users with other numbers, a cache in a home by NFS, a host that reboots, IPv6. To be sourced by
# machines.sh, while both machines are up and have a myrd --kernel.
# shellcheck shell=bash disable=SC2154

# mpirun and Open MPI's own messages keep to ssh's network.
export OMPI_MCA_oob_tcp_if_include=10.79.0.0/24 OMPI_MCA_btl_tcp_if_include=10.79.0.0/24
there() { # COMMAND...
    # shellcheck disable=SC2029 # expanded here
    ssh machine2 "$*"
}
both_do() { # COMMAND: # is the machine's number
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
# Both NICs play where the network is another one than ssh's.
by_both() { # WHAT NETWORK
    check "$1: a myrd --kernel on both" daemons_at "$2"
    for nic in soft kernel; do
        check "$1: barriers by the $nic NIC" played 1 "dissemination:1@$nic" --mca coll_nicbarr_network "$2" "${ledger[@]}"
    done
}
# Something happens while a job runs whose barriers the NIC plays. It loses nothing.
meanwhile() { meanwhile_on 10.79.0.0/24 "$@"; }
meanwhile_on() { # NETWORK NIC COMMAND...
    begun "$2" --mca coll_nicbarr_network "$1"
    "${@:3}"
    sleep 1
    touch "$scratch/end"
    wait "$job" && said "^ok" && said "MPI_Barrier on .* 2 nodes: dissemination:1@$2"
}

# ---- two processors receive for one group

# How often each queue of the first card has called for a processor. (virtio_net: no other driver has several.)
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
        check "two queues and processors receive: barriers by the $nic NIC" many_queues $nic
    done
fi

# ---- what the card does for the system, and what the system gathers

# (No card can all of it.)
gathering() { # on|off
    both_do "for what in tx rx tso gso gro lro rx-gro-hw rx-udp-gro-forwarding rx-gro-list; do ethtool -K eth0 \$what $1; done"
} > "$scratch/ethtool" 2>&1
gathers() { [ "$(both_do "ethtool -k eth0" | grep -cE "^(tx-checksumming|generic-(segmentation|receive)-offload): $1")" = 6 ]; }
for state in off on; do
    gathering $state
    check "checksums, segments and gathering: $state" gathers $state
    for nic in soft kernel; do
        check "barriers by the $nic NIC" played 2 "dissemination:1@$nic" "${ledger[@]}"
    done
    check "messages by the soft one" runs 1 --mca pml ob1 --mca btl myr,self "${messages[@]}"
done
both_do "ethtool -K eth0 rx-udp-gro-forwarding off rx-gro-list off"

# ---- what happens while a job runs

down_and_up() { there "ip link set eth0 down; sleep 1; ip link set eth0 up"; }
new_mac() { there ip link set eth0 address 02:4e:49:43:02:99; }
small_mtu() { there ip link set eth0 mtu 1400; }
later() { there date -s +1hour; } > /dev/null
for nic in soft kernel; do
    check "interface down and up: nothing is lost by the $nic NIC" meanwhile $nic down_and_up
    check "a clock that is put forward: nothing is lost by the $nic NIC" meanwhile $nic later
    check "another hardware address: nothing is lost by the $nic NIC" meanwhile $nic new_mac
    there ip link set eth0 address 02:4e:49:43:02:02
    check "another MTU: nothing is lost by the $nic NIC" meanwhile $nic small_mtu
    check "with a smaller MTU on one side: data by the $nic NIC" runs 1 --mca coll_nicbarr_nic $nic "${ours[@]}" \
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
    timed "without one: a job with the $nic NIC" measured $nic
done
there "nft add table inet f; nft add chain inet f in '{ type filter hook input priority 0; }'; nft add rule inet f in meta l4proto udp drop" \
    > "$scratch/out" 2>&1
check "a firewall" [ ! -s "$scratch/out" ]
for nic in soft kernel; do
    timed "it drops UDP: Open MPI's own barrier carries on, $nic NIC" measured $nic
    check "it says so" said "firewall"
done
there nft delete table inet f

# ---- users: a name with two numbers, /tmp in memory, a home by NFS with the cache in it

home=/run/home
# (Nobody was a client before, so nobody is waited for.)
by_nfs() {
    mkdir $home && chmod 1777 $home && mount -t nfsd nfsd /proc/fs/nfsd && exportfs -i -o "rw,no_root_squash,insecure,fsid=0" "*:$home" &&
        rpc.mountd && rpc.nfsd --no-nfs-version 3 1 && echo Y > /proc/fs/nfsd/v4_end_grace &&
        there "mkdir $home && mount -i -t nfs4 -o addr=10.79.0.1,clientaddr=10.79.0.2,vers=4.2 10.79.0.1:/ $home"
} > "$scratch/out" 2>&1
check "a home by NFS" by_nfs
both_do "mount -t tmpfs -o mode=1777 none /tmp; chmod 666 $MACHINES_LEDGER; echo someone:x:400#:100::$home/#:/bin/bash >> /etc/passwd
    mkdir -p $home/#/.ssh; cp /run/ssh/.key $home/#/.ssh/; echo 'IdentityFile ~/.ssh/.key' > $home/#/.ssh/config; chown -R 400#:100 $home/#"
chmod 755 "$scratch"
as=(setpriv --reuid 4001 --regid 100 --clear-groups env "HOME=$home/1" USER=someone "XDG_CACHE_HOME=$home")
two_numbers() { start 1 id -u && said "^4001" && said "^4002"; }
check "a user who has another number on the second machine" two_numbers
for nic in soft kernel; do
    check "/tmp in memory: that user's barriers by the $nic NIC" played 2 "dissemination:1@$nic" "${ledger[@]}"
done
as=()
both_do "umount /tmp"

# (The budget is large, so that there is something to keep.)
cached() {
    XDG_CACHE_HOME=$home runs 1 --mca coll_nicbarr_cache auto --mca coll_nicbarr_tune_after 3 \
        --mca coll_nicbarr_tune_budget 30000 -x XDG_CACHE_HOME "${ledger[@]}"
}
check "the cache is in a home that all hosts see" cached
check "measured" said "MPI_Barrier on .*, 2 processes on 2 nodes: .*(measured"
cache=$home/nicbarr/tuning.jsonl
check "it is there" rewrite_cache "$cache" "$cache" 0.99 pairwise@soft
check "once more" cached
check "from the cache" said "MPI_Barrier on .*, 2 processes on 2 nodes: pairwise@soft (cache)"

# ---- a host that reboots

there umount -l $home
"$MACHINES_MONITOR" 2 quit
"$MACHINES_MONITOR" 2 start
until there true 2> /dev/null; do sleep 0.5; done
there "$builddir/myrd/myrd" --kernel --network 10.79.0.0/24
for nic in soft kernel; do
    check "it reboots: barriers by the $nic NIC" played 1 "dissemination:1@$nic" "${ledger[@]}"
done

# ---- other interfaces

# An address on one machine alone, in a network that leads nowhere.
there "ip link set eth1 up; ip address add 10.85.0.2/24 dev eth1"
for nic in soft kernel; do
    check "the second machine has two addresses: barriers by the $nic NIC" played 1 "dissemination:1@$nic" "${ledger[@]}"
done
there "ip address del 10.85.0.2/24 dev eth1"

# (With two addresses on one interface Open MPI 4.1 does not connect by TCP: it knows one of them only.)
both_do "ip link set eth1 up; ip address add 10.81.0.#/24 dev eth1"
by_both "two addresses" 10.81.0.0/24
both_do "ethtool -C eth1 rx-usecs 1000"
by_both "and a card that calls 1000 times a second at most" 10.81.0.0/24
both_do "ethtool -C eth1 rx-usecs 3; ip address del 10.81.0.#/24 dev eth1"

both_do "ip link add br0 type bridge; ip link set eth1 master br0; ip link set eth1 up; ip address add 10.82.0.#/24 dev br0; ip link set br0 up"
by_both "a bridge, the card below it" 10.82.0.0/24
no_daemons
both_do "ip link del br0; ip link set eth1 down"

# (A card whose link is not up yet cannot be the active one.)
first_slave() { both_do "until ip link set bond1 type bond active_slave eth1; do sleep 0.2; done"; } > /dev/null 2>&1
# The bond has eth1 and a card of the first wire's VLAN: mpirun needs eth0 itself.
both_do "ip link add link eth0 name eth0.6 type vlan id 6; ip link set eth0.6 down; ip link add bond1 type bond mode active-backup miimon 100 fail_over_mac active; ip link set eth1 master bond1; ip link set eth0.6 master bond1; ip address add 10.83.0.#/24 dev bond1; ip link set bond1 up"
first_slave
by_both "a bond" 10.83.0.0/24
# (On a busy machine qemu's e1000e did not tell that its cable was pulled. So the card is switched off.)
fail_over() { both_do "ip link set eth1 down"; }
for nic in soft kernel; do
    check "its first card goes down: nothing is lost by the $nic NIC" meanwhile_on 10.83.0.0/24 $nic fail_over
    both_do "ip link set eth1 up"
    first_slave
done
no_daemons
both_do "ip link del bond1; ip link del eth0.6"

# (Its own daemon, teamd, would give its ports its address, and follow what becomes of them.)
active_port() { both_do "teamnl team1 setoption activeport \$(cat /sys/class/net/$1/ifindex)"; }
team() {
    both_do "ip link add link eth0 name eth0.7 type vlan id 7; ip link add team1 address 02:4e:49:43:07:0# type team; teamnl team1 setoption mode activebackup
        ip link set eth1 down; for port in eth1 eth0.7; do ip link set \$port address 02:4e:49:43:07:0#; ip link set \$port master team1; done
        ip address add 10.84.0.#/24 dev team1; ip link set team1 up" && active_port eth1
}
check "a team" team
by_both "a team" 10.84.0.0/24
for nic in soft kernel; do
    active_port eth1
    check "its other port is used: nothing is lost by the $nic NIC" meanwhile_on 10.84.0.0/24 $nic active_port eth0.7
done
no_daemons
both_do "ip link del team1; ip link del eth0.7"

# ---- IPv6

of_6=fd79::/64
by_both "IPv6" $of_6
for nic in soft kernel; do
    check "IPv6: communicators come and go" played 1 "pairwise@$nic" --mca coll_nicbarr_network $of_6 "${shapes[@]}"
    check "data by the $nic NIC" by_6 runs 1 --mca coll_nicbarr_nic $nic --mca coll_nicbarr_network $of_6 "${ours[@]}" \
        --mca coll_nicbarr_algorithm dissemination:1 "${data[@]}"
    check "the $nic NIC carries it" carried 2 dissemination:1@$nic Allreduce Allgather Bcast Scatter
done
messages_over_6() {
    by_6 runs 1 --mca pml ob1 --mca btl myr,self --mca btl_myr_network $of_6 "${messages[@]}"
}
for state in off on; do
    gathering $state
    check "checksums, segments and gathering: $state" gathers $state
    for nic in soft kernel; do
        check "barriers by the $nic NIC over IPv6" by_6 played 2 "dissemination:1@$nic" --mca coll_nicbarr_network $of_6 "${ledger[@]}"
    done
    check "messages by the soft one" messages_over_6
done
both_do "ethtool -K eth0 rx-udp-gro-forwarding off rx-gro-list off"

# (Linux takes the address away meanwhile.)
down_and_given_back() { there "ip link set eth0 down; sleep 1; ip link set eth0 up; ip address add fd79::2/64 dev eth0 nodad"; }
for nic in soft kernel; do
    check "IPv6, interface down and up: nothing is lost by the $nic NIC" meanwhile_on $of_6 $nic down_and_given_back
    check "another hardware address: nothing is lost by the $nic NIC" meanwhile_on $of_6 $nic new_mac
    there ip link set eth0 address 02:4e:49:43:02:02
    check "another MTU: nothing is lost by the $nic NIC" meanwhile_on $of_6 $nic small_mtu
    there ip link set eth0 mtu 1500
    check "a cable is pulled: nothing is lost by the $nic NIC" pulled $nic --mca coll_nicbarr_network $of_6
    check "barriers of the $nic NIC are traced" traced $nic --mca coll_nicbarr_network $of_6
done

# A machine that hears no ICMPv6 finds no neighbour.
measured_over_6() { runs 1 --mca coll_nicbarr_nic "$1" --mca coll_nicbarr_network $of_6 --mca coll_nicbarr_tune_after 1 "${ledger[@]}"; }
there "nft add table inet f; nft add chain inet f in '{ type filter hook input priority 0; }'; nft add rule inet f in meta l4proto ipv6-icmp drop" \
    > "$scratch/out" 2>&1
check "a firewall" [ ! -s "$scratch/out" ]
on_both ip -6 neighbour flush dev eth0
for nic in soft kernel; do
    timed "it drops ICMPv6: Open MPI's own barrier carries on, $nic NIC" measured_over_6 $nic
    check "it says so" said "firewall"
done
there nft delete table inet f
no_daemons
check "the cards again" daemons
