#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Searches models of code that processors share: the kernel NIC's release, the soft NIC's lock, the inlet and
# the sleepers, on x86's memory model and on C11's, which allows all reorderings that ARMv8 shows for compiled
# C (memory.pml lists the exceptions). If a model fails, a wake-up, message or release may be lost on such
# processors. Each model must hold as it is, and must fail with one defect at a time. Needs spin and a C
# compiler, a minute and 500 MiB.

set -u
tests=$(cd "$(dirname "$0")/.." && pwd)
optimise=-O0 # compiling takes longer than searching
# shellcheck source=tests/spin/search.sh
. "$tests/spin/search.sh"

use_model() { # NAME
    model=$tests/litmus/$1.pml
}

# On both memory models.
holds_everywhere() { # NAME DEFINITION...
    holds "x86: $1" -DTSO "${@:2}"
    holds "C11: $1" "${@:2}"
}

missed_everywhere() { # NAME WHAT DEFINITION...
    missed "x86: $1" "$2" -DTSO "${@:3}"
    missed "C11: $1" "$2" "${@:3}"
}

# Defects that x86 tolerates and ARMv8 does not.
missed_by_weak() { # NAME WHAT DEFINITION...
    holds "x86: $1" -DTSO "${@:3}"
    missed "C11: $1" "$2" "${@:3}"
}

orders() { # WRITE READ
    echo "-DWRITE=$1 -DREAD=$2"
}

# shellcheck disable=SC2046 # orders are two definitions
textbook() {
    use_model shapes
    missed_everywhere "stores, then loads" "assertion violated" -DSB $(orders RELAXED RELAXED)
    missed_everywhere "releases, then acquires" "assertion violated" -DSB $(orders RELEASE ACQUIRE)
    holds_everywhere "stores, fences, loads" -DSB -DFENCE $(orders RELAXED RELAXED)
    holds_everywhere "arrivals; hungry ports" -DSB $(orders STRICT STRICT)
    missed_by_weak "exchanges, then loads" "assertion violated" -DSB -DSWAP $(orders BOTH ACQUIRE)
    holds_everywhere "strict exchanges, then loads" -DSB -DSWAP $(orders STRICT STRICT)
    missed_by_weak "a flag stored, read" "assertion violated" -DMP $(orders RELAXED RELAXED)
    missed_by_weak "a flag stored, acquired" "assertion violated" -DMP $(orders RELAXED ACQUIRE)
    missed_by_weak "a flag released, read" "assertion violated" -DMP $(orders RELEASE RELAXED)
    holds_everywhere "a flag released, acquired" -DMP $(orders RELEASE ACQUIRE)
    missed_by_weak "data behind a flag stored" "assertion violated" -DRACE $(orders RELAXED ACQUIRE)
    holds_everywhere "data behind a flag released" -DRACE $(orders RELEASE ACQUIRE)
    missed_by_weak "a stored flag exchanged" "assertion violated" -DCHAIN $(orders RELAXED ACQUIRE)
    holds_everywhere "a released flag exchanged" -DCHAIN $(orders RELEASE ACQUIRE)
    holds_everywhere "one word read twice" -DCORR $(orders RELAXED RELAXED)
    missed_by_weak "two readers of two words" "assertion violated" -DIRIW $(orders RELEASE ACQUIRE)
    holds_everywhere "two strict readers of two words" -DIRIW $(orders STRICT STRICT)
}

kernel_release() {
    use_model release
    holds_everywhere "release, two epochs"
    holds_everywhere "release, three epochs" -DPLAYERS=3
    holds_everywhere "release by exchanges" -DEXCHANGE
    holds_everywhere "release, a host sleeps" -DSLEEPER
    holds_everywhere "release by a doorbell, a host sleeps for a slice" -DSLEEPER -DBY_START -DSLICE
    missed_everywhere "release by stores" "assertion violated" -DBARE
    missed_everywhere "release by exchanges, too few reads" "assertion violated" -DEXCHANGE \
        -DPLAYERS=3 -DREADS=2
    missed_everywhere "release by exchanges, a host sleeps" "invalid end state" -DSLEEPER -DEXCHANGE
    missed_everywhere "release by a doorbell, a host sleeps" "invalid end state" -DSLEEPER -DBY_START
}

soft_lock() {
    use_model lock
    holds_everywhere "lock"
    holds_everywhere "lock, no process is killed in it" -DNO_DEATH
    missed_everywhere "lock marked before it is taken" "assertion violated" -DMARK_FIRST -DNO_DEATH
    missed_everywhere "lock with pids" "invalid end state" -DPIDS
    missed_by_weak "lock taken without release" "assertion violated" -DTAKE=ACQUIRE
}

inlet() {
    use_model inlet
    holds_everywhere "inlet"
    missed_by_weak "inlet, sequence not released" "assertion violated" -DSEQUENCE=RELAXED
    missed_by_weak "inlet, count not released" "assertion violated" -DPUBLISH=RELAXED
    missed_by_weak "inlet, count not acquired" "assertion violated" -DREREAD=RELAXED
    missed_everywhere "inlet, count before the message" "assertion violated" -DPUBLISH_EARLY
    missed_everywhere "inlet, tickets stored" '\(assertion violated\|invalid end state\)' \
        -DNO_TICKETS
    missed_everywhere "inlet closed under a sender" "assertion violated" -DCLOSING
    holds_everywhere "inlet closed by the last ticket" -DCLOSING -DLAST_TICKET
}

sleepers() {
    use_model sleep
    holds_everywhere "sleepers, for a slice" -DSLICE
    holds_everywhere "sleepers, behind a fence" -DFENCE
    missed_everywhere "sleepers, for ever" "invalid end state"
}

textbook
kernel_release
soft_lock
inlet
sleepers
exit $failed
