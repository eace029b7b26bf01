#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs on the kernel NIC are released early, hang, or do not survive its loss. The NIC is chosen, forced,
# shared by processes and jobs, used over a bad network, and removed. The ledger in the test programs detects early
# releases.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/playing_common.sh"
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
if [ $? = 77 ]; then
    echo "skip: $(cat "$scratch/out")"
    exit 77
fi

player=@kernel
thousands_outstanding
played "barriers on 2 hosts" "$ledger" 2 1
played "barriers on 3 hosts with 2 processes each" "$ledger" 3 2
played "communicators of all shapes on 5 hosts" "$shapes" 5 1
played "communicators of all shapes on 4 hosts with 2 processes each" "$shapes" 4 2
played "barriers of several threads" "$threads" 3 2
played "thousands of outstanding MPI_Ibarrier" "${thousands[*]}" 2 2
played "a program with MPI_Ibarrier only" "$programs/pvars --nic kernel --done --ibarrier" 2 2
played "a program with persistent barriers only" "$programs/pvars --nic kernel --done --persistent" 2 2
# shellcheck disable=SC2086 # words
check "barriers between hosts that the kernel connects without a bridge" on_hosts --kernel --redirect 4 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_algorithm dissemination:1@kernel $ledger
check "the NICs execute the barriers" said "MPI_Barrier on .* nodes: dissemination:1@kernel"

# ---- a bad network

for program in "$ledger" "$shapes"; do
    played "barriers with 10 % packet loss" "$program" --loss 10 3 2
    check "some packets were lost" did lost
    played "barriers with 30 % packet loss" "$program" --loss 30 3 2
    check "some packets were lost" did lost
    played "barriers with duplicated packets" "$program" --duplicate 10 3 2
    check "some packets were duplicated" did duplicated
    played "barriers with reordered packets" "$program" --reorder 20 3 2
    check "some packets were reordered" did reordered
    played "barriers with all faults of the network at once" "$program" --loss 10 --duplicate 10 --reorder 10 --corrupt 10 --delay 100 3 2
    check "some packets were lost" did lost
done

# ---- a cable is disconnected for a while, as communicators are created and freed

export nicbarr=$builddir/tools/nicbarr plugged=$scratch/plugged
cat > "$scratch/unplugs.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_MPIRUN" "$@" &
job=$!
until "$NETHOSTS_RUN" 2 "$nicbarr" status | grep -q "closed  *[0-9][0-9]"; do sleep 0.1; done
"$NETHOSTS_RUN" 2 ip link set eth0 down
kill -0 $job && echo unplugged
sleep 11
"$NETHOSTS_RUN" 2 ip link set eth0 up
touch "$plugged"
wait $job
EOS
chmod +x "$scratch/unplugs.sh"
check "a host is disconnected for 11 s: the job continues" on_hosts --kernel --shell 2 2 "$scratch/unplugs.sh" \
    --mca coll_nicbarr_algorithm dissemination:1@kernel "${of_shapes[@]}" --until "$plugged"
check "the host was disconnected during the job" said unplugged

# ---- hardware addresses can no longer be resolved, which barriers do not need

# Host 1 loses host 2's hardware address and gets no reply to its ARP requests. Host 2 has a permanent entry for host 1,
# so it sends none.
cat > "$scratch/unresolved.sh" << 'EOS'
#!/bin/bash
barriers() { "$NETHOSTS_RUN" 1 "$nicbarr" status --json | sed "s/.*\"barriers\":\([0-9]*\),.*\"interface\".*/\1/"; }
"$NETHOSTS_MPIRUN" "$@" &
job=$!
until [ "0$(barriers)" -ge 100 ]; do kill -0 $job && sleep 0.1 || exit; done
mac=$("$NETHOSTS_RUN" 1 ip -br link show eth0 | awk '{ print $3 }')
"$NETHOSTS_RUN" 2 ip neigh replace 10.77.0.1 lladdr "$mac" dev eth0 nud permanent
"$NETHOSTS_RUN" 2 sysctl -q net.ipv4.conf.all.arp_ignore=8
"$NETHOSTS_RUN" 1 ip neigh del 10.77.0.2 dev eth0
until "$NETHOSTS_RUN" 1 ip neigh show 10.77.0.2 | grep -q FAILED; do sleep 0.1; done
before=$(barriers)
until [ "$(barriers)" -ge $((before + 200)) ]; do kill -0 $job && sleep 0.1 || exit; done
echo "ok, they go on"
kill -KILL $job # nethosts ends its processes, which mpirun cannot reach
exit 0
EOS
chmod +x "$scratch/unresolved.sh"
check "the hardware address of a host is unknown: barriers continue" on_hosts --kernel --shell 2 1 "$scratch/unresolved.sh" \
    --mca coll_nicbarr_algorithm dissemination:1@kernel "$programs/barrier_ledger" --iterations 1000000000 \
    --ledger "$scratch/ledger" --seed "$seed"

