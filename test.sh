#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The whole test suite, from a bare checkout: installs and builds what is missing (setup.sh), then runs
#   - all tests against this machine's Open MPI (make check);
#   - the unit tests and the heart of the MPI-level ones under AddressSanitizer and UBSan, the
#     lock-free parts under ThreadSanitizer, and one MPI-level test under valgrind;
#   - fuzzers, the models of the protocol and of memory, static analysis and formatting;
#   - the tests with MPI against Open MPI 5.0, in a Debian 13 chroot (needs root; --quick leaves it out).
# The tests mostly wait, so what only computes runs beside them, behind them in turn (nice).
# Its last line counts what passed and failed; logs are in _build*/ and _test/.
set -u
cd "$(dirname "$0")" || exit 1
quick=no
case "${1-}" in
    "") ;;
    --quick) quick=yes ;;
    *) echo "usage: ./test.sh [--quick]" >&2; exit 64 ;;
esac
./setup.sh check || exit 1
. ompi/jobs.sh

logs=_test
rm -rf "$logs"
mkdir "$logs"

say() { printf '\n== %s\n' "$*"; }

# Two print and count at the same time: the tests, and what runs beside them.
tell() { flock "$logs/told" cat; } # all of its input, with nobody's else between
tally() { echo "$1 $2" >> "$logs/tally"; } # passed|failed|skipped HOW-MANY
total() { awk -v what="$1" '$1 == what { sum += $2 } END { print sum + 0 }' "$logs/tally"; }

# One thing that passes or fails as a whole, or is skipped (77); its output is shown if it fails.
step() { # NAME COMMAND...
    local name=$1 log status
    shift
    log=$logs/$(echo "$name" | tr -c 'a-z0-9\n' _).log
    "$@" > "$log" 2>&1
    status=$?
    if [ $status = 0 ]; then
        tally passed 1
        echo "PASS: $name"
    elif [ $status = 77 ]; then
        tally skipped 1
        echo "SKIP: $name ($(tail -n 1 "$log"))"
    else
        tally failed 1
        echo "FAIL: $name ($log)"
        tail -n 40 "$log" | sed 's/^/    | /'
    fi | tell
}

# Tests run by automake's harness, each of which counts.
suite() { # LOG COMMAND...
    local log=$logs/$1 status bad whole=yes
    shift
    "$@" > "$log" 2>&1
    status=$?
    count() { sed -n "s/^# $1: *//p" "$log" | tail -n 1 | grep . || echo 0; }
    bad=$(($(count FAIL) + $(count ERROR) + $(count XPASS)))
    if [ $bad = 0 ] && { [ $status != 0 ] || [ "$(count TOTAL)" = 0 ]; }; then
        whole=no bad=1 # it did not come to the tests, or not to their end
    fi
    tally passed "$(count PASS)"
    tally skipped "$(count SKIP)"
    tally failed $bad
    {
        grep -aE '^(PASS|FAIL|SKIP|ERROR|XPASS): ' "$log"
        [ $whole = yes ] || echo "FAIL: the tests were not all run ($log)"
        if [ $bad != 0 ]; then
            grep -aE '^(FAIL |     \||.*[Ee]rror)' "$log" | tail -n 60
        fi
    } | tell
}

sanitized() {
    local flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    flags="$flags -fno-omit-frame-pointer"
    mkdir -p _build-asan && cd _build-asan &&
        { [ -e config.status ] || ../configure --quiet --prefix="$PWD/../_install-asan" \
            CFLAGS="$flags" CXXFLAGS="$flags"; } &&
        make -s --no-print-directory -j"$(nproc)" && make -s -j"$(nproc)" check TESTS=
}

# The members of a group as threads of one process, so that what they share is seen.
threaded="plan layout waiter group exchange ring segment inlet port nic"
with_threads() {
    local flags="-O1 -g -fsanitize=thread -fno-omit-frame-pointer" name programs=()
    for name in $threaded; do programs+=("tests/unit/${name}_test"); done
    mkdir -p _build-tsan && cd _build-tsan &&
        { [ -e config.status ] || ../configure --quiet --prefix="$PWD/../_install-tsan" \
            CFLAGS="$flags" CXXFLAGS="$flags"; } &&
        make -s --no-print-directory -j"$(nproc)" "${programs[@]}"
}

analysed() {
    sources=$(git ls-files '*.c' '*.h')
    step "clang-format" bash -c "echo '$sources' | xargs clang-format --dry-run -Werror"
    # (What runs in the kernel is left to the kernel's verifier.)
    step "cppcheck" cppcheck --quiet -i firmware/kernel/program.bpf.c --error-exitcode=1 --std=c11 --enable=warning,portability \
        --inline-suppr --suppress=missingInclude --suppress=missingIncludeSystem -I. -D_GNU_SOURCE '-DNICBARR_VERSION=""' '-DNICSIM_DATA=""' \
        '-DPKGLIBEXECDIR=""' -DOMPI_MAJOR_VERSION=4 -DOMPI_MINOR_VERSION=1 -DOMPI_RELEASE_VERSION=0 \
        os firmware libmyr coll_nicbarr btl_myr myrd tools bench
    step "clang-tidy" bash -c "clang-tidy --quiet firmware/*.c firmware/soft/*.c firmware/sim/*.c \
        libmyr/*.c libmyr/verbs/*.c myrd/*.c tools/*.c bench/nicsim/*.c coll_nicbarr/{schedule,model,statistics,nics,hello,census,contest,candidates,digest,shape,cache_file,report_file,regular_file,kinds}.c -- \
        -std=gnu11 -D_GNU_SOURCE -I. '-DNICBARR_VERSION=\"\"' '-DNICSIM_DATA=\"\"' '-DPKGLIBEXECDIR=\"\"'"
    step "licences" tests/style.sh licences
    step "documents" tests/style.sh documents
    step "shellcheck" bash -c "{ git ls-files '*.sh'; git grep -lE '^#!/bin/(ba)?sh'; } | sort -u |
        xargs shellcheck -x -P SCRIPTDIR -e SC1091,SC2154,SC2016,SC2034,SC2317"
}

