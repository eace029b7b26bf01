#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests that a job ends and leaves nothing behind when one of its processes dies.
#
# usage: run_killed.sh PROGRAM [SEEDS] [options for PROGRAM...]
#   PROGRAM  the built killed.c
#   SEEDS    number of runs, each with another random moment, for each number of processes and way to die (default 2)
# environment:
#   MPIRUN   the launcher with its options (default: mpirun; ompi/jobs.sh sets the environment for it)
#   NPS      numbers of processes (default: 2 4 7)
#   MODES    ways to die (default: barrier ibarrier dup abort)
#   LIMIT    seconds after which a job counts as hung (default: 60)
#   SEED     the first seed (default: from the clock); it is printed
#
# In every run mpirun must end by itself within the limit with a nonzero status, no new name in /dev/shm may
# contain nicbarr, and no process of the job may be alive. Since mpirun cleans up asynchronously, leftovers
# have 10 seconds to disappear.
#
# As root the script mounts its own /dev/shm (with mount and unshare), so that other jobs with nicbarr on this
# machine do not interfere.
# Tests of the script itself: run_killed.sh PROGRAM 1 --pretend nobody-dies | leftover | orphan
set -u
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"

if [ "${RUN_KILLED_INSIDE:-}" = "" ] && [ "$(id -u)" = 0 ] &&
    unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    export RUN_KILLED_INSIDE=1
    exec unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm && exec sh "$@"' sh "$0" "$@"
fi

[ $# -ge 1 ] || usage
program=$1
seeds=${2:-2}
[ $# -ge 2 ] && shift
shift # the rest are options for the program
limit=${LIMIT:-60}
first_seed=${SEED:-$(($(date +%s) % 100000))}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch" /dev/shm/nicbarr-pretended-leftover' EXIT
log=$scratch/log

nicbarr_names() {
    find /dev/shm -maxdepth 1 -name '*nicbarr*' -printf '%f\n' 2>/dev/null
}

# Lists the processes whose command line contains the tag. grep reads the tag from a file so as not to find itself.
processes_left() {
    grep -lsaFf "$scratch/tag" /proc/[0-9]*/cmdline | sed 's,/proc/\([0-9]*\)/.*,\1,' | tr '\n' ' '
}

names_left() { # lists the names that are not in $names_before
    nicbarr_names | while read -r name; do
        printf '%s\n' "$names_before" | grep -qxF "$name" || printf '%s ' "$name"
    done
}

# Prints an error of the run, or nothing.
run_one() { # np mode seed tag options...
    np=$1 mode=$2 seed=$3 tag=$4
    shift 4
    names_before=$(nicbarr_names)
    echo "$tag" >"$scratch/tag"
    begin=$(date +%s)
    # shellcheck disable=SC2086 # the launcher comes with its options
    timeout -k 10 "$limit" ${MPIRUN:-mpirun} -np "$np" "$program" --mode "$mode" \
        --seed "$seed" --tag "$tag" --watchdog $((2 * limit)) "$@" >"$log" 2>&1 </dev/null
    status=$?
    if [ $(($(date +%s) - begin)) -ge "$limit" ]; then
        echo "mpirun had not ended after $limit s; "
    elif [ $status -eq 0 ]; then
        echo "mpirun's status is 0, expected another one; "
    elif ! grep -qa '^killed: np' "$log"; then
        echo "the job did not start, mpirun's status is $status; "
    elif grep -qa '^FAIL' "$log"; then
        echo "a check failed in the job; "
    fi
    tries=0
    while [ $tries -lt 100 ] && [ "$(processes_left)$(names_left)" != "" ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    left=$(processes_left)
    if [ "$left" != "" ]; then
        echo "processes are left: $left(ended now); "
        # shellcheck disable=SC2086 # a list of process ids
        kill -9 $left 2>/dev/null
    fi
    left=$(names_left)
    [ "$left" = "" ] || echo "left in /dev/shm: $left; "
}

runs=0 failures=0
for np in ${NPS:-2 4 7}; do
    for mode in ${MODES:-barrier ibarrier dup abort}; do
        seed=$first_seed
        while [ "$seed" -lt $((first_seed + seeds)) ]; do
            runs=$((runs + 1))
            wrong=$(run_one "$np" "$mode" "$seed" "run-killed-$$-$runs-" "$@")
            if [ "$wrong" != "" ]; then
                failures=$((failures + 1))
                echo "FAIL run_killed: -np $np --mode $mode --seed $seed: $wrong"
                tail -n 20 "$log" | tr -d '\000' | sed 's/^/    /'
            fi
            seed=$((seed + 1))
        done
    done
done
if [ $failures -gt 0 ]; then
    echo "FAIL run_killed: $failures of $runs runs"
    exit 1
fi
echo "ok run_killed runs=$runs seed=$first_seed"