# ---- which NIC is used

unsaid() { ! said "$1"; }
# shellcheck disable=SC2086 # words
check "tuning with the soft NIC and Open MPI" on_hosts --kernel 3 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_report "$scratch/report" $ledger
check "predictions for both NICs are reported" predicted "soft kernel"
check "a choice is reported" said "MPI_Barrier on .*, 3 processes on 3 nodes: "
# shellcheck disable=SC2086 # words
check "tuning with the kernel NIC only" on_hosts --kernel 3 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_nic kernel $ledger
check "the kernel NIC or Open MPI is chosen" said "MPI_Barrier on .*, 3 processes on 3 nodes: \(.*@kernel\|openmpi\)"
# shellcheck disable=SC2086 # words
check "no daemon runs, and no other NIC is allowed" on_hosts 2 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_tune_after 1 --mca coll_nicbarr_nic kernel $ledger
check "a message explains how to start a daemon" said "nicbarr: .*myrd"
# shellcheck disable=SC2086 # words
check "only the soft NIC is allowed" on_hosts --kernel 3 1 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_nic soft $ledger
check "the kernel NIC is not used" unsaid "@kernel"

# ---- a firewall blocks one kind of NIC, and the other one is used

# Detecting a firewall takes seconds, so it must happen only once for each communicator, whatever is measured on it.
found_out_once() {
    said "is measured without $1" && [ -z "$(grep -o "nicbarr: .* is measured without [^:]*" "$scratch/out" | sort | uniq -d)" ]
}
walled() { # PORT MPIRUN-ARGUMENT...
    rm -f "$scratch/report"
    # shellcheck disable=SC2086 # words
    on_hosts --kernel --cut 1-2 --port "$1" 2 1 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 3 \
        --mca coll_nicbarr_report "$scratch/report" "${@:2}" $ledger
}
check "a job whose kernel NIC is blocked by a firewall" walled 7077
check "a message reports the firewall, once for each communicator" found_out_once "the kernel NIC: no myrd --kernel answers at 10.77.0.[12], UDP port 7077"
check "the soft NIC is measured" predicted soft
check "a job whose soft NIC is blocked by a firewall" walled 7312 --mca coll_nicbarr_port 7312
check "a message reports the firewall, once for each communicator" found_out_once "the soft NIC: .*firewall"
check "the kernel NIC is measured" predicted kernel

# ---- the daemon is stopped: MPI_Init does not wait for it

cat > "$scratch/stopped.sh" << 'EOS'
#!/bin/bash
mapfile -t daemons < <(pgrep -x myrd)
kill -STOP "${daemons[@]}"
until [ "$(cat /proc/"${daemons[0]}"/stat /proc/"${daemons[1]}"/stat | grep -c ") T ")" = 2 ]; do sleep 0.05; done
"$NETHOSTS_MPIRUN" "$@" &
job=$!
if [ -n "$go" ]; then
    until grep -q "barrier_ledger: np" "$out" || ! kill -0 $job; do sleep 0.05; done
    kill -CONT "${daemons[@]}"
    touch "$go"
fi
wait $job
EOS
chmod +x "$scratch/stopped.sh"
export out=$scratch/out go=
# shellcheck disable=SC2086 # words
stopped() { # MPIRUN-ARGUMENT...
    on_hosts --kernel --shell 2 1 "$scratch/stopped.sh" --mca coll_nicbarr_verbose 1 "$@" $ledger
}
check "daemons are stopped, and the soft NIC is used" stopped --mca coll_nicbarr_algorithm pairwise
check "the soft NIC executes the barriers" said "nodes: pairwise@soft"
check "a message gives the remedy" said "nicbarr: myrd --kernel (process [0-9]*) does not answer: .*kill -CONT"
check "daemons are stopped, and no other NIC is allowed" stopped \
    --mca coll_nicbarr_tune_after 1 --mca coll_nicbarr_nic kernel