# A list of the Makefile's.
listed() { make -s -C _build --no-print-directory --eval "listed: ; @echo \$($1)" listed; }

searched() { # each starts no job, and leaves what it finds in the folder of the logs
    local search
    for search in $(listed search_tests); do
        step "$search" env -C "$logs" srcdir="$PWD" "$PWD/$search"
    done
}

# What computes and starts no job, so that nothing is late by it but itself.
beside() {
    renice -n 10 $BASHPID > /dev/null
    step "sanitized build" bash -c "$(declare -f sanitized); sanitized"
    step "threaded build" bash -c "threaded='$threaded'; $(declare -f with_threads); with_threads"
    analysed
    searched
}

tarball() { # has all that git has
    local folder=_build/nicbarr-dist
    make -s -C _build --no-print-directory distdir distdir=nicbarr-dist || return
    git ls-files ':!.*' ':!**/.*' | while read -r file; do
        [ -e "$folder/$file" ] || echo "the tarball lacks $file"
    done | grep . && return 1
    chmod -R u+w "$folder" && rm -rf "$folder"
}

step "tarball" tarball
say "tests with $(mpirun --version | head -n 1); beside them builds, static analysis and searches"
set -m # a group of processes, that ends with this script
beside < /dev/null &
beside=$!
set +m
trap 'kill -- -$beside' EXIT
# shellcheck disable=SC2016 # for make
suite check.log make -C _build --no-print-directory check VERBOSE=1 \
    TESTS="$(listed 'filter-out $(search_tests),$(TESTS)')"
wait $beside || tally failed 1 # it was killed
trap - EXIT
grep '^coverage: ' "$logs/tests_fuzz_run_sh.log" # what the fuzzers reach

say "AddressSanitizer and UBSan"
# Open MPI itself leaks at exit; what we allocate is looked at by valgrind below.
export ASAN_OPTIONS=detect_leaks=0
if [ -e _build-asan/tests/mpi/barrier_ledger ]; then
    for test in _build-asan/tests/unit/*_test _build-asan/tools/tests/*_test; do
        [ -x "$test" ] && step "sanitized ${test##*/}" "$test"
    done
    sanitized_job() { # PROCESSES PROGRAM...
        mkdir -p "$logs/components"
        ln -sf "$PWD/_build-asan/coll_nicbarr/.libs/mca_coll_nicbarr.so" \
            "$PWD/_build-asan/btl_myr/.libs/mca_btl_myr.so" "$logs/components/"
        OMPI_MCA_mca_base_component_path=$PWD/$logs/components:SYSTEM_DEFAULT \
            OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/asan.json \
            timeout 300 mpirun -np "$1" "${btl[@]}" "_build-asan/tests/mpi/$2" "${@:3}"
    }
    btl=()
    step "sanitized ledger" sanitized_job 3 barrier_ledger --iterations 3000
    step "sanitized shapes" sanitized_job 4 barrier_shapes
    step "sanitized ibarrier" sanitized_job 3 ibarrier
    step "sanitized freed" sanitized_job 3 ibarrier --freed
    step "sanitized threads" sanitized_job 2 threads
    step "sanitized data" sanitized_job 3 data --steps 300
    step "sanitized progress" sanitized_job 3 progress
    btl=(--mca pml ob1 --mca btl "myr,self")
    step "sanitized messages" sanitized_job 3 pt2pt --rounds 1
fi
unset ASAN_OPTIONS

say "ThreadSanitizer"
for name in $threaded; do
    step "threaded $name" env NICBARR_THREADS=1 TSAN_OPTIONS=halt_on_error=1 \
        "_build-tsan/tests/unit/${name}_test"
done

say "valgrind"
under_valgrind() { # errors and leaks with a function of ours in their stack
    . ./env.sh
    OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/valgrind.json \
        timeout 600 mpirun -np 2 valgrind --quiet --leak-check=full --num-callers=30 --fullpath-after= \
        --log-file="$logs/valgrind.%p" _build/tests/mpi/barrier_shapes --alive 40 --steps 200 ||
        return 1
    ! grep -H -B 12 -A 4 '/coll_nicbarr/\|/libmyr/\|/firmware/\|mca_coll_nicbarr' "$logs"/valgrind.[0-9]*
}
step "valgrind" under_valgrind

if [ $quick = yes ]; then
    say "Open MPI 5.0: left out (--quick)"
elif [ "$(id -u)" != 0 ]; then
    say "Open MPI 5.0: left out (a chroot needs root)"
    tally skipped 1
else
    say "tests with Open MPI 5.0, in a Debian 13"
    if tests/debian13.sh mpirun --version > "$logs/debian13.log" 2>&1; then
        head -n 1 "$logs/debian13.log"
        suite check-5.0.log tests/debian13.sh bash -c 'mkdir -p /build && cd /build &&
            { [ -e config.status ] || /nicbarr/configure --quiet --prefix=/build/_install; } &&
            make -s -j2 && make check-mpi VERBOSE=1'
    else
        tally failed 1
        tail -n 20 "$logs/debian13.log"
    fi
fi

echo
failed=$(total failed)
echo "$(total passed) passed, $failed failed, $(total skipped) skipped"
[ "$failed" = 0 ]
