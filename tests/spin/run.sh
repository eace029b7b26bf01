#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Searches models of the protocols exhaustively, in several sizes: barriers (collective.pml), data (data.pml),
# broadcasts (bcast.pml), and tagged messages with their matching (match.pml). If one fails, a barrier may be
# released early or a job hang. Each guard is also removed in turn, which must be detected. Needs spin and a C
# compiler, two minutes and 500 MiB. NICBARR_SPIN=large adds larger games of match.pml (half a minute, 2.2 GiB).

set -u
tests=$(cd "$(dirname "$0")/.." && pwd)
model=$tests/spin/collective.pml
optimise=-O1 # defects are found soon, so compile fast
# shellcheck source=tests/spin/search.sh
. "$tests/spin/search.sh"

holds "2 nodes, 3 barriers: safe" -DEPOCHS=3 -DLATE_ASKS
holds "2 nodes, 2 barriers: all end" -DEPOCHS=2 -DLIVENESS
holds "2 nodes, 2 barriers, none begun ahead: all end" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS
holds "3 nodes: safe" -DNODES=3 -DEPOCHS=1 -DLATE_ASKS
holds "3 nodes: all end" -DNODES=3 -DEPOCHS=1 -DLATE_ASKS -DLIVENESS
holds "A, B, A', B': safe" -DINCARNATIONS=2 -DEPOCHS=1
holds "A, B, A', B', 2 barriers: safe" -DINCARNATIONS=2 -DEPOCHS=2 -DLATE_ASKS
holds "A, B, A', B': all end" -DINCARNATIONS=2 -DEPOCHS=1 -DLIVENESS

holds "2 nodes, 2 barriers, some groups fail: safe" -DEPOCHS=2 -DFAILS=2
holds "2 nodes, 2 barriers, some groups fail: all end" -DEPOCHS=2 -DFAILS=2 -DLATE_ASKS -DLIVENESS
holds "3 nodes, some groups fail: all end" -DNODES=3 -DEPOCHS=1 -DFAILS=1 -DLATE_ASKS -DONCE -DSURE \
    -DLIVENESS
holds "A, B, A', B', some groups fail: safe" -DINCARNATIONS=2 -DEPOCHS=1 -DFAILS=1 -DLATE_ASKS

optimise=-O0
missed "an old key used again" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DSAME_KEY
missed "closed groups not remembered" "acceptance cycle" -DEPOCHS=1 -DLIVENESS -DNO_LATE
missed "closed groups always done" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DANY_LATE
missed "nothing asked for" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "the next epoch's message not enough" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS \
    -DNO_IMPLIED
missed "a failed group that says nothing" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DFAILS=1 -DLATE_ASKS \
    -DLIVENESS -DNO_FAIL
missed "failures of closed groups not remembered" "acceptance cycle" -DEPOCHS=1 -DFAILS=1 -DLIVENESS \
    -DNO_LATE_FAIL
missed "an old key, and a late FAIL" "assertion violated declared_failed" -DINCARNATIONS=2 -DEPOCHS=1 \
    -DFAILS=1 -DLATE_ASKS -DSAME_KEY

model=$tests/spin/data.pml
optimise=-O1
holds "data, 2 nodes: safe" -DLITTER
holds "data, 3 nodes, 3 epochs: safe" -DNODES=3 -DEPOCHS=3
holds "data, 3 nodes, 2 epochs: all end" -DNODES=3 -DLIVENESS
holds "data, 4 nodes: safe" -DNODES=4 -DEPOCHS=1
holds "data, 3 nodes, groups closed too soon: all end" -DNODES=3 -DEPOCHS=1 -DHASTY -DLIVENESS
optimise=-O0
holds "data, 3 nodes in a line, 3 epochs: all end" -DNODES=3 -DCHAIN -DEPOCHS=3 -DLIVENESS
holds "data, one epoch without: all end" -DEPOCHS=3 -DBARE=2 -DLIVENESS
holds "data, the last epoch without: all end" -DEPOCHS=2 -DBARE=2 -DLIVENESS
holds "data, 3 nodes in a line, groups closed too soon: all end" -DNODES=3 -DCHAIN -DHASTY -DLIVENESS
missed "one buffer" "assertion violated" -DEPOCHS=3 -DONE_BUFFER
missed "an epoch begun before the last is done" "assertion violated" -DEPOCHS=3 -DAHEAD=2
missed "an epoch's message for the one before" "assertion violated" -DIMPLIED
missed "always the last message for an answer" "acceptance cycle" -DLIVENESS -DANSWER_LAST
missed "the last message for the one before" "assertion violated" -DRELABEL
missed "data not asked for" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "no closing epoch" "assertion violated 0" -DEPOCHS=1 -DNO_CLOSING
missed "no closing epoch, and done all the same" "assertion violated" -DEPOCHS=1 -DNO_CLOSING -DANY_DONE
missed "groups closed too soon, and done all the same" "assertion violated" -DEPOCHS=1 -DHASTY \
    -DANY_DONE
missed "groups closed too soon that say nothing" "acceptance cycle" -DEPOCHS=1 -DHASTY -DMUTE \
    -DLIVENESS
missed "closed groups with data not remembered" "acceptance cycle" -DEPOCHS=1 -DNO_LATE -DLIVENESS

