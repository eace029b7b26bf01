/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts between NICs (firmware/bcast.h) must neither deliver a wrong block nor hang: a model
 * of firmware/bcast.c, collective_bcast.c, mcp_collective_begin_closing() in collective.c, and
 * libmyr/groups/nic_bcast.c that is small enough to be searched exhaustively.
 *
 * Checked by run.sh. The hosts of NODES nodes call broadcasts with the numbers 1 to LAST, over a
 * window of WINDOW slots. Hosts arrive at any time. The wire may delay, lose, duplicate and reorder
 * packets. Blocks are forwarded along a line from the root (-DSTAR: the root sends to all).
 *
 * The completion of an epoch of the group's barrier is one step, which may occur at any time after
 * all nodes have entered that epoch, on each node separately. collective.pml shows that barriers
 * behave in this way, even if other nodes have closed the group. LATER is not modelled, because it
 * causes no transition. A doorbell may be lost as well: the root then rings it again before it
 * continues.
 *
 * The contents of a block are the number with which it was sent. A host reads a block as late as
 * possible, at the end of its call, so that an earlier overwrite is detected then.
 *
 * Safety: each host reads each block in order, and no other one; no block is overwritten before all
 * hosts of the node have read it (assertions); no deadlock (no invalid end state). Liveness
 * (-DLIVENESS): all hosts end, and all NICs close the group, unless packets are lost, duplicated or
 * requested without need infinitely often. Variants:
 *   -DTWO           node 1 has two hosts
 *   -DROOT=N        host N is the root of all broadcasts (0)
 *   -DMOVES         each broadcast has another root
 *   -DBARRIER=N     after broadcast N hosts arrive in a barrier, which skips the rest of the
 *                   present half of the window
 *   -DSLEEPS=N      host 1 does not arrive before host 2 has read N broadcasts
 *   -DFAILS=N       the first N hosts may declare the group failed while they wait. All hosts must
 *                   end, some of them because their group has failed; no group may fail without a
 *                   reason (an assertion)
 *   -DHASTY         NICs may close the group in the middle of its closing epoch; the same holds
 *   -DLITTER        packets that can no longer change anything remain on the wire
 *
 * Each of the following definitions removes a safeguard, which run.sh checks to be detected:
 *   -DNO_CREDIT     the root does not wait for its credit
 *   -DNO_LIMIT      (with NO_CREDIT) NICs accept blocks for which they have no room
 *   -DCREDIT=3      a credit is too large by half a window
 *   -DONE_HOST      a node enters an epoch when one of its hosts has read half of the window
 *   -DEARLY         hosts arrive before they have read the last block of the half
 *   -DAGAIN         NICs accept blocks again that had arrived before
 *   -DANY_HELD      an ASK is answered with any block that is in the slot
 *   -DNO_ASK        hosts do not request missing blocks
 *   -DNO_UP         a NIC that receives a request for a block that it lacks does not request it
 *   -DNO_PROXY      NICs accept blocks only when their hosts wait for them
 *   -DNO_CLOSING   the group is closed when its hosts leave it
 *   -DSILENT        a closed group that has failed does not answer requests for blocks with FAIL
 *   -DUNKNOWN       a group that was closed in the middle of its closing epoch does not count as
 *                   failed
 *   -DUNCONFIRMED   the root continues although its NIC may not have received the block
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LAST
#define LAST 4
#endif
#ifndef CREDIT
#define CREDIT 2
#endif
#ifndef ROOT
#define ROOT 0
#endif
#ifndef BARRIER
#define BARRIER 0
#endif
#ifndef SLEEPS
#define SLEEPS 0
#endif
#define HALF (WINDOW / 2)

#ifdef TWO
#define HOSTS (NODES + 1)
#define NODE(h) ((h) < NODES -> (h) : 1)
#define OTHER(p) ((p) == 1 -> NODES : (p)) /* the last host of a node */
#else
#define HOSTS NODES
#define NODE(h) (h)
#define OTHER(p) (p)
#endif
#ifdef MOVES
#define ROOT_OF(number) ((number) % HOSTS)
#else
#define ROOT_OF(number) ROOT
#endif
#define TOP(number) NODE(ROOT_OF(number))
#ifdef STAR
#define PARENT(p, number) TOP(number)
#else
#define PARENT(p, number) (((p) + NODES - 1) % NODES)
#endif
#if defined(FAILS) || defined(HASTY)
#define MAY_FAIL
#endif
#ifndef FAILS
#define FAILS 0
#endif
#define ALL(what) (what(0) && what(1) && what(2 % NODES)) /* two or three nodes */

