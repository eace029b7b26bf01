# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # these are the script's
# Functions for exhaustive searches of models by Spin; run.sh in this directory and in ../litmus source this file and
# state the expected result of each search. They set `model` (an absolute path), `optimise` (an option of the C
# compiler), and `memory` (in MiB) if a search needs more than 500 MiB, and finally exit with the status $failed. This
# file changes to a temporary directory, and skips the test if there is no spin or no C compiler.
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"

for tool in spin "${CC:-cc}"; do
    if ! command -v "${tool%% *}" > /dev/null; then
        echo "skipped: there is no $tool (Debian: apt-get install spin gcc)"
        exit 77
    fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# Search the model with these definitions; spin's output goes to the file `out`.
search() { # DEFINITION...
    local liveness=no options=("-DMEMLIM=${memory:-500}" -DNOFAIR)
    case " $* " in *" -DLIVENESS "*) liveness=yes ;; esac
    rm -f pan* out
    spin -a "$@" "$model" > out 2>&1 || return 1
    [ $liveness = yes ] || options+=(-DSAFETY)
    # shellcheck disable=SC2086 # CC may have options
    ${CC:-cc} "$optimise" -w "${options[@]}" -o pan pan.c >> out 2>&1 || return 1
    if [ $liveness = yes ]; then ./pan -a -m20000 >> out 2>&1; else ./pan -m20000 >> out 2>&1; fi
}

verdict() { # STATUS NAME
    if [ "$1" = 0 ]; then
        echo "ok   $2: $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1 states/p' out)"
    else
        echo "FAIL $2"
        sed 's/^/     | /' out | tail -n 30
        failed=1
    fi
}

# The search must cover all states of the model and find no error.
holds() { # NAME DEFINITION...
    search "${@:2}" && grep -q 'errors: 0$' out && ! grep -q -e 'not completed' -e 'too small' out
    verdict $? "$1"
}

# The search of a model with a defect must find the error WHAT.
missed() { # NAME WHAT DEFINITION...
    search "${@:3}" && grep -q "^pan:1: $2" out
    verdict $? "detected: $1"
}
