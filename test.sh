#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The whole test suite, from a bare checkout: installs and builds what is missing (setup.sh), then runs
#   - all tests against this machine's Open MPI (make check), two of them on virtual machines (need root);
#   - the unit tests and the heart of the MPI-level ones under AddressSanitizer and UBSan, the
#     lock-free parts under ThreadSanitizer, and one MPI-level test under valgrind;
#   - the unit tests for two other processors, by qemu, and with another C library (need root);
#   - fuzzers, the models of the protocol and of memory, static analysis and formatting;
#   - the tarball, built elsewhere, and the Debian packages, in a bare Debian (needs root);
#   - the tests with MPI against Open MPI 5.0, in a Debian 13 chroot (needs root; --quick leaves it out).
# The tests mostly wait, so what only computes runs beside them, behind them in turn (nice).
# Each line says how many there are in all, and the minutes so far. The last one counts what passed and
# failed; logs are in _build*/ and _test/.
set -u
# shellcheck source=nethosts/usage.sh
. "$(dirname "$0")/nethosts/usage.sh"
cd "$(dirname "$0")" || exit 1
quick=no
case "${1-}" in
    "") ;;
    --quick) quick=yes ;;
    *) usage ;;
esac
./setup.sh check || exit 1
. ompi/jobs.sh

logs=_test
rm -rf "$logs"
mkdir "$logs"

say() { printf '\n== %s\n' "$*"; }

# A verdict: counted, and told with what is to be shown of it, by the input. Two do so at the same time: the
# tests, and what runs beside them.
tell() { # PASS|FAIL|SKIP WHAT
    {
        flock 9
        echo "$1" >> "$logs/tally"
        printf '%s: %s (%d of %d, %d min)\n' "$1" "$2" "$(wc -l < "$logs/tally")" "$all" $((SECONDS / 60))
        cat
    } 9> "$logs/told"
}
total() { grep -cx "$1" "$logs/tally"; }

# One thing that passes or fails as a whole, or is skipped (77); its output is shown if it fails.
step() { # NAME COMMAND...
    local name=$1 log status
    shift
    log=$logs/$(echo "$name" | tr -c 'a-z0-9\n' _).log
    "$@" > "$log" 2>&1
    status=$?
    case $status in
        0) tell PASS "$name" < /dev/null ;;
        77) tell SKIP "$name: $(tail -n 1 "$log")" < /dev/null ;;
        *) tail -n 40 "$log" | sed 's/^/    | /' | tell FAIL "$name: $log" ;;
    esac
}

# Tests run by automake's harness, each of which counts, and is told when it ends.
suite() { # LOG BUILD-FOLDER TESTS COMMAND...
    local log=$logs/$1 build=$2 tests=$3
    shift 3
    "$@" 2>&1 < /dev/null | tee "$log" | {
        verdict='^(PASS|FAIL|SKIP|ERROR|XPASS): ([^ ]+)$'
        declare -A left
        for test in $tests; do left[$test]=yes; done
        while IFS= read -r line; do
            if [[ ! $line =~ $verdict ]] || [ -z "${left[${BASH_REMATCH[2]}]-}" ]; then
                continue
            fi
            test=${BASH_REMATCH[2]}
            unset "left[$test]"
            case ${BASH_REMATCH[1]} in
                PASS | SKIP) tell "${BASH_REMATCH[1]}" "$test" < /dev/null ;;
                *) grep -aE '^(FAIL |     \||not ok|.*[Ee]rror)' "$build/${test%.sh}.log" | tail -n 60 |
                    tell FAIL "$test: $build/${test%.sh}.log" ;;
            esac
        done
        [ ${#left[@]} = 0 ] || tail -n 20 "$log" | sed 's/^/    | /' | tell FAIL "${#left[@]} tests were not run: $log"
    }
}

sanitized() {
    local flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    flags="$flags -fno-omit-frame-pointer"
    mkdir -p _build-asan && cd _build-asan &&
        { [ -e config.status ] || ../configure --quiet --disable-man --prefix="$PWD/../_install-asan" \
            CFLAGS="$flags" CXXFLAGS="$flags"; } &&
        make -s --no-print-directory -j"$(nproc)" && make -s -j"$(nproc)" check TESTS=
}