/* The last number with which a host is done after this broadcast. If a barrier follows, the rest of
 * the half of the window is skipped. */
#define AFTER(number) ((number) == BARRIER -> ((number) / HALF + 1) * HALF : (number))

byte over[HOSTS]; /* the last number with which each host is done */
byte slot[NODES * WINDOW];
#define HELD(p, number) slot[(p) * WINDOW + (number) % WINDOW]

bool open[NODES], left[NODES], closed[NODES]; /* the group, on each node */
byte done[NODES];                             /* epochs */
bool failed[NODES], late_failed[NODES];       /* the open group, and the closed one */
bool broken; /* a host has declared the group failed, or a NIC has closed it early */

#define LEAST(a, b) ((a) < (b) -> (a) : (b))
#define MOST(a, b) ((a) > (b) -> (a) : (b))
/* The last number that all hosts of the node have read. */
#define READ(p) LEAST(over[p], over[OTHER(p)])
#ifdef EARLY
#define ARRIVED(h) ((over[h] + 1) / HALF)
#else
#define ARRIVED(h) (over[h] / HALF)
#endif
#ifdef ONE_HOST
#define ENTERED(p) MOST(ARRIVED(p), ARRIVED(OTHER(p)))
#else
#define ENTERED(p) LEAST(ARRIVED(p), ARRIVED(OTHER(p)))
#endif
#define STARTED(p) (ENTERED(p) + left[p])
#define CLOSING (LAST / HALF + 1)

/* Packets: blocks and ASKs, identified by the node that misses the block. `wrong` are blocks with
 * wrong contents. */
#define ABOUT(p, number) ((p) * LAST + (number) - 1)
#define PACKETS (NODES * LAST)
#define ABOUT_NODE(about) ((about) / LAST)
#define ABOUT_NUMBER(about) ((about) % LAST + 1)
int blocks, wrong, asks;
int fails; /* a FAIL is not about a block, and is identified by its receiver */
#define ON(set, about) (((set) >> (about)) & 1)
#define OFF(set, about) set = set & ~(1 << (about))

/* Marks transitions that happen by chance, as in collective.pml. */
#ifdef LIVENESS
bool by_chance;
#define CHANCE by_chance = true
#define PLAIN by_chance = false
#else
#define CHANCE skip
#define PLAIN skip
#endif

/* ---- the NIC; each operation is one step, because the MCP is never interrupted ---- */

byte i, to, from, number; /* temporary variables of a step; 0 between two steps */

/* Remove packets from the wire that can no longer change anything. */
inline tidy()
{
#ifndef LITTER
    i = 0;
    do
    :: i < PACKETS ->
        if
        :: HELD(ABOUT_NODE(i), ABOUT_NUMBER(i)) >= ABOUT_NUMBER(i) || closed[ABOUT_NODE(i)] ->
            OFF(blocks, i);
            OFF(wrong, i);
            OFF(asks, i)
        :: else
        fi;
        if
        :: failed[ABOUT_NODE(i)] || left[ABOUT_NODE(i)] || closed[ABOUT_NODE(i)] ->
            OFF(fails, ABOUT_NODE(i))
        :: else
        fi;
        i++
    :: else -> break
    od;
#endif
    i = 0;
    to = 0;
    from = 0;
    number = 0
}

#ifdef NO_LIMIT
#define ROOM(p, number) true
#else
#define ROOM(p, number) ((number) <= (STARTED(p) + CREDIT) * HALF)
#endif
#ifdef AGAIN
#define NEW(p, number) true
#else
#define NEW(p, number) (HELD(p, number) < (number))
#endif
#ifdef NO_PROXY
#define WANTED(p, number) (p == TOP(number) || over[p] + 1 == (number))
#else
#define WANTED(p, number) true
#endif

/* Block `number` has arrived at node `to`. */
inline take()
{
    if
    :: open[to] && !failed[to] && ROOM(to, number) && NEW(to, number) && WANTED(to, number) ->
        assert(READ(to) >= HELD(to, number));
        HELD(to, number) = number;
        i = 0;
        do
        :: i < NODES ->
            if
            :: i != TOP(number) && PARENT(i, number) == to ->
                blocks = blocks | 1 << ABOUT(i, number)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    :: else
    fi
}

inline receive_block(about)
{
    to = ABOUT_NODE(about);
    number = ABOUT_NUMBER(about);
    take();
    tidy()
}

