#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the fuzzers with clang's libFuzzer and sanitizers, runs each of them for a while, starting from the inputs that
# earlier runs have found (corpus/), and reports how much of the code was reached.
#
#     tests/fuzz/run.sh [TARGET...]               all targets, or these
#     tests/fuzz/run.sh --keep [TARGET...]        the same, and adds inputs that reach more code to corpus/
#     tests/fuzz/run.sh --input TARGET FILE...    only these inputs, such as one that has failed
#
# NICBARR_FUZZ_SECONDS is the time for each target (8). NICBARR_SEED repeats a run, as far as timing permits. Inputs
# that have failed are written to the current directory as fuzz-TARGET-...
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"

set -u
shopt -s extglob
root=$(cd "${srcdir:-.}" && pwd)
clang=${CLANG:-clang}
seconds=${NICBARR_FUZZ_SECONDS:-8}
corpus=$root/tests/fuzz/corpus
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch LLVM_PROFILE_FILE=$scratch/unwanted.profraw # run() sets another file, which is evaluated
flags=(-std=gnu11 -D_GNU_SOURCE -g -O1 "-fsanitize=fuzzer-no-link,address,undefined"
    -fno-sanitize-recover=undefined -fprofile-instr-generate -fcoverage-mapping
    -Wall -Wextra -Wshadow "-I$root" '-DNICBARR_VERSION="fuzzed"')
all_targets=(collective bcast messages tagged soft_server kernel_server hello cache report)

# For each target: the sources that it consists of besides its own file and the library, the maximum length of its
# inputs (bytes), options of the linker and of the fuzzer, and the files that it must reach, each with the minimum
# percentage of its regions. If the fuzzer reaches less, it no longer tests its subject. The minimum is slightly less
# than what the corpus alone reaches.
wire=(tests/unit/wire_fake.c firmware/sim/events.c tests/unit/crew.c)
daemon=(tests/fuzz/daemon.c tests/unit/crew.c myrd/{listener,filter_none,rights}.c)
wrap=-Wl,--wrap=poll,--wrap=clock_gettime,--wrap=myr_talk_peer
use() { # TARGET
    parts=() linked=() options=()
    case $1 in
        collective)
            longest=400 least=85
            reached=(firmware/engine.c firmware/collective.c firmware/wire.c) ;;
        bcast)
            longest=400 least=95 reached=(firmware/{bcast,collective_bcast}.c) ;;
        messages)
            longest=500 least=95 parts=("${wire[@]}")
            reached=(firmware/{port_table,connection,sdma,send,recv,rdma}.c) ;;
        tagged)
            longest=500 least=80 reached=(firmware/match.c libmyr/messages/tagged{,_send,_receive,_read}.c) ;;
        soft_server)
            longest=150 least=75 parts=("${daemon[@]}" myrd/server.c) linked=("$wrap")
            reached=(myrd/server.c) ;;
        kernel_server)
            longest=500 least=70 linked=("$wrap")
            parts=("${daemon[@]}" tests/unit/kernel_fake.c myrd/users.c myrd/accounts.c firmware/kernel/hooks.c firmware/kernel/pins.c
                myrd/kernel_{server,clients,plan,meeting,hosts,groups{,_due,_kept,_report},holders,interface,guard}.c)
            reached=(myrd/kernel_{server,clients,plan,meeting,hosts,groups{,_due,_kept,_report}}.c) ;;
        hello)
            longest=1000 least=90 reached=(coll_nicbarr/{hello,census}.c) ;;
        cache)
            longest=900 least=80
            parts=(coll_nicbarr/files/{cache_file,cache_lines,regular_file}.c coll_nicbarr/choice/evidence.c tests/unit/crew.c)
            options=("-dict=$root/tests/fuzz/json.dict")
            reached=(coll_nicbarr/files/cache_{file,lines}.c coll_nicbarr/choice/evidence.c) ;;
        report)
            longest=1000 least=90 parts=(tools/{report_file,report_text,text,table}.c)
            options=("-dict=$root/tests/fuzz/json.dict") reached=(tools/{report_file,text}.c) ;;
        *)
            echo "there is no target $1, but: ${all_targets[*]}" >&2
            exit 64 ;;
    esac
}

# ---- building ----

object() { echo "$scratch/${1//\//_}.o"; }

compile() { # FILE...
    local file
    for file in "$@"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        "$clang" "${flags[@]}" -c -o "$(object "$file")" "$file" &
    done
    wait # for all compilers; if one has failed, linking fails because the object is missing
}

# Use libsodium if the build does.
sealing=(libmyr/seal_none.c) sodium=()
if pkg-config --exists libsodium; then
    sealing=(libmyr/seal.c) sodium=(-lsodium)
fi

