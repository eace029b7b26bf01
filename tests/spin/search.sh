# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2034 # these are the script's
# Exhaustive searches of models, to be sourced by the scripts that state what must be found (run.sh here and in
# ../litmus). They set `model` (an absolute path), `optimise` (for the C compiler), and `memory` where 500 MiB
# are not enough, and finally exit with `failed`. Changes to a temporary directory. Without spin and a C compiler
# the test is skipped.
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

# The unchanged model: no error, and no unreached state.
holds() { # NAME DEFINITION...
    search "${@:2}" && grep -q 'errors: 0$' out && ! grep -q -e 'not completed' -e 'too small' out
    verdict $? "$1"
}

# Without a guard: the search must fail in this way.
missed() { # NAME WHAT DEFINITION...
    search "${@:3}" && grep -q "^pan:1: $2" out
    verdict $? "$1"
}
