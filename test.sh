#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run the tests. The script also works in a fresh checkout, because it first installs and builds what is missing
# (setup.sh). Forms:
#
#     ./test.sh                  the short form, a quarter of an hour: unit tests, also under sanitizers, static
#                                analysis, and for each NIC, messages, Open MPI 4.1 and 5.0 the tests that find
#                                most
#     ./test.sh --all            everything, an hour and more: also other processor architectures, fuzzers, models,
#                                virtual machines, Debian packages
#     ./test.sh --since COMMIT   the short form, then the tests that changes since COMMIT can break, in an order drawn
#                                by the seed; none of these begins later than 25 minutes after the start
#     ./test.sh PART...          only these parts (tests/parts lists them), or unit tests by name
#
# Some parts require root, for chroots, network namespaces or virtual machines. Without root they are skipped with a
# message. Parts that start jobs run one after the other, and the other parts run concurrently with them, at low
# priority. For each test the script prints a line with its verdict and duration, and after a failure the command
# that repeats the test with the same seed (NICBARR_SEED), which determines all random choices. Logs are in _test/.
set -u
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
cd "$(dirname "$0")" || exit 1
form=short
since=
case $#-${1-} in
    0-) ;;
    1---all) form=all ;;
    2---since)
        form=since
        since=$(git rev-parse --quiet --verify "$2^{commit}") || { echo "test.sh: there is no commit $2" >&2; exit 64; } ;;
    *---*) usage ;;
    *) form=named ;;
esac
./setup.sh check || exit 1
. ompi/jobs.sh
. tools/ccache.sh
export NICBARR_SEED=${NICBARR_SEED:-$((RANDOM << 13 ^ RANDOM))}
most=1500 # seconds; see --since

top=$PWD
logs=$top/_test
rm -rf "$logs"
mkdir "$logs"

# ---- verdicts

# Records a verdict and prints it, followed by the standard input as details. May be called concurrently.
tell() { # PASS|FAIL|SKIP NAME SECONDS
    {
        flock 9
        printf '%4d s  %s %s\n' "$3" "$1" "$2" >> "$logs/verdicts"
        printf '%s: %s (%d s; %d verdicts in %d min)\n' "$1" "$2" "$3" "$(wc -l < "$logs/verdicts")" $((SECONDS / 60))
        cat
    } 9> "$logs/told"
}
total() { grep -c "^ *[0-9]* s  $1 " "$logs/verdicts"; }

# Runs a command as one test, which passes, fails or is skipped (77). Shows its output if it fails. Returns its
# status.
step() { # NAME COMMAND...
    local name=$1 log began=$SECONDS status
    log=$logs/$(echo "$1" | tr -c 'a-zA-Z0-9\n' _).log
    shift
    "$@" > "$log" 2>&1 < /dev/null
    status=$?
    case $status in
        0) tell PASS "$name" $((SECONDS - began)) < /dev/null ;;
        77) tell SKIP "$name: $(tail -n 1 "$log")" $((SECONDS - began)) < /dev/null ;;
        *) {
            grep -aE '^(FAIL[ :]|     \||not ok|#|.*[Ee]rror)' "$log" | tail -n 60 | grep . || tail -n 40 "$log"
            echo "(${log#"$top/"}; again: NICBARR_SEED=$NICBARR_SEED ./test.sh ${part-$name})"
        } | sed 's/^/    | /' | tell FAIL "$name" $((SECONDS - began)) ;;
    esac
    return $status
}

# Runs a program or script of the tests, which finds the build and the sources by variables, and writes into $logs. If
# it hangs, it is terminated, so that the remaining tests are run. (No test takes more than a third of the limit.)
play() { timeout --foreground -k 10 2700 env -C "$logs" builddir="$top/_build" srcdir="$top" "$@"; }

