#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Search the model of the collectives' protocol (collective.pml) whole, in several sizes; and with one
# guard taken away at a time, to see that it would be missed. Needs spin and a C compiler, half a
# minute and 500 MiB.

set -u
tests=$(cd "${srcdir:-.}" && pwd)/tests
model=$tests/spin/collective.pml
optimise=-O1
# shellcheck source=tests/spin/search.sh
. "$tests/spin/search.sh"

holds "2 nodes, 3 barriers: safe" -DEPOCHS=3 -DPATIENT
holds "2 nodes, 2 barriers: all end" -DEPOCHS=2 -DLIVENESS
holds "2 nodes, 2 barriers, none begun ahead: all end" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS
holds "3 nodes: safe" -DNODES=3 -DEPOCHS=1 -DPATIENT
holds "3 nodes: all end" -DNODES=3 -DEPOCHS=1 -DPATIENT -DLIVENESS
holds "A, B, A', B': safe" -DINCARNATIONS=2 -DEPOCHS=1
holds "A, B, A', B', 2 barriers: safe" -DINCARNATIONS=2 -DEPOCHS=2 -DPATIENT
holds "A, B, A', B': all end" -DINCARNATIONS=2 -DEPOCHS=1 -DLIVENESS

holds "2 nodes, 2 barriers, some are given up: safe" -DEPOCHS=2 -DFAILS=2
holds "2 nodes, 2 barriers, some are given up: all end" -DEPOCHS=2 -DFAILS=2 -DPATIENT -DLIVENESS
holds "3 nodes, some are given up: all end" -DNODES=3 -DEPOCHS=1 -DFAILS=1 -DPATIENT -DONCE -DSURE \
    -DLIVENESS
holds "A, B, A', B', some are given up: safe" -DINCARNATIONS=2 -DEPOCHS=1 -DFAILS=1 -DPATIENT

optimise=-O0 # these are soon found
missed "an old key used again" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DSAME_KEY
missed "closed groups not remembered" "acceptance cycle" -DEPOCHS=1 -DLIVENESS -DNO_LATE
missed "closed groups always done" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DANY_LATE
missed "nothing asked for" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "the next epoch's message not enough" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS \
    -DNO_STAND
missed "a failed group that says nothing" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DFAILS=1 -DPATIENT \
    -DLIVENESS -DNO_FAIL
missed "failures of closed groups not remembered" "acceptance cycle" -DEPOCHS=1 -DFAILS=1 -DLIVENESS \
    -DNO_LATE_FAIL
missed "an old key, and a late FAIL" "assertion violated given_up" -DINCARNATIONS=2 -DEPOCHS=1 \
    -DFAILS=1 -DPATIENT -DSAME_KEY
exit $failed
