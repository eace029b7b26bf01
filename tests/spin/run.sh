#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the protocol may release a barrier early, deliver wrong data, or hang a job. The script searches models
# of the protocol exhaustively, in several sizes: barriers (collective.pml), groups that carry data (data.pml),
# broadcasts (bcast.pml), and the matching of tagged messages (match.pml). To test the models, it also removes each
# safeguard of the protocol in turn, which the search must detect. It needs spin, a C compiler, two minutes and 500 MiB.
# NICBARR_SPIN=large adds larger instances of match.pml (half a minute, 2.2 GiB).

set -u
tests=$(cd "$(dirname "$0")/.." && pwd)
model=$tests/spin/collective.pml
optimise=-O1 # for the longer searches; those for defects end soon and are compiled without optimisation
# shellcheck source=tests/spin/search.sh
. "$tests/spin/search.sh"

holds "barriers, 2 nodes, 3 epochs: safe" -DEPOCHS=3 -DLATE_ASKS
holds "barriers, 2 nodes, 2 epochs: all hosts end" -DEPOCHS=2 -DLIVENESS
holds "barriers, 2 nodes, 2 epochs, one outstanding at a time: all hosts end" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS
holds "barriers, 3 nodes: safe" -DNODES=3 -DEPOCHS=1 -DLATE_ASKS
holds "barriers, 3 nodes: all hosts end" -DNODES=3 -DEPOCHS=1 -DLATE_ASKS -DLIVENESS
holds "barriers, the group is reopened (A, B, A', B'): safe" -DINCARNATIONS=2 -DEPOCHS=1
holds "barriers, the group is reopened, 2 epochs: safe" -DINCARNATIONS=2 -DEPOCHS=2 -DLATE_ASKS
holds "barriers, the group is reopened: all hosts end" -DINCARNATIONS=2 -DEPOCHS=1 -DLIVENESS

holds "barriers, 2 nodes, 2 epochs, groups may fail: safe" -DEPOCHS=2 -DFAILS=2
holds "barriers, 2 nodes, 2 epochs, groups may fail: all hosts end" -DEPOCHS=2 -DFAILS=2 -DLATE_ASKS -DLIVENESS
holds "barriers, 3 nodes, groups may fail: all hosts end" -DNODES=3 -DEPOCHS=1 -DFAILS=1 -DLATE_ASKS -DONCE -DSURE \
    -DLIVENESS
holds "barriers, the group is reopened, groups may fail: safe" -DINCARNATIONS=2 -DEPOCHS=1 -DFAILS=1 -DLATE_ASKS

optimise=-O0
missed "barriers, a reopened group has the same key" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DSAME_KEY
missed "barriers, closed groups are not remembered" "acceptance cycle" -DEPOCHS=1 -DLIVENESS -DNO_LATE
missed "barriers, closed groups answer any request with DONE" "assertion violated" -DINCARNATIONS=2 -DEPOCHS=1 -DANY_LATE
missed "barriers, lost messages are not requested" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "barriers, a message of the next epoch does not imply that of the present one" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DLIVENESS \
    -DNO_IMPLIED
missed "barriers, failed groups do not answer with FAIL" "acceptance cycle" -DEPOCHS=2 -DAHEAD=1 -DFAILS=1 -DLATE_ASKS \
    -DLIVENESS -DNO_FAIL
missed "barriers, failures of closed groups are not remembered" "acceptance cycle" -DEPOCHS=1 -DFAILS=1 -DLIVENESS \
    -DNO_LATE_FAIL
missed "barriers, a reopened group has the same key, and a FAIL arrives late" "assertion violated declared_failed" -DINCARNATIONS=2 -DEPOCHS=1 \
    -DFAILS=1 -DLATE_ASKS -DSAME_KEY