two_at_a_time() ( # COMMAND NAME, for each NAME; in a subshell, which has no other children
    command=$1
    shift
    for name; do
        [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
        $command "$name" &
    done
    wait
)

# `listed VARIABLE` prints the value of a variable of the Makefile.
list_of='make -s --no-print-directory --eval "listed: ; @echo \$($list)" listed'
listed() { (cd _build && list=$1 && eval "$list_of"); }
quiet_make() { make -s --no-print-directory -j"$(nproc)" "$@"; }

# ---- parts: those that are not scripts are functions here

unit_programs=$(listed unit_programs)
one_unit() { step "$1" play "$top/_build/$1"; }
unit() {
    local programs
    programs="$unit_programs $(listed fibre_programs) tools/tests/tools_test docs/example"
    # shellcheck disable=SC2086 # words
    step "build of the unit tests" quiet_make -C _build $programs || return
    # shellcheck disable=SC2086 # words
    two_at_a_time one_unit $programs
}

# A Makefile function call that lists the programs that are run in jobs, and the libraries that scripts preload.
job_programs='filter-out $(unit_programs) $(fibre_programs),$(check_PROGRAMS) $(check_LTLIBRARIES)'
programs() {
    # shellcheck disable=SC2046 # words
    step "build of the test programs" quiet_make -C _build $(listed "$job_programs")
}

read -ra built_sources < <(listed BUILT_SOURCES) # `make TARGET` would not build these before TARGET
# A directory that an earlier version of this script configured with other flags is configured again.
build_with() { # FLAGS DIRECTORY TARGETS...
    mkdir -p "$2" && cd "$2" &&
        { grep -qsF "CFLAGS='-g -fno-omit-frame-pointer $1'" config.status ||
            ../configure --quiet --disable-man --enable-werror --prefix="$PWD/../_install-${2#_build-}" \
                CFLAGS="-g -fno-omit-frame-pointer $1" CXXFLAGS="-g -fno-omit-frame-pointer $1"; } &&
        quiet_make "${built_sources[@]}" && quiet_make "${@:3}"
}

asan_build() { (build_with "-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" _build-asan "$@"); }
# Leaks are not detected here, because Open MPI itself leaks at exit. valgrind_job checks the allocations of
# nicbarr.
one_sanitized() { step "sanitized ${1##*/}" env ASAN_OPTIONS=detect_leaks=0 "_build-asan/$1"; }
sanitized() {
    # shellcheck disable=SC2086 # words
    step "sanitized build" asan_build $unit_programs tools/tests/tools_test || return
    # shellcheck disable=SC2086 # words
    two_at_a_time one_sanitized $unit_programs tools/tests/tools_test
}

sanitized_job() { # PROCESSES PROGRAM...
    mkdir -p "$logs/components"
    ln -sf "$top"/_build-asan/*/.libs/mca_*.so "$logs/components/"
    ASAN_OPTIONS=detect_leaks=0 OMPI_MCA_mca_base_component_path=$logs/components:SYSTEM_DEFAULT \
        OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/asan.json \
        timeout 300 mpirun -np "$1" "${mca[@]}" "_build-asan/tests/$2" "${@:3}"
}
sanitized_jobs() {
    local mca=() flavour
    # shellcheck disable=SC2046 # words
    step "sanitized build for jobs" asan_build all $(listed mpi_programs) tests/programs/player || return
    step "sanitized ledger" sanitized_job 3 mpi/barrier_ledger --iterations 3000
    mca=(--mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_reduce exchange --mca coll_nicbarr_bcast ring
        --mca coll_nicbarr_allgather exchange --mca coll_nicbarr_gather exchange --mca coll_nicbarr_scatter ring)
    for flavour in '{}' '{"threads": true}' '{"collectives": ["barrier"], "hows": "bip", "inter": true}'; do
        tests/programs/run.sh draw "$logs/asan.program" "$NICBARR_SEED" --length 300 --ours node --flavour "$flavour" &&
            step "sanitized data, $flavour" sanitized_job 3 programs/player --program "$logs/asan.program"
    done
    mca=()
    step "sanitized progress" sanitized_job 3 mpi/progress
    mca=(--mca pml ob1 --mca btl "myr,self")
    tests/programs/run.sh draw "$logs/asan.program" "$NICBARR_SEED" --flavour \
        '{"messages": true, "away": true, "windows": true, "atomics": true}' &&
        step "sanitized messages, btl/myr" sanitized_job 3 programs/player --program "$logs/asan.program"
    mca=(--mca pml cm --mca mtl myr --mca mtl_myr_runner 1)
    tests/programs/run.sh draw "$logs/asan.program" "$NICBARR_SEED" --flavour '{"messages": true, "away": true, "truncated": true}' &&
        step "sanitized messages, mtl/myr" sanitized_job 3 programs/player --program "$logs/asan.program"
}

# The members of a group are threads of one process, because ThreadSanitizer does not support memory that is
# shared between processes.
one_threaded() { step "threaded ${1##*/}" env NICBARR_THREADS=1 TSAN_OPTIONS=halt_on_error=1 "_build-tsan/$1"; }
# (It does not support the fence of the RDMA NIC, which no tested program executes; -Wtsan reports that.)
tsan_build() { (build_with "-O1 -fsanitize=thread -Wno-tsan" _build-tsan "$@"); }
threaded() {
    local name programs=()
    for name in layout waiter group slots segment inlet port nic; do
        programs+=("tests/unit/${name}_test")
    done
    step "threaded build" tsan_build "${programs[@]}" || return
    for name in "${programs[@]}"; do
        one_threaded "$name" # one at a time, because each has more threads than there are processors
    done
}

# Fails if the stack of an error or leak contains a function of nicbarr. valgrind keeps the symbols of unloaded
# libraries, because others may be mapped at the same address later.
under_valgrind() {
    . ./env.sh
    tests/programs/run.sh draw "$logs/valgrind.program" "$NICBARR_SEED" --length 200 || return
    OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_report=$logs/valgrind.json \
        timeout 600 mpirun -np 2 valgrind --quiet --leak-check=full --num-callers=30 --keep-debuginfo=yes --fullpath-after= \
        --log-file="$logs/valgrind.%p" _build/tests/programs/player --program "$logs/valgrind.program" ||
        return 1
    ! grep -H -B 12 -A 4 '/coll_nicbarr/\|/libmyr/\|/firmware/\|mca_coll_nicbarr' "$logs"/valgrind.[0-9]*
}
valgrind_job() { step "valgrind" under_valgrind; }

# Skips a check unless the program has the version of Debian 12, because other versions break lines differently
# or report other errors.
wanted() { # PROGRAM VERSION
    "$1" --version
    "$1" --version | grep -Ewq "(version:?|Cppcheck) ${2//./\\.}" || { echo "$1 $2 is required"; return 77; }
}
# Prints the definitions of paths and of the version that the Makefiles pass to the compiler, with empty strings
# as values.
paths_defined() { git grep -ohE -e "-D[A-Z_]+='\\\\?\"" -- '*.mk' configure.ac | sed "s/'.*/\"\"/" | sort -u; }
formatted() {
    wanted clang-format 14 && git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}
# The BPF program is excluded, because the verifier of the kernel checks it.
cpp_checked() {
    local defined
    mapfile -t defined < <(paths_defined)
    wanted cppcheck 2.10 &&
        cppcheck --quiet -i firmware/kernel/program.bpf.c --error-exitcode=1 --std=c11 --enable=warning,portability \
            --inline-suppr --suppress=missingInclude --suppress=missingIncludeSystem -I. -D_GNU_SOURCE "${defined[@]}" \
            -DOMPI_MAJOR_VERSION=4 -DOMPI_MINOR_VERSION=1 -DOMPI_RELEASE_VERSION=0 \
            os firmware libmyr myr coll_nicbarr btl_myr mtl_myr myrd tools bench
}
tidied() {
    wanted clang-tidy 14 &&
        printf '%s\0' firmware/*.c firmware/soft/*.c firmware/sim/*.c \
            libmyr/*.c libmyr/*/*.c myr/*.c myrd/*.c tools/*.c bench/nicsim/*.c coll_nicbarr/{schedule,nics,hello,census,digest,shape,kinds}.c coll_nicbarr/choice/{model,statistics,contest,comparison,batches,remeasure,candidates,evidence}.c coll_nicbarr/files/{network,cache_file,cache_lines,cache_locations,cache_writer,report_file,regular_file}.c |
        DEFINED=$(paths_defined) xargs -0 -n 20 -P "$(nproc)" sh -c \
            'clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE -I. $DEFINED' sh
}
scripts_checked() {
    wanted shellcheck 0.9 &&
        { git ls-files '*.sh'; git grep -lE '^#!/bin/(ba)?sh'; } | sort -u |
        xargs shellcheck -x -P SCRIPTDIR -e SC1091,SC2154,SC2016,SC2034,SC2317
}
analysis() {
    step "clang-format" formatted
    step "licences" tests/style.sh licences
    step "documents" tests/style.sh documents
    step "sizes" tests/style.sh sizes
    step "layers" tests/layers.py
    step "messages" tests/messages.py
    step "figures" bench/figures.py
    step "shellcheck" scripts_checked
    step "cppcheck" cpp_checked
}
clang_tidy() { step "clang-tidy" tidied; }

# Only two tests are run, because the part `unit` runs all of them. With VERBOSE=1 the logs of failed tests are
# printed.
distcheck() {
    step "distcheck" make -s -C _build distcheck VERBOSE=1 distcheck_tests='docs/example tests/unit/schedule_test'
}

# Builds, or runs a script, in a chroot with the release of Debian that contains this series of Open MPI. This is
# skipped if this machine has the same series, because the other parts have tested it.
other_build="mkdir -p /build && cd /build && { [ -e config.status ] || /nicbarr/configure --quiet --prefix=/build/_install; } &&
    make -s -j$(nproc) && list='$job_programs' && make -s -j$(nproc) \$($list_of)"
with_openmpi() { # SERIES DEBIAN [SCRIPT]
    local name="${3:-build} with Open MPI $1" command=$other_build
    if [ "$(listed OMPI_SERIES)" = "$1" ]; then
        step "$name" sh -c "echo it is this machine\'s own; exit 77"
        return
    fi
    [ $# -lt 3 ] || command+=" && export builddir=/build srcdir=/nicbarr && /nicbarr/$3"
    step "$name" tests/debian.sh "$2" bash -c "$command"
}
openmpi5() { with_openmpi 5.0 13 "$@"; }
openmpi6() { with_openmpi 6.0 14 "$@"; }

# ---- which parts

run_part() { # PART
    local part=$1
    case $part in
        openmpi[56]:*) "${part%%:*}" "${part#*:}" ;;
        tests/unit/*_test | tests/fibres/*_test | tests/fuzz/*_fuzz)
            step "build of $part" quiet_make -C _build "$part" && one_unit "$part" ;;
        *.sh:*) step "${part/:/ }" play "$top/${part%%:*}" "${part#*:}" ;;
        *.sh) step "$part" play "$top/$part" ;;
        *) $part ;;
    esac
    echo "$part" >> "$logs/ended"
}
run_lane() { # LANE SECONDS PART-LINES
    local lane part
    while read -r lane part <&3; do
        if [ "$lane" != "$1" ]; then
            continue
        elif [ $SECONDS -ge "$2" ]; then
            echo "$part" >> "$logs/late"
        else
            run_part "$part" 3<&-
        fi
    done 3<<< "$3"
}
run_parts() { # SECONDS PART-LINES: no part begins later than SECONDS after the start
    set -m # the job gets a process group, which can be killed as a whole
    {
        renice -n 10 $BASHPID > /dev/null
        run_lane beside "$@"
    } < /dev/null &
    beside=$!
    set +m
    trap 'kill -- -$beside' EXIT
    run_lane jobs "$@"
    wait $beside
    trap - EXIT
    run_lane after "$@"
}

table() { grep -v '^#' tests/parts | grep .; }
named_parts() { # PART...
    local name all
    all=$(table | awk '{ print $3 }'; echo "$unit_programs $(listed fibre_programs)" | tr ' ' '\n')
    echo "jobs programs" # scripts run these programs
    for name; do
        if ! grep -qxF -- "$name" <<< "$all"; then
            echo "test.sh: there is no part $name; tests/parts has them" >&2
            return 64
        fi
        echo "jobs $name"
    done
}
touched_parts() { # prints the parts of the long form whose files (their own, and those in tests/parts) have changed
    local lane length part prefixes prefix
    git diff --name-only "$since" > "$logs/changed"
    table | shuf --random-source=<(yes "$NICBARR_SEED") | while read -r lane length part prefixes; do
        for prefix in $prefixes "${part##*:}" "${part%%:*}"; do
            if [ "$length" = long ] && grep -q "^$prefix" "$logs/changed"; then
                echo "$lane $part"
                break
            fi
        done
    done
}

touch "$logs/verdicts" "$logs/ended" "$logs/late"
case $form in
    all) parts=$(table | awk '{ print $1, $3 }') ;;
    named) parts=$(named_parts "$@") || exit ;;
    *) parts=$(table | awk '$2 == "short" { print $1, $3 }') ;;
esac
run_parts $((1 << 30)) "$parts"
if [ "$form" = since ]; then
    touched=$(touched_parts)
    printf '\nwhat changes since %s can break: %s\n' "$(git log -1 --format=%h "$since")" \
        "$(awk '{ print $2 }' <<< "$touched" | paste -s -d ' ')"
    run_parts $most "$touched"
    parts+=$'\n'$touched
fi

printf '\nwhat took longest:\n'
sort -n -r "$logs/verdicts" | head -n 10
[ ! -s "$logs/late" ] || echo "not begun, as $((most / 60)) minutes had passed: $(paste -s -d ' ' "$logs/late")"
missing=$(($(grep -c . <<< "$parts") - $(cat "$logs/ended" "$logs/late" | wc -l)))
[ $missing = 0 ] || echo "$missing parts did not finish"
echo "NICBARR_SEED=$NICBARR_SEED: $(total PASS) passed, $(total FAIL) failed, $(total SKIP) skipped"
[ "$(total FAIL)" = 0 ] && [ $missing = 0 ]
