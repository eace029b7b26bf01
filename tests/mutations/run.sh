#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that the tests detect deliberate defects. Each mutation in tests/mutations/list is applied, alone, to a copy of
# this checkout, and the tests that it names are built and run until one fails. For each mutation the script prints
# `found NAME (TEST, SECONDS)`, `missed NAME`, or `broken NAME` if it does not compile. It succeeds if all were found.
#
#     tests/mutations/run.sh [--in DIRECTORY] [NAME...]    applies all mutations, or these
#     tests/mutations/run.sh --check    only checks that each text to be replaced occurs exactly once
#
# --in keeps the copy and its build in DIRECTORY for the next run. NICBARR_SEED is 1 by default, and NICBARR_PROGRAMS,
# the number of programs that a fibre test runs, is 300. If a test takes a minute more than ten times its usual time, it
# is considered hung, and the mutation counts as found.
set -u
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mutate() { python3 -B "$here/mutate.py" "$@"; }

copy=
case ${1-} in
    --check) [ $# = 1 ] || usage; mutate check "$top"; exit ;;
    --in) [ $# -ge 2 ] || usage; mkdir -p "$2" && copy=$(cd "$2" && pwd) || exit 1; shift 2 ;;
    -*) usage ;;
esac
names=$(mutate names "$@") || exit 64
mutate check "$top" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL
export NICBARR_SEED=${NICBARR_SEED-1} NICBARR_PROGRAMS=${NICBARR_PROGRAMS-300}
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM HUP
if [ -z "$copy" ]; then
    copy=$logs/copy
fi

# ---- the copy, which has the present commit and the uncommitted changes

prepare() {
    if [ ! -d "$copy/.git" ]; then
        git clone -q "$top" "$copy" || return 1
    fi
    git -C "$top" diff --binary HEAD > "$logs/changes" &&
        git -C "$copy" fetch -q "$top" HEAD && git -C "$copy" reset -q --hard FETCH_HEAD &&
        git -C "$copy" apply --allow-empty "$logs/changes" && git -C "$copy" add -A || return 1
    [ -f "$copy/_build/Makefile" ] && return
    (cd "$copy" && ./autogen.sh && mkdir -p _build && cd _build && ../configure --quiet --disable-man)
}

quiet_make() { make -C "$copy/_build" -s -j"$(nproc)" --no-print-directory "$@"; }
build() { # TEST...
    {
        # The update of the Makefile would print into the list.
        # shellcheck disable=SC2046 # words
        quiet_make Makefile &&
            quiet_make $(quiet_make --eval 'listed: ; @echo $(BUILT_SOURCES)' listed) && # `make TEST` does not build these first
            quiet_make "$@"
    } > "$logs/make" 2>&1
}

play() { # LIMIT TEST: runs the test, and sets `took` to the seconds that it has taken
    local start=$SECONDS status
    (cd "$copy/_build" && builddir=$copy/_build srcdir=$copy exec timeout -k 5 "$1" "$2") > "$logs/out" 2>&1
    status=$?
    took=$((SECONDS - start))
    return $status
}

end() { # MESSAGE FILE
    echo "$1" >&2
    tail -n 20 "$2" >&2
    exit 1
}

prepare > "$logs/prepare" 2>&1 || end "there is no copy:" "$logs/prepare"
mapfile -t tests < <(for name in $names; do mutate show "$name"; done | cut -d ' ' -f 2- | tr ' ' '\n' | sort -u)
build "${tests[@]}" || end "it cannot be built:" "$logs/make"
declare -A most
for test in "${tests[@]}"; do
    play 600 "$test" || end "$test fails without a mutation:" "$logs/out"
    most[$test]=$((10 * took + 60))
done

# ---- the mutations

found=0 missed=0 broken=0
try() { # NAME FILE TEST...
    local name=$1 test
    shift 2
    for test; do
        if ! build "$test"; then
            broken=$((broken + 1))
            echo "broken $name"
            grep -m 3 error "$logs/make"
            return
        elif ! play "${most[$test]}" "$test"; then
            found=$((found + 1))
            echo "found $name ($test, $took s)"
            return
        fi
    done
    missed=$((missed + 1))
    echo "missed $name"
}
for name in $names; do
    read -ra words <<< "$(mutate show "$name")"
    mutate make "$name" "$copy"
    try "$name" "${words[@]}"
    git -C "$copy" checkout -q -- "${words[0]}"
done
echo "$found found, $missed missed, $broken broken"
[ $((missed + broken)) = 0 ]