check "a message gives the reason" said "are left to Open MPI: .*myrd --kernel (process [0-9]*) does not answer"
check "the message is printed once for each communicator" told_once
check "the NICs do not execute barriers" unsaid "nodes: .*@kernel"
go=$scratch/go
ledger="$ledger --hold $go" check "daemons that are stopped only during MPI_Init are used" stopped \
    --mca coll_nicbarr_algorithm pairwise@kernel
check "the kernel NIC executes the barriers" said "nodes: pairwise@kernel"

# ---- the daemon ends during a job

cat > "$scratch/dies.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_MPIRUN" "$@" &
job=$!
until grep -q "@kernel" "$dies_out"; do sleep 0.1; done
kill -TERM "$(pgrep -n -x myrd)"
wait $job
EOS
chmod +x "$scratch/dies.sh"
breaks() { # NETHOSTS-ARGUMENT... MPIRUN-ARGUMENT...
    local status
    dies_out=$scratch/out timeout -k 5 100 "$nethosts" "$@" \
        --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm pairwise@kernel \
        "$programs/barrier_ledger" --iterations 100000000 --ledger "$scratch/ledger" > "$scratch/out" 2>&1
    status=$?
    [ "$status" != 0 ] && [ "$status" != 124 ] && said "nicbarr: .*the kernel NIC of this node"
}
# (Killed daemons: tests/component/myrd_restart.sh.)
check "the daemon is terminated during a job: the job ends with a message" breaks --kernel --shell 2 1 "$scratch/dies.sh"

# ---- the NICs' interfaces are renamed or moved; they have separate cables, so that mpirun's connections remain

export myrd=$builddir/myrd/myrd
cat > "$scratch/cable.sh" << 'EOS'
#!/bin/bash
beside=$1
shift
"$NETHOSTS_RUN" 1 ip link add nic0 type veth peer name nic0 netns 2
for host in 1 2; do
    "$NETHOSTS_RUN" $host ip address add 10.78.0.$host/24 dev nic0
    "$NETHOSTS_RUN" $host ip link set nic0 up
done
for host in 1 2; do
    until [[ $("$NETHOSTS_RUN" $host ip -o link show nic0) = *" state UP "* ]]; do sleep 0.05; done
    "$NETHOSTS_RUN" $host "$myrd" --kernel --network 10.78.0.0/24 || exit
done
closed() { "$NETHOSTS_RUN" 2 "$nicbarr" status | sed -n 's/^  closed  *\([0-9]*\),.*/\1/p'; }
until_closed() { until [ "$(closed)" -ge "$1" ]; do kill -0 $job && sleep 0.1 || exit; done; }
"$NETHOSTS_MPIRUN" "$@" &
job=$!
eval "$beside"
wait $job
EOS
chmod +x "$scratch/cable.sh"
# A group that is set up after the renaming finds the interface by its name. The job therefore continues until 20 more
# groups have been closed, some of which were set up after the renaming.
# shellcheck disable=SC2016 # expanded there
check "the interface is renamed during a job: the job continues" on_hosts --shell 2 1 "$scratch/cable.sh" '
        until_closed 5
        for host in 1 2; do "$NETHOSTS_RUN" $host ip link set nic0 name nic1; done
        until_closed $(($(closed) + 20)) && echo "ok, all goes on"
        kill $job; wait $job; exit 0' \
    --mca coll_nicbarr_algorithm dissemination:1@kernel "${of_shapes[@]}" --until "$scratch/never"
# shellcheck disable=SC2016 # expanded there
check "the interface is moved during a job: the job ends with a message" breaks --shell 2 1 "$scratch/cable.sh" '
        until grep -q "@kernel" "$dies_out"; do sleep 0.1; done
        "$NETHOSTS_RUN" 2 ip link set nic0 netns 1 name nic1'

finish