model=$tests/spin/data.pml
optimise=-O1
holds "data, 2 nodes: safe" -DLITTER
holds "data, 3 nodes, 3 epochs: safe" -DNODES=3 -DEPOCHS=3
holds "data, 3 nodes, 2 epochs: all hosts end" -DNODES=3 -DLIVENESS
holds "data, 4 nodes: safe" -DNODES=4 -DEPOCHS=1
holds "data, 3 nodes, groups may be closed early: all hosts end" -DNODES=3 -DEPOCHS=1 -DHASTY -DLIVENESS
optimise=-O0
holds "data, 3 nodes in a line, 3 epochs: all hosts end" -DNODES=3 -DCHAIN -DEPOCHS=3 -DLIVENESS
holds "data, one epoch carries no data: all hosts end" -DEPOCHS=3 -DBARE=2 -DLIVENESS
holds "data, the last epoch carries no data: all hosts end" -DEPOCHS=2 -DBARE=2 -DLIVENESS
holds "data, 3 nodes in a line, groups may be closed early: all hosts end" -DNODES=3 -DCHAIN -DHASTY -DLIVENESS
missed "data, even and odd epochs share a buffer" "assertion violated" -DEPOCHS=3 -DONE_BUFFER
missed "data, an epoch begins before the previous one is complete" "assertion violated" -DEPOCHS=3 -DAHEAD=2
missed "data, a message of an epoch counts for the previous epoch" "assertion violated" -DIMPLIED
missed "data, requests are answered with the last message" "acceptance cycle" -DLIVENESS -DANSWER_LAST
missed "data, requests are answered with the last message, relabelled" "assertion violated" -DRELABEL
missed "data, lost messages are not requested" "invalid end state" -DEPOCHS=1 -DNO_ASK
missed "data, there is no closing epoch" "assertion violated 0" -DEPOCHS=1 -DNO_CLOSING
missed "data, there is no closing epoch, and closed groups answer with DONE" "assertion violated" -DEPOCHS=1 -DNO_CLOSING -DANY_DONE
missed "data, groups are closed early, and answer with DONE" "assertion violated" -DEPOCHS=1 -DHASTY \
    -DANY_DONE
missed "data, groups are closed early, and do not answer with FAIL" "acceptance cycle" -DEPOCHS=1 -DHASTY -DMUTE \
    -DLIVENESS
missed "data, closed groups are not remembered" "acceptance cycle" -DEPOCHS=1 -DNO_LATE -DLIVENESS

model=$tests/spin/bcast.pml
optimise=-O1
holds "broadcasts, 2 nodes: safe" -DNODES=2 -DLITTER
holds "broadcasts, 3 nodes in a line: all hosts end" -DLIVENESS
holds "broadcasts, a star: all hosts end" -DSTAR -DLIVENESS
holds "broadcasts, a star, the root changes: all hosts end" -DSTAR -DMOVES -DLAST=6 -DLIVENESS
holds "broadcasts, 4 slots: safe" -DWINDOW=4 -DLAST=6
holds "broadcasts, 4 slots, the root changes, a barrier between: all hosts end" -DWINDOW=4 -DLAST=7 -DMOVES -DBARRIER=1 \
    -DLIVENESS
holds "broadcasts, two hosts on a node: all hosts end" -DTWO -DLIVENESS
holds "broadcasts, two hosts on the root's node: safe" -DTWO -DROOT=1
holds "broadcasts, a host is late: all hosts end" -DSLEEPS=2 -DLIVENESS
holds "broadcasts, groups may fail: all hosts end" -DLAST=3 -DMOVES -DFAILS=1 -DLIVENESS
holds "broadcasts, groups may be closed early: all hosts end" -DLAST=3 -DMOVES -DHASTY -DLIVENESS
optimise=-O0
holds "broadcasts, the root ignores credits, and NICs reject blocks without room: safe" -DNODES=2 -DNO_CREDIT
missed "broadcasts, the root ignores credits" "acceptance cycle" -DNODES=2 -DNO_CREDIT -DLIVENESS
missed "broadcasts, the root ignores credits, and NICs accept blocks without room" "assertion violated" -DNODES=2 -DNO_CREDIT \
    -DNO_LIMIT
