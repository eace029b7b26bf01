#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a mistyped parameter breaks a job or is silently ignored. The test sets each parameter to invalid
# values, each of which must cause one clear message, while barriers must still work.
. "$(dirname "$0")/common.sh"

works() { job 3 "$@" "$programs/barrier_ledger" && said "^ok"; }

# wrong PARAMETER VALUE LINE: the value must be replaced by a valid one, with one message from one process.
wrong() {
    check "$1=$2 works" works --mca "coll_nicbarr_$1" "$2"
    check "$1=$2 causes one message" said_once "$3"
}

wrong algorithm nonsense 'coll_nicbarr_algorithm "nonsense" is not an algorithm'
wrong algorithm tree:0 'coll_nicbarr_algorithm "tree:0" is not an algorithm'
wrong algorithm flags:12 'coll_nicbarr_algorithm "flags:12" is not an algorithm'
wrong algorithm counter:-1 'coll_nicbarr_algorithm "counter:-1" is not an algorithm'
wrong algorithm pairwise:2 'coll_nicbarr_algorithm "pairwise:2" is not an algorithm'
wrong algorithm dissemination:99999999999999999999 'is not an algorithm'
for algorithm in openmpi@kernel counter@kernel flags:4@kernel pairwise:2@kernel tree:4@ tree:4@none; do
    wrong algorithm $algorithm "coll_nicbarr_algorithm \"$algorithm\" is not an algorithm"
done
wrong nic nonsense 'coll_nicbarr_nic "nonsense" is not a list of NICs'
for list in "" "," ",,"; do
    wrong cache "$list" "coll_nicbarr_cache \"$list\" names no file"
done
for number in abc 5x "" 1e3; do
    wrong tune_after "$number" "coll_nicbarr_tune_after is \"$number\", which is not a number: using 20"
done
wrong timeout soon 'coll_nicbarr_timeout is "soon", which is not a number: using 900'
wrong network 10.0.0.0/99 'coll_nicbarr_network is wrong, so its NIC is not used: "10.0.0.0/99" is neither an interface nor'
wrong network fd00::/64,lo:x/8 '"lo:x/8" is neither an interface nor'
wrong network , '"," is neither an interface nor'
if ompi_info --param coll nicbarr --level 9 | grep -q coll_nicbarr_verbs_devices; then
    wrong verbs_devices ,, 'coll_nicbarr_verbs_devices is wrong, so its NIC is not used: ",," names no device'
fi
wrong port x 'coll_nicbarr_port is "x", which is not a number: using 0'
# A value that is out of range is replaced by the nearest bound if this is similar to what was intended.
wrong priority 101 'coll_nicbarr_priority is 101, but must be from -1 to 100: using 100'
wrong tune_budget -1 'coll_nicbarr_tune_budget is -1, but must be from 0 to 60000: using 0'
wrong tune_budget 100000 'coll_nicbarr_tune_budget is 100000, but must be from 0 to 60000: using 60000'
wrong memory 0 'coll_nicbarr_memory is 0, but must be from 1 to 1024: using 1$'
wrong memory 100000 'coll_nicbarr_memory is 100000, but must be from 1 to 1024: using 1024'
wrong sleep_slice 0 'coll_nicbarr_sleep_slice is 0, but must be from 1 to 1000000: using 1$'
wrong verbose -1 'coll_nicbarr_verbose is -1, but must be from 0 to 100: using 0'
# Otherwise it is replaced by the default, because a bound may have a different meaning, such as "never".
wrong timeout -1 'coll_nicbarr_timeout is -1, but must be from 0 to [0-9]*: using 900'
wrong warn -1 'coll_nicbarr_warn is -1, but must be from 0 to [0-9]*: using 30'
wrong tune_after -5 'coll_nicbarr_tune_after is -5, but must be from 0 to [0-9]*: using 20'
wrong join_after -1 'coll_nicbarr_join_after is -1, but must be from 0 to [0-9]*: using 100'
wrong spin -7 'coll_nicbarr_spin is -7, but must be from -1 to [0-9]*: using -1'
wrong sleep_after -7 'coll_nicbarr_sleep_after is -7, but must be from -1 to [0-9]*: using 500'
wrong port 99999 'coll_nicbarr_port is 99999, but must be from 0 to 65535: using 0'

