#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Build the fuzzer (packet_fuzz.c) with clang's libFuzzer and its sanitizers, and let it run for a
# fixed number of inputs, from a seed that it prints. Needs seconds. Longer: RUNS=4000000; the same
# again: NICBARR_SEED=N; a single input that failed: give its file as argument.

set -u
root=$(cd "${srcdir:-.}" && pwd)
clang=${CLANG:-clang}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-std=gnu11 -D_GNU_SOURCE -g -O1 '-fsanitize=fuzzer,address,undefined'
    -fno-sanitize-recover=undefined)

echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n < 0; }' > "$scratch/no.c"
if ! "$clang" "${flags[@]}" -o "$scratch/no" "$scratch/no.c" 2> /dev/null; then
    echo "skipped: there is no clang with libFuzzer (Debian: apt-get install clang)"
    exit 77
fi
"$clang" "${flags[@]}" -Wall -Wextra -Wshadow -I"$root" -o "$scratch/packet_fuzz" \
    "$root"/tests/fuzz/packet_fuzz.c "$root"/firmware/*.c || exit 1
if [ $# -gt 0 ]; then
    "$scratch/packet_fuzz" "$@" || exit 1
    exit
fi
seed=$((${NICBARR_SEED:-$RANDOM * 32768 + RANDOM} & 0xffffffff))
echo "NICBARR_SEED=$seed"
# What failed is left where the test was started. How long an input takes says nothing: the machine
# may do other things.
"$scratch/packet_fuzz" -runs="${RUNS:-40000}" -seed="$seed" -max_len=400 -len_control=0 \
    -report_slow_units=40000 -artifact_prefix=./fuzz- -verbosity=0 -print_final_stats=1 ||
    exit 1 # (a fuzzer that has found something ends with 77, which would count as skipped)