/* A block with wrong contents must never be accepted. */
inline receive_wrong(about)
{
    to = ABOUT_NODE(about);
    number = ABOUT_NUMBER(about);
    assert(!(open[to] && ROOM(to, number) && NEW(to, number)));
    tidy()
}

inline receive_ask(about)
{
    number = ABOUT_NUMBER(about);
    from = PARENT(ABOUT_NODE(about), number);
    if
    :: open[from] && HELD(from, number) == number -> blocks = blocks | 1 << about
#ifdef ANY_HELD
    :: open[from] && HELD(from, number) != number && HELD(from, number) != 0 ->
        wrong = wrong | 1 << about
#endif
#ifndef NO_UP
    :: open[from] && HELD(from, number) < number && !failed[from] && from != TOP(number) ->
        asks = asks | 1 << ABOUT(from, number)
#endif
    :: open[from] && HELD(from, number) != number && failed[from] ->
        fails = fails | 1 << ABOUT_NODE(about)
#ifndef SILENT
    :: closed[from] && late_failed[from] -> fails = fails | 1 << ABOUT_NODE(about)
#endif
    :: else
    fi;
    tidy()
}

/* Fail the group, and notify all peers. */
inline fail(p)
{
    assert(broken);
    failed[p] = true;
    i = 0;
    do
    :: i < NODES ->
        if
        :: i != p -> fails = fails | 1 << i
        :: else
        fi;
        i++
    :: else -> break
    od;
    tidy()
}

inline receive_fail(p)
{
    if
    :: open[p] && !failed[p] && !left[p] -> fail(p)
    :: else
    fi
}

/* The barrier, and the end of the group. If an epoch may never complete, a node that waits in it is
 * notified when the ASKs of its barrier are answered. */
#define LOST(p) (failed[p] || late_failed[p])
#define ANY_LOST (LOST(0) || LOST(1) || LOST(2 % NODES))
#define MAY_LEARN(p) (open[p] && !failed[p] && !left[p] && STARTED(p) > done[p] && ANY_LOST)
#define LEAST_STARTED LEAST(STARTED(0), LEAST(STARTED(1), STARTED(2 % NODES)))
#define MAY_COMPLETE(p) (open[p] && !failed[p] && done[p] < LEAST_STARTED)
#define MAY_LEAVE(p) (READ(p) == LAST && !left[p] && !failed[p])
#ifdef HASTY
#define MAY_EVICT true
#else
#define MAY_EVICT false
#endif
#ifdef NO_CLOSING
#define MAY_CLOSE(p) (left[p] && !closed[p])
#else
#define MAY_CLOSE(p) (!closed[p] && (failed[p] || (left[p] && (done[p] == CLOSING || MAY_EVICT))))
#endif

proctype nic(byte p)
{
#ifdef MAY_FAIL
end: /* the NIC may remain in the closing epoch for ever */
#endif
    do
    :: d_step { MAY_COMPLETE(p) -> done[p]++; PLAIN }
#ifdef MAY_FAIL
    :: d_step { MAY_LEARN(p) -> fail(p); PLAIN }
    /* A FAIL arrives or is lost. */
    :: d_step { ON(fails, p) -> OFF(fails, p); receive_fail(p); PLAIN }
    :: d_step { ON(fails, p) -> OFF(fails, p); CHANCE }
#endif
    :: d_step { MAY_LEAVE(p) -> left[p] = true; PLAIN }
    :: d_step {
        MAY_CLOSE(p) ->
        if
        :: failed[p] -> late_failed[p] = true
#if defined(HASTY) && !defined(UNKNOWN)
        :: !failed[p] && done[p] != CLOSING ->
            late_failed[p] = true;
            broken = true
#endif
        :: else
        fi;
        failed[p] = false;
        open[p] = false;
        closed[p] = true;
        tidy();
        PLAIN
    }
        break
    od
}

/* ---- hosts ---- */

/* The number of a host's next broadcast. Before it, the host has arrived in epoch over / HALF. */
#define NEXT(h) (over[h] + 1)
#define IS_ROOT(h) (ROOT_OF(NEXT(h)) == (h))
#ifdef NO_CREDIT
#define HAS_CREDIT(h) true
#else
#define HAS_CREDIT(h) (NEXT(h) <= (done[NODE(h)] + CREDIT) * HALF)
#endif
#define IS_HERE(h) (HELD(NODE(h), NEXT(h)) >= NEXT(h))
#define SLEEPS_NOW(h) (SLEEPS > 0 && (h) == 1 && over[2 % NODES] < SLEEPS)