model=$tests/spin/bcast.pml
optimise=-O1
holds "broadcasts, 2 nodes: safe" -DNODES=2 -DLITTER
holds "broadcasts, 3 nodes in a line: all end" -DLIVENESS
holds "broadcasts, a star: all end" -DSTAR -DLIVENESS
holds "broadcasts, a star, other roots: all end" -DSTAR -DMOVES -DLAST=6 -DLIVENESS
holds "broadcasts, 4 slots: safe" -DWINDOW=4 -DLAST=6
holds "broadcasts, 4 slots, other roots, a barrier: all end" -DWINDOW=4 -DLAST=7 -DMOVES -DBARRIER=1 \
    -DLIVENESS
holds "broadcasts, two hosts on a node: all end" -DTWO -DLIVENESS
holds "broadcasts, two hosts on the root's node: safe" -DTWO -DROOT=1
holds "broadcasts, a host sleeps: all end" -DSLEEPS=2 -DLIVENESS
holds "broadcasts, some groups fail: all end" -DLAST=3 -DMOVES -DFAILS=1 -DLIVENESS
holds "broadcasts, groups closed too soon: all end" -DLAST=3 -DMOVES -DHASTY -DLIVENESS
optimise=-O0
holds "broadcasts, no credit, but no room either: safe" -DNODES=2 -DNO_CREDIT
missed "broadcasts, no credit" "acceptance cycle" -DNODES=2 -DNO_CREDIT -DLIVENESS
missed "broadcasts, no credit, and blocks without room" "assertion violated" -DNODES=2 -DNO_CREDIT \
    -DNO_LIMIT
missed "broadcasts, too much credit" "assertion violated" -DNODES=2 -DCREDIT=3
missed "broadcasts, one host for all of a node" "assertion violated" -DNODES=2 -DTWO -DONE_HOST
missed "broadcasts, arrived before it is read" "assertion violated" -DNODES=2 -DEARLY
missed "broadcasts, old blocks taken again" "assertion violated" -DNODES=2 -DAGAIN -DLITTER
missed "broadcasts, whatever is in the slot" "assertion violated" -DNODES=2 -DANY_HELD
missed "broadcasts, not asked for" "invalid end state" -DNODES=2 -DNO_ASK
missed "broadcasts, no parent asked" "acceptance cycle" -DSLEEPS=2 -DNO_UP -DLIVENESS
missed "broadcasts, not taken for sleeping hosts" "acceptance cycle" -DSLEEPS=2 -DNO_PROXY -DLIVENESS
missed "broadcasts, no closing epoch" "acceptance cycle" -DNODES=2 -DNO_CLOSING -DLIVENESS
missed "broadcasts, a closed group that has failed and is silent" "acceptance cycle" -DNODES=2 \
    -DFAILS=1 -DSILENT -DLIVENESS
missed "broadcasts, groups closed too soon that say nothing" "acceptance cycle" -DNODES=2 \
    -DHASTY -DUNKNOWN -DLIVENESS
missed "broadcasts, a doorbell lost" "acceptance cycle" -DNODES=2 -DUNCONFIRMED -DLIVENESS

model=$tests/spin/match.pml
optimise=-O1
holds "matching, one sender" -DSENDERS=1 -DMESSAGES=4 -DSLOTS=3 -DCREDITS=2
holds "matching, one sender, receives one by one" -DSENDERS=1 -DMESSAGES=5 -DSLOTS=3 -DCREDITS=2 -DAHEAD=1
holds "matching, 2 senders" -DMESSAGES=2
holds "matching, 2 senders, receives one by one" -DMESSAGES=2 -DCREDITS=2 -DAHEAD=1
holds "matching, 2 senders, a slot each" -DMESSAGES=2 -DSLOTS=1
holds "matching, 3 senders" -DSENDERS=3 -DMESSAGES=1 -DSLOTS=1
optimise=-O0
one_by_one=(-DSENDERS=1 -DAHEAD=1)
missed "matching, slots returned at half of all" "invalid end state" "${one_by_one[@]}" -DMESSAGES=3 -DCREDITS=2 \
    -DHALF
missed "matching, slots not returned when a message waits" "invalid end state" "${one_by_one[@]}" -DMESSAGES=5 \
    -DSLOTS=4 -DCREDITS=4 -DLATE
missed "matching, slots returned with PULLs only" "invalid end state" "${one_by_one[@]}" -DMESSAGES=3 \
    -DCREDITS=2 -DNO_RETURN
missed "matching, no slots" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DNO_SLOTS
missed "matching, a slot free too soon" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DEARLY
missed "matching, messages out of order" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DOVERTAKE
missed "matching, any source taken twice" "assertion violated" -DMESSAGES=1 -DSTAYS
missed "matching, the exact receive first" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DEXACT
missed "matching, eager without a credit" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DANY_KIND
if [ "${NICBARR_SPIN-}" = large ]; then
    memory=2500
    optimise=-O2
    holds "matching, 2 senders, 3 receives" -DMESSAGES=2 -DCREDITS=2 -DAHEAD=3
    holds "matching, one sender of 6 messages, receives one by one" -DSENDERS=1 -DMESSAGES=6 -DSLOTS=3 \
        -DCREDITS=2 -DAHEAD=1
fi
exit $failed
