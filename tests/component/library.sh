#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, programs that use libmyr without MPI have wrong barriers on several hosts, with the soft NIC or the
# kernel NIC, with several processes on a host, or with packet loss. A ledger detects early releases.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

export members=$builddir/tests/component/members dir=$scratch/members
cat > "$scratch/start.sh" << 'EOS'
#!/bin/bash
# HOSTS LOCALS NIC ALGORITHM [alone]: starts all members, LOCALS on each host; with `alone` they share no memory
rank=0 started=()
for host in $(seq "$1"); do
    mkdir -p "$dir/host$host"
    for _ in $(seq "$2"); do
        shared=("$dir/host$host")
        [ -z "${5-}" ] || shared=()
        "$NETHOSTS_RUN" "$host" "$members" "$dir" $(($1 * $2)) $rank "$3" "$4" "${shared[@]}" &
        started+=($!)
        rank=$((rank + 1))
    done
done
bad=0
for pid in "${started[@]}"; do wait "$pid" || bad=1; done
exit $bad
EOS
chmod +x "$scratch/start.sh"
started() { # NETHOSTS-OPTION... -- HOSTS LOCALS NIC ALGORITHM [alone]
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    rm -rf "$dir"
    mkdir "$dir"
    timeout -k 5 "${watchdog:-300}" "$nethosts" "${options[@]}" --shell "$1" "$scratch/start.sh" "$@" > "$scratch/out" 2>&1
}
meets() { # as started, and all members must succeed
    started "$@" || return
    while [ "$1" != -- ]; do shift; done
    [ "$(grep -cx ok "$scratch/out")" = $(($2 * $3)) ]
}

check "barriers by the soft NIC, 3 hosts" meets -- 3 1 soft dissemination:1
check "barriers by the soft NIC, 4 hosts with 2 processes each" meets -- 4 2 soft tree:2
check "barriers by the soft NIC, each process is a separate node" meets -- 2 2 soft pairwise alone
check "barriers by the soft NIC, 10 % loss" meets --loss 10 --seed "$seed" -- 3 2 soft dissemination:1

if "$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1; then
    check "barriers by the kernel NIC, 3 hosts" meets --kernel -- 3 1 kernel dissemination:1
    check "barriers by the kernel NIC, 4 hosts with 2 processes each" meets --kernel -- 4 2 kernel tree:2
    check "barriers by the kernel NIC, 10 % loss" meets --kernel --loss 10 --seed "$seed" -- 3 2 kernel dissemination:1
    started --kernel -- 2 2 kernel tree:2 alone
    check "a message is printed if processes of a node do not use the same directory" [ "$(grep -c 'give all processes of a node the same directory' "$scratch/out")" = 4 ]
fi
finish
