#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, packets from outside the job can release its barriers, change its messages or make them fail. The
# attacker knows the addresses and ports of the NICs, and forges source addresses of hosts of the job. It sends random
# data, well-formed packets with an unknown key, packets of an earlier job, and packets that are forged from packets on
# the wire. Barriers must be correct, and the NICs must count the packets that they drop.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

port=7311
job="--mca coll_nicbarr_verbose 1 --mca coll_nicbarr_port $port --mca coll_nicbarr_algorithm"
export spray=$builddir/tests/component/spray sniffer=$builddir/tests/component/sniffer victims=3

# stranger.sh PORT SEED WHAT COUNTER ARGUMENT...: runs a job on the first hosts while the last host sends packets to
# them. The job continues until the counter of the first host's NIC exceeds 10.
cat > "$scratch/stranger.sh" << 'EOS'
#!/bin/bash
port=$1 seed=$2 what=$3 counter=$4
shift 4
rm -f "$over"
if [ "$what" = sniffed ]; then
    "$NETHOSTS_RUN" 2 "$sniffer" listen "$port" | "$NETHOSTS_RUN" $((victims + 1)) "$sniffer" forge &
else
    "$NETHOSTS_RUN" $((victims + 1)) "$spray" $victims "$port" "$seed" "$what" &
fi
stranger=$!
NETHOSTS_HOSTS=$victims "$NETHOSTS_MPIRUN" "$@" &
job=$!
while kill -0 $job 2> /dev/null && [ ! -e "$over" ]; do
    "$NETHOSTS_RUN" 1 "$nicbarr" status > "$scratch/status" 2>&1
    awk -v name="$counter" '$0 ~ name { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/ && $i > 10) found = 1 }
        END { exit !found }' "$scratch/status" && touch "$over" && echo "counted as $counter"
    sleep 0.2
done
kill -0 $stranger && echo "the stranger was there to the end"
wait $job
status=$?
kill $stranger
exit $status
EOS
chmod +x "$scratch/stranger.sh"
nicbarr=$builddir/tools/nicbarr over=$scratch/over
export scratch nicbarr over

visited() { # WHAT COUNTER ALGORITHM [NETHOSTS-ARGUMENT]
    # shellcheck disable=SC2086 # words
    on_hosts ${4-} --shell 4 2 "$scratch/stranger.sh" $port "$seed" "$1" "$2" $job "$3" \
        "$programs/barrier_ledger" --iterations 500 --until "$over" --ledger "$scratch/ledger" --seed "$seed" &&
        said "the stranger was there to the end" && said "counted as $2"
}

check "a job while another host sends random packets" visited random dropped_damaged dissemination:1
check "the NICs execute the barriers nevertheless" served 3 6
check "a job while another host sends packets with an unknown key" visited forged dropped_foreign tree:2
check "the NICs execute the barriers nevertheless" served 3 6

# All packets of an earlier job with the same ports and algorithm are sent again. Some packets of that job were lost, so
# there are ASKs among them, which the NICs count as foreign. The ARRIVEs, however, could be early packets of a group
# that is not open yet.
# shellcheck disable=SC2086 # words
check "the packets of a job are recorded" on_hosts --loss 10 --seed "$seed" --record "$scratch/capture" 3 2 $job pairwise \
    "$programs/barrier_ledger" --iterations 300 --ledger "$scratch/ledger" --seed "$seed"
check "the record contains packets" test "$(stat -c %s "$scratch/capture")" -gt 10000
check "a job while packets of an earlier job are replayed" visited "$scratch/capture" dropped_foreign pairwise
check "the NICs execute the barriers nevertheless" served 3 6

# An attacker who reads everything on the wire. Without the secrets of groups, such an attacker could release barriers
# that nobody has entered, and could make groups fail.
check "a job while packets are forged from those on the wire" visited sniffed dropped_forged dissemination:1
check "the NICs execute the barriers nevertheless" served 3 6

# The same for messages. Without authentication codes, forged data would arrive in place of the real ones.
sodium() { grep -q '^S."HAVE_SODIUM_TRUE".=""' "$builddir/config.status"; }
ln -s "$builddir/btl_myr/.libs/mca_btl_myr.so" "$scratch/components/"
visited_messages() {
    on_hosts --shell 4 2 "$scratch/stranger.sh" "$port" "$seed" sniffed dropped_forged \
        --mca coll ^nicbarr --mca pml ob1 --mca btl myr,self --mca btl_myr_port "$port" \
        "$programs/barrier_ledger" --iterations 500 --until "$over" --ledger "$scratch/ledger" --seed "$seed" &&
        said "the stranger was there to the end" && said "counted as dropped_forged"
}
if sodium && [ "$launches" = 1 ]; then # like btl.sh, no hosts with 5.0
    check "a job while messages are forged from those on the wire" visited_messages
fi

# The same attack on the kernel NIC, if it is available.
if "$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1; then
    port=7077
    check "a job on the kernel NIC while packets are forged from those on the wire" visited sniffed dropped_forged dissemination:1@kernel --kernel
    check "the NICs execute the barriers nevertheless" said "MPI_Barrier on .*, 6 processes on 3 nodes: dissemination:1@kernel"
    port=7311
fi

# Everything that one host of a job has sent and received, including TCP.
cat > "$scratch/recorded.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_RUN" 2 "$sniffer" record > "$scratch/heard" &
recorder=$!
"$NETHOSTS_MPIRUN" "$@"
status=$?
kill $recorder
exit $status
EOS
chmod +x "$scratch/recorded.sh"
# shellcheck disable=SC2086 # words
check "all packets of a job are recorded" on_hosts --shell 3 2 "$scratch/recorded.sh" $job pairwise \
    "$programs/barrier_ledger" --iterations 10 --ledger "$scratch/ledger" --seed "$seed"
if sodium; then
    check "the packets contain no secret of the groups" "$builddir/tests/component/search" "$scratch/heard"
fi
finish
