#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Search the model of the collectives' protocol (collective.pml) whole, in several sizes; and with one
# guard taken away at a time, to see that it would be missed. Needs spin and a C compiler, half a
# minute and 500 MiB.

set -u
model=$(cd "${srcdir:-.}" && pwd)/tests/spin/collective.pml
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

# Search the model with these definitions; what spin says goes to the file `out`.
search() { # DEFINITION...
    local liveness=no options=(-DMEMLIM=500 -DNOFAIR)
    case " $* " in *" -DLIVENESS "*) liveness=yes ;; esac
    rm -f pan* out
    spin -a "$@" "$model" > out 2>&1 || return 1
    [ $liveness = yes ] || options+=(-DSAFETY)
    # shellcheck disable=SC2086 # CC may have options
    ${CC:-cc} -O1 -w "${options[@]}" -o pan pan.c >> out 2>&1 || return 1
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

# The protocol as it is: nothing is found, and nothing is left out.
holds() { # NAME DEFINITION...
    search "${@:2}" && grep -q 'errors: 0$' out && ! grep -q -e 'not completed' -e 'too small' out
    verdict $? "$1"
}

# Without a guard: this is what must be found.
missed() { # NAME WHAT DEFINITION...
    search "${@:3}" && grep -q "^pan:1: $2" out
    verdict $? "$1"
}

holds "2 nodes, 3 barriers: safe" -DEPOCHS=3
holds "2 nodes, 2 barriers: all end" -DEPOCHS=2 -DLIVENESS
holds "2 nodes, 2 barriers, none begun ahead: all end" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS
holds "3 nodes: safe" -DNODES=3 -DEPOCHS=1 -DPATIENT
holds "3 nodes: all end" -DNODES=3 -DEPOCHS=1 -DPATIENT -DLIVENESS
holds "A, B, A', B': safe" -DINCARNATIONS=2 -DEPOCHS=1
holds "A, B, A', B', 2 barriers: safe" -DINCARNATIONS=2 -DEPOCHS=2 -DPATIENT
holds "A, B, A', B': all end" -DINCARNATIONS=2 -DEPOCHS=1 -DLIVENESS

missed "an old key used again" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DSAME_KEY
missed "closed groups not remembered" "acceptance cycle" -DEPOCHS=1 -DLIVENESS -DNO_LATE
missed "closed groups always done" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DANY_LATE
missed "nothing asked for" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "the next epoch's message not enough" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS \
    -DNO_STAND
exit $failed
