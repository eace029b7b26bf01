#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs crash at their end. Many short jobs run concurrently, use different features, and end without
# releasing resources in different ways. Core files are enabled, and a backtrace is printed for each crash.
#
#     JOBS=5000 PARALLEL=18 FIRST=1 make check TESTS=tests/component/short_jobs.sh
#
# runs more jobs, from number FIRST on; the number determines what a job does. LOG=FILE gets a line for each job, and
# each backtrace as soon as it exists.
#
# Open MPI 4.1.4 itself can crash here, without nicbarr: MPI_Finalize unloads its component pmix/ext3x before it
# stops the thread that runs this component's event handlers. If that thread has not run since MPI_Init (half a
# second), it jumps into an unmapped page. The backtrace shows it at ...6f0 (Debian 12) below event_base_loop(), and
# the main thread in opal_progress_thread_finalize(). Such cores are no failure; LOG has them.
. "$(dirname "$0")/common.sh"
ln -s "$builddir/btl_myr/.libs/mca_btl_myr.so" "$scratch/components/"
jobs=${JOBS:-40} parallel=${PARALLEL:-8} first=${FIRST:-1}
export log=${LOG:-$scratch/log} programs scratch
: >> "$log"
# Disable Open MPI's signal handler, because otherwise the core would show the handler instead of the fault.
export OMPI_MCA_opal_signal=
ulimit -c unlimited

describe_cores() { # DIRECTORY
    local core
    for core in "$1"/core*; do
        [ -e "$core" ] || continue
        echo "core of job ${1##*/}: $core"
        command -v gdb > /dev/null && gdb -batch -ex 'info registers rip rsp' -ex 'info sharedlibrary' \
            -ex 'thread apply all bt 40' "$programs/short_job" "$core" 2>&1
    done
}

is_open_mpis_own() { # FILE: succeeds if all cores of a job are of the crash described above
    local cores
    cores=$(grep -c '^core' "$1") && [ "$(grep -c '^#0  0x[0-9a-f]*6f0 in ?? ()$' "$1")" -ge "$cores" ] &&
        [ "$(grep -c '^#[0-9]* .* in opal_progress_thread_finalize ()' "$1")" = "$cores" ]
}

one_job() { # NUMBER determines the number of processes, the components, and which resources are not released
    local number=$1 status dir=$scratch/job/$1
    local processes=$((3 + number / 2 % 2)) before=() options=() arguments=()
    [ $((number % 2)) = 0 ] || before=(setarch -R)
    case $((number / 4 % 3)) in
        0) ;;
        1) options=(--mca pml ob1 --mca btl "myr,self") ;;
        2) options=(--mca coll_nicbarr_thread 1) ;;
    esac
    case $((number / 12 % 4)) in
        0) ;;
        1) arguments=(--leave) ;;
        2) arguments=(--tools) ;;
        3) arguments=(--tools-twice --leave) ;;
    esac
    arguments+=("${@:2}")
    mkdir -p "$dir"
    cd "$dir" || return
    timeout -k 5 "${watchdog:-600}" "${before[@]}" mpirun -np "$processes" "${options[@]}" \
        "$programs/short_job" "${arguments[@]}" > out 2>&1
    status=$?
    grep -q '^ok' out || status="$status, no ok"
    {
        echo "job $number: np $processes ${before[*]} ${options[*]} ${arguments[*]}: status $status"
        [ "$status" = 0 ] || sed 's/^/     | /' out
        describe_cores "$dir"
    } > told
    cat told >> "$log"
    # The directory of a job that has failed is kept, because it contains the cores.
    if { [ "$status" = 0 ] && ! grep -q '^core' told; } || is_open_mpis_own told; then
        rm -rf "$dir"
    else
        cat told
    fi
}
export -f one_job describe_cores is_open_mpis_own

run_all() {
    seq "$first" $((first + jobs - 1)) |
        xargs -P "$parallel" -I '{}' bash -c 'one_job {}' > "$scratch/out" 2>&1
    [ ! -s "$scratch/out" ]
}
check "$jobs short jobs end normally, $parallel at a time" run_all
check "all jobs have run" test "$(grep -c '^job ' "$log")" -ge "$jobs"
finds() { one_job 0 --crash > "$scratch/out" 2>&1; grep -q '^job 0: .*status [1-9]' "$scratch/out"; }
check "the test detects a crash at the end of a job" finds

# Between two sessions Open MPI closes its components and opens them again. (4.1 has no sessions.)
#
# Open MPI 5.0.7 itself can hang between two sessions, even without nicbarr, in up to 3 of 150 jobs: one process waits
# for a fence in MPI_Session_init, and the others have passed it and are in PMIx_Group_construct. Therefore, if no stack
# of the three processes contains nicbarr's code, the test runs another job.
stands_elsewhere() {
    [ "$(grep -c 'a process is stuck here' "$scratch/out")" = 3 ] && ! said "/mca_\(coll_nicbarr\|btl_myr\).so"
}
sessions() { # MPIRUN-OPTION...
    for _ in 1 2 3; do
        watchdog=130 job 3 "$@" "$programs/sessions"
        ! said "^ok sessions" && ! said "^skip sessions" || return 0
        stands_elsewhere || return
    done
    return 1
}
check "a program uses sessions one after the other" sessions
unset OMPI_MCA_btl
check "a program uses sessions one after the other, with btl/myr" sessions --mca pml ob1 --mca btl myr,self
finish