#define GOES_ON(h) (over[h] < LAST && !SLEEPS_NOW(h) && !LOST(NODE(h)))
#define MAY_SEND(h) (GOES_ON(h) && IS_ROOT(h) && HAS_CREDIT(h))
#define MAY_READ(h) (GOES_ON(h) && !IS_ROOT(h) && IS_HERE(h))
#define MISSES(h) (GOES_ON(h) && !IS_ROOT(h) && !IS_HERE(h) && open[NODE(h)])
#define WAITS(h) (GOES_ON(h) && (IS_ROOT(h) -> !HAS_CREDIT(h) : !IS_HERE(h)))

proctype host(byte h)
{
    open[NODE(h)] = true;
    do
    :: d_step {
        MAY_SEND(h) ->
        to = NODE(h);
        number = NEXT(h);
        take();
        over[h] = AFTER(number);
        tidy();
        PLAIN
    }
#ifdef UNCONFIRMED
    :: d_step { MAY_SEND(h) -> over[h] = AFTER(NEXT(h)); CHANCE }
#endif
    :: d_step {
        MAY_READ(h) ->
        assert(HELD(NODE(h), NEXT(h)) == NEXT(h));
        over[h] = AFTER(NEXT(h));
        PLAIN
    }
#ifdef MAY_FAIL
    :: d_step {
        WAITS(h) && h < FAILS ->
        broken = true;
        fail(NODE(h));
        PLAIN
    }
    :: LOST(NODE(h)) -> break
#endif
    :: over[h] == LAST -> break
    od
}

/* ---- the wire: one process for each possible packet ---- */

proctype wire(byte about)
{
end:
    do
    :: d_step { ON(blocks, about) -> OFF(blocks, about); receive_block(about); PLAIN }
    :: d_step { ON(wrong, about) -> OFF(wrong, about); receive_wrong(about); PLAIN }
    :: d_step { ON(asks, about) -> OFF(asks, about); receive_ask(about); PLAIN }
    /* The packet arrives, and will arrive again. */
    :: d_step { ON(blocks, about) -> receive_block(about); CHANCE }
    :: d_step { ON(wrong, about) -> receive_wrong(about); CHANCE }
    :: d_step { ON(asks, about) -> receive_ask(about); CHANCE }
    /* The packet is lost. */
    :: d_step { ON(blocks, about) -> OFF(blocks, about); CHANCE }
    :: d_step { ON(wrong, about) -> OFF(wrong, about); CHANCE }
    :: d_step { ON(asks, about) -> OFF(asks, about); CHANCE }
    od
}

/* ---- backoff ---- */

#define ASK(h) asks = asks | 1 << ABOUT(NODE(h), NEXT(h))
#define IDLE(h) (!MAY_SEND(h) && !MAY_READ(h))
#ifdef MAY_FAIL
#define NIC_IDLE(p) (!MAY_COMPLETE(p) && !MAY_LEAVE(p) && !MAY_LEARN(p))
#define FINISHED(p) (left[p] || LOST(p))
#else
#define NIC_IDLE(p) (!MAY_COMPLETE(p) && !MAY_LEAVE(p) && !MAY_CLOSE(p))
#define FINISHED(p) closed[p]
#endif
#define STUCK(p) ((open[p] || closed[p]) && IDLE(p) && IDLE(OTHER(p)) && NIC_IDLE(p))

/* A waiting host may send requests at any time, even without need. */
proctype asks_early(byte h)
{
end:
    do
    :: d_step { MISSES(h) -> ASK(h); CHANCE }
    od
}

/* All waiting hosts send requests when nothing else can happen. */
proctype backoff()
{
    byte h;
end:
    do
    :: d_step {
        blocks == 0 && wrong == 0 && asks == 0 && fails == 0 && ALL(STUCK) && !ALL(FINISHED) ->
        do
        :: h < HOSTS ->
            if
            :: MISSES(h) -> ASK(h)
            :: else
            fi;
            h++
        :: else -> break
        od;
        h = 0;
        PLAIN
    }
    od
}

init {
    byte n = 0;
    atomic {
        do
        :: n < PACKETS ->
            run wire(n);
            n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < NODES ->
            run nic(n);
            n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < HOSTS ->
            run host(n);
#ifndef NO_ASK
            run asks_early(n);
#endif
            n++
        :: else -> break
        od;
        n = 0;
#ifndef NO_ASK
        run backoff()
#endif
    }
}

#ifdef LIVENESS
ltl ends { ([]<> by_chance) || (<> ALL(FINISHED)) }
#endif
