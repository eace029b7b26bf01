#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test many times under load, to find out whether its verdict depends on timing or chance:
#
#     tests/again.sh TEST RUNS [LOAD]
#
# TEST is the path of a unit test, which must have been built (./test.sh TEST), or of a script. LOAD processes (0)
# compute at the same time. Each run has a different seed. The logs of failed runs remain in _test/again, and the last
# line of the output counts these runs.
set -u
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../tools/usage.sh"
[[ $# -ge 2 && $# -le 3 && $1 != -* && $2 =~ ^[1-9][0-9]*$ && ${3-0} =~ ^[0-9]+$ ]] || usage
cd "$(dirname "$0")/.." || exit 1
test=$PWD/$1
[[ $1 == *.sh ]] || test=$PWD/_build/$1
[ -x "$test" ] || { echo "again.sh: there is no $test: run ./test.sh $1" >&2; exit 1; }
. ompi/jobs.sh
export builddir=$PWD/_build srcdir=$PWD
logs=$PWD/_test/again
mkdir -p "$logs"
load=()
for ((i = 0; i < ${3-0}; ++i)); do
    while :; do :; done &
    load+=($!)
done
trap 'kill "${load[@]}" 2> /dev/null' EXIT

failed=0
first=${NICBARR_SEED:-$((RANDOM << 13 ^ RANDOM))}
for ((run = 0; run < $2; ++run)); do
    log=$logs/${1//\//_}.$((first + run)).log
    NICBARR_SEED=$((first + run)) timeout --foreground -k 10 2700 "$test" > "$log" 2>&1 < /dev/null
    case $? in
        0) rm "$log" ;;
        77) tail -n 1 "$log"; exit 77 ;;
        *) failed=$((failed + 1)); echo "failed: ${log#"$PWD/"}" ;;
    esac
done
echo "$1 beside a load of ${3-0}: $2 runs, $failed failed"
[ $failed = 0 ]
