# SPDX-License-Identifier: BSD-3-Clause
# What tests of commands have in common, to be sourced by bash. They run in a folder of their
# own, $scratch, that goes when they end; $build is the build's. They speak TAP: each verdict is a line. `count` and `failed`
# count them. A command writes the files out and err, and ends with $status; where a verdict is bad,
# both files are shown.
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/usage.sh"
build=$(cd "${builddir:-$(dirname "${BASH_SOURCE[0]}")/../_build}" 2> /dev/null && pwd) # "": nothing is built there
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 99
count=0
failed=0

verdict() { # STATUS NAME
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        printf 'ok %d - %s\n' $count "$2"
    else
        printf 'not ok %d - %s\n' $count "$2"
        failed=$((failed + 1))
        sed 's/^/# /' out err 2>/dev/null | tail -n 30
    fi
}

works() { # NAME PATTERN...: the command ended well, silently, and each pattern is in its output
    name=$1
    shift
    good=0
    [ "$status" -eq 0 ] && [ ! -s err ] || good=1
    for pattern; do
        grep -Eq -e "$pattern" out || { good=1 && printf '# not there: %s\n' "$pattern"; }
    done
    verdict $good "$name"
}

refuses() { # NAME PATTERN [STATUS]: it ended with STATUS (1) and one line that says why, on err only
    good=0
    [ "$status" -eq "${3:-1}" ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || good=1
    grep -Eq -e "$2" err || good=1
    verdict $good "$1"
}

finish() {
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
}