# One of 64 bits, and one of the other byte order; by hand also others.
processors="arm64 s390x"

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

# Debian 12's: another version breaks lines elsewhere, or takes other lines for errors.
wanted() { # PROGRAM VERSION
    "$1" --version
    "$1" --version | grep -Ewq "(version:?|Cppcheck) ${2//./\\.}" || { echo "$1 $2 is wanted"; return 77; }
}
formatted() {
    wanted clang-format 14 && git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}
cpp_checked() {
    wanted cppcheck 2.10 &&
        cppcheck --quiet -i firmware/kernel/program.bpf.c --error-exitcode=1 --std=c11 --enable=warning,portability \
            --inline-suppr --suppress=missingInclude --suppress=missingIncludeSystem -I. -D_GNU_SOURCE \
            '-DNICBARR_VERSION=""' '-DNICSIM_DATA=""' '-DPKGLIBEXECDIR=""' '-DPKGDATADIR=""' \
            -DOMPI_MAJOR_VERSION=4 -DOMPI_MINOR_VERSION=1 -DOMPI_RELEASE_VERSION=0 \
            os firmware libmyr myr coll_nicbarr btl_myr mtl_myr myrd tools bench
}
tidied() {
    wanted clang-tidy 14 &&
        clang-tidy --quiet firmware/*.c firmware/soft/*.c firmware/sim/*.c \
            libmyr/*.c libmyr/*/*.c myr/*.c myrd/*.c tools/*.c bench/nicsim/*.c coll_nicbarr/{schedule,nics,hello,census,digest,shape,kinds}.c coll_nicbarr/choice/{model,statistics,contest,duel,portions,anew,candidates,evidence}.c coll_nicbarr/files/{network,cache_file,cache_json,cache_places,report_file,regular_file}.c -- \
            -std=gnu11 -D_GNU_SOURCE -I. '-DNICBARR_VERSION=""' '-DNICSIM_DATA=""' '-DPKGLIBEXECDIR=""' '-DPKGDATADIR=""'
}
scripts_checked() {
    wanted shellcheck 0.9 &&
        { git ls-files '*.sh'; git grep -lE '^#!/bin/(ba)?sh'; } | sort -u |
        xargs shellcheck -x -P SCRIPTDIR -e SC1091,SC2154,SC2016,SC2034,SC2317
}

analysed() {
    step "clang-format" formatted
    # (What runs in the kernel is left to the kernel's verifier.)
    step "cppcheck" cpp_checked
    step "clang-tidy" tidied
    step "licences" tests/style.sh licences
    step "documents" tests/style.sh documents
    step "shellcheck" scripts_checked
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
    for processor in $processors; do
        step "processor $processor" tests/processors.sh "$processor"
    done
    step "musl" tests/musl.sh
    searched
    step "distcheck" make -s -C _build distcheck TESTS='docs/example tests/unit/schedule_test' # the others run here
    step "Debian packages" tests/packages.sh
    [ -z "$chroot_tests" ] || in_chroot "$built" > "$logs/chroot.log" 2>&1 # a failure is seen again, below
}

# In a Debian 13, which has Open MPI 5.0.
in_chroot() { tests/debian13.sh bash -c "$1" < /dev/null; }
built='mkdir -p /build && cd /build && { [ -e config.status ] || /nicbarr/configure --quiet --prefix=/build/_install; } &&
    make -s -j2'

# How many verdicts there will be: one for each of the harness's tests, and one for each line of this
# script that begins with `step`, but for those in loops, which have one for each thing they name.
count() { echo $#; }
suite_tests=$(listed 'filter-out $(search_tests),$(TESTS)')
series=$(listed OMPI_SERIES)
left_out='' chroot_tests=''
if [ "$series" = 5.0 ]; then
    left_out="it is this machine's own"
elif [ $quick = yes ]; then
    left_out="--quick"
elif [ "$(id -u)" != 0 ]; then
    left_out="a chroot needs root: sudo $PWD/test.sh"
else
    chroot_tests=$(listed component_tests)
fi
# shellcheck disable=SC2046,SC2086 # words
all=$(($(count $suite_tests $chroot_tests) + $(grep -c '^ *step ' "$0") - 4 + $(count $(listed search_tests)) +
    $(count tools_test $(listed unit_programs) $threaded $processors)))

step "tarball" tests/tarball.sh
say "tests with $(mpirun --version | head -n 1); beside them builds, static analysis and searches"
set -m # a group of processes, that ends with this script
beside < /dev/null &
beside=$!
set +m
trap 'kill -- -$beside' EXIT
suite check.log _build "$suite_tests" make -C _build --no-print-directory check VERBOSE=1 TESTS="$suite_tests"
wait $beside # if it was killed, verdicts are missing
trap - EXIT
grep '^coverage: ' "$logs/tests_fuzz_run_sh.log" # what the fuzzers reach

say "AddressSanitizer and UBSan"
# Open MPI itself leaks at exit; what we allocate is looked at by valgrind below.
export ASAN_OPTIONS=detect_leaks=0
if [ -e _build-asan/tests/mpi/barrier_ledger ]; then
    for test in _build-asan/tests/unit/*_test _build-asan/tools/tests/*_test; do
        step "sanitized ${test##*/}" "$test"
    done
    sanitized_job() { # PROCESSES PROGRAM...
        mkdir -p "$logs/components"
        ln -sf "$PWD"/_build-asan/*/.libs/mca_*.so "$logs/components/"
        OMPI_MCA_mca_base_component_path=$PWD/$logs/components:SYSTEM_DEFAULT \
            OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/asan.json \
            timeout 300 mpirun -np "$1" "${messages[@]}" "_build-asan/tests/mpi/$2" "${@:3}"
    }
    messages=()
    step "sanitized ledger" sanitized_job 3 barrier_ledger --iterations 3000
    step "sanitized shapes" sanitized_job 4 barrier_shapes
    step "sanitized ibarrier" sanitized_job 3 ibarrier
    step "sanitized freed" sanitized_job 3 ibarrier --freed
    step "sanitized threads" sanitized_job 2 threads
    step "sanitized data" sanitized_job 3 data --steps 300
    step "sanitized progress" sanitized_job 3 progress
    messages=(--mca pml ob1 --mca btl "myr,self")
    step "sanitized messages" sanitized_job 3 pt2pt --rounds 1
    step "sanitized windows" sanitized_job 3 windows
    messages=(--mca pml cm --mca mtl myr --mca mtl_myr_runner 1)
    step "sanitized matching" sanitized_job 3 matching --rounds 3 --truncate
fi
unset ASAN_OPTIONS

say "ThreadSanitizer"
for name in $threaded; do
    step "threaded $name" env NICBARR_THREADS=1 TSAN_OPTIONS=halt_on_error=1 \
        "_build-tsan/tests/unit/${name}_test"
done

say "valgrind"
# Errors and leaks with a function of ours in their stack. (Libraries come and go, and ours may lie where
# another one was: so valgrind is to remember those that are gone.)
under_valgrind() {
    . ./env.sh
    OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/valgrind.json \
        timeout 600 mpirun -np 2 valgrind --quiet --leak-check=full --num-callers=30 --keep-debuginfo=yes --fullpath-after= \
        --log-file="$logs/valgrind.%p" _build/tests/mpi/barrier_shapes --alive 40 --steps 200 ||
        return 1
    ! grep -H -B 12 -A 4 '/coll_nicbarr/\|/libmyr/\|/firmware/\|mca_coll_nicbarr' "$logs"/valgrind.[0-9]*
}
step "valgrind" under_valgrind

if [ -n "$chroot_tests" ]; then
    say "tests with Open MPI 5.0, in a Debian 13"
    in_chroot 'mpirun --version' 2>&1 | grep . | head -n 1
    suite check-5.0.log "${NICBARR_DEBIAN13:-_cache/debian13}/build" "$chroot_tests" \
        in_chroot "$built && make check-mpi VERBOSE=1"
fi

echo
[ -z "$left_out" ] || echo "left out: Open MPI 5.0, in a Debian 13 ($left_out)"
missing=$((all - $(wc -l < "$logs/tally")))
[ $missing -le 0 ] || echo "$missing were not run: see what failed"
echo "$(total PASS) passed, $(total FAIL) failed, $(total SKIP) skipped"
[ "$(total FAIL)" = 0 ] && [ $missing -le 0 ]