# Code that several targets may need is in a library, from which the linker takes the objects that each target needs.
build() { # TARGET...
    local target file files objects
    cd "$root" || return
    files=(firmware/*.c firmware/soft/*.c libmyr/!(seal*).c libmyr/!(verbs)/*.c "${sealing[@]}"
        coll_nicbarr/{schedule,hello,census,nics,shape,digest}.c)
    objects=()
    for file in "${files[@]}"; do objects+=("$(object "$file")"); done
    for target in "$@"; do
        use "$target"
        files+=("tests/fuzz/${target}_fuzz.c" "${parts[@]}")
    done
    mapfile -t files < <(printf '%s\n' "${files[@]}" | sort -u)
    compile "${files[@]}"
    ar cr "$scratch/library.a" "${objects[@]}" || return
    for target in "$@"; do
        use "$target"
        objects=()
        for file in "tests/fuzz/${target}_fuzz.c" "${parts[@]}"; do
            objects+=("$(object "$file")")
        done
        "$clang" "${flags[@]}" -fsanitize=fuzzer -o "$scratch/$target" "${objects[@]}" \
            "$scratch/library.a" "${linked[@]}" "${sodium[@]}" -ljansson -lm -lpthread || return
    done
}

# ---- the corpus: a file per target, one input per line (base64)

unpack() { # TARGET
    local line number=0
    mkdir -p "$scratch/known/$1" "$scratch/fresh/$1"
    while read -r line; do
        number=$((number + 1))
        base64 -d <<< "$line" > "$scratch/known/$1/$number" || return
    done < <(grep -v '^#' "$corpus/$1.txt" 2> /dev/null)
}

# Replaces the corpus by the smallest set of inputs that reaches the same edges.
keep() { # TARGET
    local file
    mkdir "$scratch/merged"
    "$scratch/$1" -merge=1 -use_counters=0 -max_len="$longest" "$scratch/merged" \
        "$scratch/known/$1" "$scratch/fresh/$1" > "$scratch/merging" 2>&1 ||
        { cat "$scratch/merging"; return 1; }
    mkdir -p "$corpus"
    {
        echo "# Inputs of $1_fuzz.c that reach more than the others; made by run.sh --keep."
        for file in "$scratch/merged"/*; do base64 -w 0 "$file"; echo; done | LC_ALL=C sort
    } > "$corpus/$1.txt"
    rm -r "$scratch/merged"
}

# ---- running ----

# The time per input is not limited, because it is meaningless on a busy machine. A fuzzer that has found an error exits
# with status 77, which would count as skipped and is therefore replaced.
run() { # TARGET
    use "$1"
    unpack "$1" || return 1
    LLVM_PROFILE_FILE=$scratch/$1.profraw "$scratch/$1" -seed="$seed" -max_total_time="$seconds" \
        -max_len="$longest" -len_control=0 -report_slow_units=40000 -timeout=3000 -verbosity=0 \
        -artifact_prefix="$dir/fuzz-$1-" -print_final_stats=1 "${options[@]}" \
        "$scratch/fresh/$1" "$scratch/known/$1" > "$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }
    printf '%s: %s inputs, of %s in the corpus\n' "$1" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log")" \
        "$(find "$scratch/known/$1" -type f | wc -l)"
}

tool() { "$clang" -print-prog-name="$1"; }

# Prints a line for each file, and marks those whose minimum was not reached.
coverage() { # TARGET
    use "$1"
    "$(tool llvm-profdata)" merge -o "$scratch/$1.profdata" "$scratch/$1.profraw" &&
        "$(tool llvm-cov)" report "$scratch/$1" -instr-profile="$scratch/$1.profdata" \
            "${reached[@]}" > "$scratch/coverage" || return 1
    awk -v target="$1" -v least="$least" '
        NF > 6 && $1 != "Filename" && $1 != "TOTAL" {
            sub(".*/", "", $1)
            printf "coverage: %-14s %-20s %5d regions, %6s reached\n", target, $1, $2, $4
        }
        $1 == "TOTAL" {
            printf "coverage: %-14s %-20s %5d regions, %6s reached\n", target, "in all", $2, $4
            if ($4 + 0 < least) { print "... which is less than " least " %"; failed = 1 }
        }
        END { exit failed }' "$scratch/coverage"
}

echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n < 0; }' > "$scratch/no.c"
if ! "$clang" "${flags[@]}" -fsanitize=fuzzer -o "$scratch/no" "$scratch/no.c" 2> /dev/null; then
    echo "skipped: there is no clang with libFuzzer (Debian: apt-get install clang libclang-rt-dev)"
    exit 77
fi
dir=$PWD wanted=run
case ${1-} in
    --keep | --input) wanted=${1#--} && shift ;;
esac
if [ "$wanted" = input ]; then
    use "$1"
    build "$1" && cd "$dir" && "$scratch/$1" "${@:2}" || exit 1
    exit
fi
targets=("$@")
[ $# -gt 0 ] || targets=("${all_targets[@]}")
seed=$((${NICBARR_SEED:-$RANDOM * 32768 + RANDOM} & 0xffffffff))
echo "NICBARR_SEED=$seed"
build "${targets[@]}" || exit 1
failed=0
for target in "${targets[@]}"; do
    run "$target" && coverage "$target" || failed=1
    if [ "$wanted" = keep ]; then
        keep "$target" || failed=1
    fi
done
exit $failed