missed "broadcasts, credits are too large" "assertion violated" -DNODES=2 -DCREDIT=3
missed "broadcasts, a node arrives when one of its hosts has read the blocks" "assertion violated" -DNODES=2 -DTWO -DONE_HOST
missed "broadcasts, hosts arrive before they have read the last block" "assertion violated" -DNODES=2 -DEARLY
missed "broadcasts, old blocks are accepted again" "assertion violated" -DNODES=2 -DAGAIN -DLITTER
missed "broadcasts, requests are answered with any block in the slot" "assertion violated" -DNODES=2 -DANY_HELD
missed "broadcasts, lost blocks are not requested" "invalid end state" -DNODES=2 -DNO_ASK
missed "broadcasts, requests are not forwarded to the parent" "acceptance cycle" -DSLEEPS=2 -DNO_UP -DLIVENESS
missed "broadcasts, blocks are rejected while the host is late" "acceptance cycle" -DSLEEPS=2 -DNO_PROXY -DLIVENESS
missed "broadcasts, there is no closing epoch" "acceptance cycle" -DNODES=2 -DNO_CLOSING -DLIVENESS
missed "broadcasts, closed groups that have failed do not answer with FAIL" "acceptance cycle" -DNODES=2 \
    -DFAILS=1 -DSILENT -DLIVENESS
missed "broadcasts, groups are closed early and do not count as failed" "acceptance cycle" -DNODES=2 \
    -DHASTY -DUNKNOWN -DLIVENESS
missed "broadcasts, the root does not repeat a lost doorbell" "acceptance cycle" -DNODES=2 -DUNCONFIRMED -DLIVENESS

model=$tests/spin/match.pml
optimise=-O1
holds "matching, one sender" -DSENDERS=1 -DMESSAGES=4 -DSLOTS=3 -DCREDITS=2
holds "matching, one sender, one outstanding receive" -DSENDERS=1 -DMESSAGES=5 -DSLOTS=3 -DCREDITS=2 -DAHEAD=1
holds "matching, 2 senders" -DMESSAGES=2
holds "matching, 2 senders, one outstanding receive" -DMESSAGES=2 -DCREDITS=2 -DAHEAD=1
holds "matching, 2 senders with one slot each" -DMESSAGES=2 -DSLOTS=1
holds "matching, 3 senders with one slot each" -DSENDERS=3 -DMESSAGES=1 -DSLOTS=1
optimise=-O0
one_by_one=(-DSENDERS=1 -DAHEAD=1)
missed "matching, slots are returned only when half of all are owed" "invalid end state" "${one_by_one[@]}" -DMESSAGES=3 -DCREDITS=2 \
    -DHALF
missed "matching, slots are not returned when another message becomes unexpected" "invalid end state" "${one_by_one[@]}" -DMESSAGES=5 \
    -DSLOTS=4 -DCREDITS=4 -DLATE
missed "matching, slots are returned with PULLs only" "invalid end state" "${one_by_one[@]}" -DMESSAGES=3 \
    -DCREDITS=2 -DNO_RETURN
missed "matching, messages are sent without a slot" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DNO_SLOTS
missed "matching, a slot is returned before its message is received" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DEARLY
missed "matching, messages overtake earlier ones that wait for a slot" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DOVERTAKE
missed "matching, a receive from any source remains posted after its match" "assertion violated" -DMESSAGES=1 -DSTAYS
missed "matching, a receive with a narrower pattern precedes earlier ones" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DEXACT
missed "matching, messages are sent eagerly without a credit" "assertion violated" -DSENDERS=1 -DMESSAGES=3 -DANY_KIND
if [ "${NICBARR_SPIN-}" = large ]; then
    memory=2500
    optimise=-O2
    holds "matching, 2 senders, 3 outstanding receives" -DMESSAGES=2 -DCREDITS=2 -DAHEAD=3
    holds "matching, one sender of 6 messages, one outstanding receive" -DSENDERS=1 -DMESSAGES=6 -DSLOTS=3 \
        -DCREDITS=2 -DAHEAD=1
fi
exit $failed
