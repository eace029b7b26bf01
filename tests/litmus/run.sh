#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a wake-up, a message or the release of a barrier may be lost on processors with weak memory ordering.
# The script searches models of the code in which processors share words: the kernel NIC's release, the soft NIC's lock,
# the inlet, and sleeping on a word. They run on two memory models, that of x86 and that of C11, which permits all
# reorderings that ARMv8 shows for compiled C (memory.pml lists the exceptions). The search must find no error in a
# model of the code, and must find the error in each variant with a known defect. It needs spin, a C compiler, a
# minute and 500 MiB.

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
    missed_everywhere "store buffering, relaxed" "assertion violated" -DSB $(orders RELAXED RELAXED)
    missed_everywhere "store buffering, release and acquire" "assertion violated" -DSB $(orders RELEASE ACQUIRE)
    holds_everywhere "store buffering, with fences" -DSB -DFENCE $(orders RELAXED RELAXED)
    holds_everywhere "store buffering, seq_cst (as for arrivals and receive tokens)" -DSB $(orders STRICT STRICT)
    missed_by_weak "store buffering, exchanges with acquire and release" "assertion violated" -DSB -DSWAP $(orders BOTH ACQUIRE)
    holds_everywhere "store buffering, seq_cst exchanges" -DSB -DSWAP $(orders STRICT STRICT)
    missed_by_weak "message passing, relaxed" "assertion violated" -DMP $(orders RELAXED RELAXED)
    missed_by_weak "message passing, relaxed store and acquire" "assertion violated" -DMP $(orders RELAXED ACQUIRE)
    missed_by_weak "message passing, release and relaxed load" "assertion violated" -DMP $(orders RELEASE RELAXED)
    holds_everywhere "message passing, release and acquire" -DMP $(orders RELEASE ACQUIRE)
    missed_by_weak "plain data behind a flag, relaxed store" "assertion violated" -DRACE $(orders RELAXED ACQUIRE)
    holds_everywhere "plain data behind a flag, release" -DRACE $(orders RELEASE ACQUIRE)
    missed_by_weak "a flag is exchanged by another processor, relaxed store" "assertion violated" -DCHAIN $(orders RELAXED ACQUIRE)
    holds_everywhere "a flag is exchanged by another processor, release" -DCHAIN $(orders RELEASE ACQUIRE)
    holds_everywhere "two loads of one word" -DCORR $(orders RELAXED RELAXED)
    missed_by_weak "two readers of two words, release and acquire" "assertion violated" -DIRIW $(orders RELEASE ACQUIRE)
    holds_everywhere "two readers of two words, seq_cst" -DIRIW $(orders STRICT STRICT)
}

kernel_release() {
    use_model release
    holds_everywhere "kernel NIC's release, two epochs"
    holds_everywhere "kernel NIC's release, three epochs" -DPLAYERS=3
    holds_everywhere "kernel NIC's release by exchanges" -DEXCHANGE
    holds_everywhere "kernel NIC's release, a host sleeps" -DSLEEPER
    holds_everywhere "kernel NIC's release by a doorbell, a host sleeps with a timeout" -DSLEEPER -DBY_START -DSLICE
    missed_everywhere "kernel NIC's release by stores" "assertion violated" -DBARE
    missed_everywhere "kernel NIC's release by exchanges, too few retries" "assertion violated" -DEXCHANGE \
        -DPLAYERS=3 -DREADS=2
    missed_everywhere "kernel NIC's release by exchanges, a host sleeps" "invalid end state" -DSLEEPER -DEXCHANGE
    missed_everywhere "kernel NIC's release by a doorbell, a host sleeps without a timeout" "invalid end state" -DSLEEPER -DBY_START
}

soft_lock() {
    use_model lock
    holds_everywhere "soft NIC's lock"
    holds_everywhere "soft NIC's lock, no process is killed while it holds the lock" -DNO_DEATH
    missed_everywhere "soft NIC's lock, the NIC is marked as broken before the lock is taken" "assertion violated" -DMARK_FIRST -DNO_DEATH
    missed_everywhere "soft NIC's lock, process numbers are reused" "invalid end state" -DPIDS
    missed_by_weak "soft NIC's lock, taken without release" "assertion violated" -DTAKE=ACQUIRE
}

inlet() {
    use_model inlet
    holds_everywhere "inlet"
    missed_by_weak "inlet, the sequence is stored without release" "assertion violated" -DSEQUENCE=RELAXED
    missed_by_weak "inlet, the count is stored without release" "assertion violated" -DPUBLISH=RELAXED
    missed_by_weak "inlet, the count is loaded without acquire" "assertion violated" -DREREAD=RELAXED
    missed_everywhere "inlet, the count is stored before the message is read" "assertion violated" -DPUBLISH_EARLY
    missed_everywhere "inlet, tickets are stored instead of exchanged" '\(assertion violated\|invalid end state\)' \
        -DNO_TICKETS
    missed_everywhere "inlet, closed while a sender has a ticket" "assertion violated" -DCLOSING
    holds_everywhere "inlet, closed after all earlier tickets" -DCLOSING -DLAST_TICKET
}

sleepers() {
    use_model sleep
    holds_everywhere "sleeping on a word with a timeout" -DSLICE
    holds_everywhere "sleeping on a word, with a fence before the wake-up" -DFENCE
    missed_everywhere "sleeping on a word without a timeout" "invalid end state"
}

textbook
kernel_release
soft_lock
inlet
sleepers
exit $failed