# Values that do not fit into an int, and which would be valid if they were truncated.
wrong tune_after 99999999999 'coll_nicbarr_tune_after is 99999999999, but must be from 0 to [0-9]*: using 20'
wrong tune_after -4294967291 'coll_nicbarr_tune_after is -4294967291, but must be from 0 to [0-9]*: using 20'
wrong memory 4294967552 'coll_nicbarr_memory is 4294967552, but must be from 1 to 1024: using 1024'
wrong join_after 100g 'coll_nicbarr_join_after is 107374182400, but must be from 0 to [0-9]*: using 100'
wrong port 99999999999999999999 'coll_nicbarr_port is [0-9]*, but must be from 0 to 65535: using 0'

# Extreme but valid values, for which no message may be printed.
for setting in "tune_after 0" "tune_after 2000000000" "tune_budget 0" "tune_budget 1" "spin 0" \
    "spin 100000" "sleep_after 0" "sleep_after -1" "sleep_slice 1" "memory 1" "algorithm auto" \
    "nonblocking 0" "priority 100" "priority 1" "nic auto" "nic kernel" "nic none"; do
    # shellcheck disable=SC2086 # two words
    set -- $setting
    check "$1=$2 works" works --mca "coll_nicbarr_$1" "$2"
    check "$1=$2 is silent" silent
done
check "priority -1 works" works --mca coll_nicbarr_priority -1 --mca coll_nicbarr_verbose 2
check "priority -1 leaves everything to Open MPI" said "is left to Open MPI: coll_nicbarr_priority"

# Relative paths refer to the directory in which the job starts, even if the program changes its working directory.
elsewhere() (
    cd "$scratch" || exit
    job 2 --mca coll_nicbarr_report report.json "$programs/short_job" --directory /proc && said "^ok" &&
        [ -s report.json ]
)
check "the report of a program that changes its working directory is in the initial directory" elsewhere

# Files that cannot be written are reported once, and the job continues.
check "a job whose report cannot be written" works --mca coll_nicbarr_report /proc/nonexistent/report.json
check "one message gives the reason" said_once "report is not written: /proc/nonexistent/report.json"
complained_before_the_end() {
    local job
    mpirun -np 2 --mca coll_nicbarr_report /proc/nonexistent/report.json "$programs/barrier_ledger" \
        --until "$scratch/end" > "$scratch/out" 2>&1 &
    job=$!
    until said_once "report is not written: /proc/nonexistent/report.json" || ! kill -0 "$job" 2> /dev/null; do sleep 0.1; done
    kill -0 "$job" 2> /dev/null || return
    touch "$scratch/end"
    wait "$job" && said_once "report is not written: /proc/nonexistent/report.json"
}
check "the message is printed once, while the job still runs" complained_before_the_end
for dir in /proc/nonexistent "$scratch/nonexistent"; do
    check "a job with a cache in $dir, which does not exist" works --mca coll_nicbarr_cache "$dir/cache.json"
    check "one message gives the reason" said_once "tuning cache $dir/cache.json is not written: its directory"
    check "the directory is not created" test ! -e "$dir"
done

echo nothing of ours > "$scratch/foreign"
check "a job whose report file exists and is not a report" works --mca coll_nicbarr_report "$scratch/foreign"
check "one message gives the reason" said_once "report is not written: $scratch/foreign: it is not a report"
check "the file that is not a report is unchanged" test "$(cat "$scratch/foreign")" = "nothing of ours"

# ompi_info shows the common parameters by default, and explains each one.
ompi_info --param coll nicbarr > "$scratch/out" 2>&1
for parameter in verbose algorithm report nic; do
    check "ompi_info shows $parameter at the default level" said "coll_nicbarr_$parameter"
done
check "ompi_info shows no other parameters at that level" eval '! said coll_nicbarr_spin'
ompi_info --param coll nicbarr --level 9 > "$scratch/out" 2>&1
check "ompi_info knows the parameters" said 'coll_nicbarr_algorithm'
for parameter in priority verbose algorithm tune_after tune_budget cache report memory nonblocking \
    spin sleep_after sleep_slice nic; do
    check "ompi_info explains $parameter" said "coll_nicbarr_$parameter"
done
finish
