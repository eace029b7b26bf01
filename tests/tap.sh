# SPDX-License-Identifier: BSD-3-Clause
# Functions for tests of commands, to be sourced by bash scripts. The test runs in a temporary directory, $scratch;
# $build is the build directory. Each verdict is printed as a line of TAP, and counted in $count and $failed. The script
# runs each command with its output in the files out and err, and stores its exit status in $status. After a failure
# both files are printed.
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/usage.sh"
build=$(cd "${builddir:-$(dirname "${BASH_SOURCE[0]}")/../_build}" 2> /dev/null && pwd) # "" if it does not exist
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

works() { # NAME PATTERN...: the command has succeeded without messages, and its output contains each pattern
    name=$1
    shift
    good=0
    [ "$status" -eq 0 ] && [ ! -s err ] || good=1
    for pattern; do
        grep -Eq -e "$pattern" out || { good=1 && printf '# not there: %s\n' "$pattern"; }
    done
    verdict $good "$name"
}

refuses() { # NAME PATTERN [STATUS]: it has failed with this status (1), and printed only a line that gives the reason
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
