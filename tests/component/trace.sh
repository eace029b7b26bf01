#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr trace` shows wrong times of a running job. The times must add up, the number of messages must
# match the schedule, and no files may be left behind. (A busy machine repeats messages; tools/tests/trace_test.sh has
# exact figures.) Hosts of one kernel share one trace, so the first host's interface has a name of its own.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/traced_common.sh"
export interface=traced nicbarr=$builddir/tools/nicbarr NICBARR_LIBEXECDIR=$srcdir
cat > "$scratch/traced.sh" << 'EOS'
#!/bin/bash
scratch=$1
nic=$2
shift 2
if [ "$interface" != eth0 ]; then
    "$NETHOSTS_RUN" 1 ip link set eth0 down
    "$NETHOSTS_RUN" 1 ip link set eth0 name "$interface"
    "$NETHOSTS_RUN" 1 ip link set "$interface" up
fi
rm -f "$scratch/end"
: > "$scratch/job"
"$NETHOSTS_MPIRUN" --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm "dissemination:1@$nic" "$@" \
    --until "$scratch/end" > "$scratch/job" 2>&1 &
until grep -q "all communicators are set up" "$scratch/job" || ! kill -0 $!; do sleep 0.1; done
for ms in 1000 3000 10000; do # on a busy machine a second may contain too few barriers
    "$NETHOSTS_RUN" 1 "$nicbarr" trace --for $ms --raw "$interface" > "$scratch/events"
    status=$?
    [ $status = 0 ] && ! "$nicbarr" trace --read "$scratch/events" > /dev/null 2>&1 || break
done
grep ' nicbarr-' /proc/self/mounts && echo "left behind"
touch "$scratch/end"
wait $! || status=$?
cat "$scratch/job"
exit $status
EOS
chmod +x "$scratch/traced.sh"
traced() { # NIC NETHOSTS-ARGUMENT...
    on_hosts --shell "${@:2}" "$scratch/traced.sh" "$scratch" "$1" "$programs/barrier_ledger" --iterations 400 \
        --ledger "$scratch/ledger" --seed "$seed"
}
told() { "$nicbarr" trace --read "$scratch/events" > "$scratch/out" 2>&1; }
clean() { ! said "left behind"; }
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1
kernel=$?
for nic in soft kernel; do
    [ $nic = soft ] || [ $kernel != 77 ] || continue
    more=()
    [ $nic = soft ] || more=(--kernel)
    traced $nic "${more[@]}" 2 1
    status=$?
    if [ $status != 0 ] && grep -q "cannot mount tracefs\|does not tell of\|gives no instance" "$scratch/out"; then
        echo "skip: $(grep "nicbarr trace:" "$scratch/out")"
        exit 77
    fi
    check "a job on the $nic NIC is traced" [ $status = 0 ]
    check "the trace leaves no file systems mounted" clean
    check "nicbarr trace prints the stages of barriers on the $nic NIC" told
    check "there is one message per barrier on two hosts" came 0.7 "$scratch/out"
    check "the times of the stages add up to the whole" adds_up "$scratch/out"
    check "the events of one barrier are printed" said_before " sends" "the host sends again"
done
if is_open_mpi 4 && # only this launcher can use such hosts
    "$nethosts" --kernel --ipv6 --shell 2 true > "$scratch/out" 2>&1; then
    interface=eth0 # on both hosts, because Open MPI 4.1 uses interfaces of the same name here
    traced kernel --kernel --ipv6 2 1
    told
    interface=traced
    # The interface of the host is a veth without a driver, even if this machine's eth0 has one.
    check "the trace names the host's interface without a driver" grep -q "interface eth0$" "$scratch/events"
    check "there is one message per barrier over IPv6" came 0.7 "$scratch/out"
    check "the times of the stages add up to the whole" adds_up "$scratch/out"
fi
[ $kernel = 77 ] || {
    traced kernel --kernel 4 1
    told
    # (Some communicators of the program have fewer than four hosts.)
    check "there is more than one message per barrier on four hosts" came 1.3 "$scratch/out"
    check "the times of the stages add up to the whole" adds_up "$scratch/out"
}
finish
