/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts between NICs (firmware/bcast.h), small enough to be searched whole: firmware/bcast.c,
 * collective_bcast.c, mcp_collective_farewell() in collective.c, and libmyr/groups/nic_bcast.c.
 *
 * Checked by run.sh. The hosts of NODES nodes call broadcasts with the numbers 1 to LAST, over a window
 * of WINDOW slots. Hosts come whenever they like, and sleep as long as they like. The wire keeps, loses,
 * repeats and reorders packets as it likes. Blocks are handed on along a line from the root (-DSTAR: the
 * root sends to all).
 *
 * An epoch of the group's barrier is one step here, which may come at any time after all nodes have
 * entered that epoch, on each node for itself. That is what collective.pml finds of barriers, also of
 * such that others have closed. LATER is not here, as it moves nothing. A doorbell may be lost, too:
 * then the root rings again, and has not gone on.
 *
 * What a block says does not matter: it is the number that it was sent with. A host reads a block at
 * the last moment, together with its call's end: if it was overwritten before, that is seen then.
 *
 * Safety: each host reads each block in its turn, and no other one; no block is overwritten before all
 * hosts of the node have read it (assertions); no deadlock (no invalid end state). Liveness
 * (-DLIVENESS): unless packets are lost, repeated or asked for without need again and again for ever,
 * all hosts end, and all NICs close the group.
 *
 *   -DTWO         node 1 has two hosts
 *   -DROOT=N      host N is the root of all (0)
 *   -DMOVES       each broadcast has another root
 *   -DBARRIER=N   after broadcast N hosts arrive in a barrier, which leaves out the rest of the half
 *   -DSLEEPS=N    host 1 does not come before host 2 has read N broadcasts
 *   -DFAILS=N     the first N hosts may give the others up while they wait
 *   -DHASTY       NICs may close the group in the middle of its farewell. With these two all hosts end,
 *                 some as their group has failed; none fails before there is a reason (an assertion)
 *   -DLITTER      packets that will change nothing any more stay on the wire
 *
 * The guards below can be taken away one by one, and run.sh sees to it that each is missed:
 *   -DNO_CREDIT   the root does not wait for its credit
 *   -DNO_LIMIT    ... and NICs take blocks for which they have no room
 *   -DCREDIT=3    a credit is one half too many
 *   -DONE_HOST    a node enters an epoch when one of its hosts has read the half
 *   -DEARLY       hosts arrive before they have read the last block of the half
 *   -DAGAIN       NICs take blocks again that had come before
 *   -DANY_HELD    who asks gets what is in the slot, whatever it is
 *   -DNO_ASK      hosts do not ask for what is missing
 *   -DNO_UP       a NIC that is asked for what it has not got does not ask for that itself
 *   -DNO_PROXY    NICs take blocks only when their hosts wait for them
 *   -DNO_FAREWELL the group is closed when its hosts leave it
 *   -DSILENT      a closed group that has failed does not say so to who asks for a block
 *   -DUNKNOWN     a group that was closed in the middle of its farewell does not count as failed
 *   -DUNHEARD     the root goes on, though its NIC may not have heard of the block
 * (The last two are not in the code yet.)
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

/* What a barrier after that broadcast makes of its number: the rest of the half is left out. */
#define AFTER(number) ((number) == BARRIER -> ((number) / HALF + 1) * HALF : (number))

byte over[HOSTS]; /* the last number that each host is done with, and asks for no more */
byte slot[NODES * WINDOW];
#define HELD(p, number) slot[(p) * WINDOW + (number) % WINDOW]

bool open[NODES], left[NODES], closed[NODES]; /* the group, on each node */
byte done[NODES];                             /* epochs */
bool failed[NODES], late_failed[NODES];       /* the open group, and the closed one */
bool broken;                                  /* somebody has given up, or closed it too soon */

#define LEAST(a, b) ((a) < (b) -> (a) : (b))
#define MOST(a, b) ((a) > (b) -> (a) : (b))
#define READ(p) LEAST(over[p], over[OTHER(p)]) /* by all hosts of the node */
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
#define FAREWELL (LAST / HALF + 1)

/* Packets: blocks and questions, by the node that misses the block. `wrong` are blocks, too, but not
 * what they say. */
#define ABOUT(p, number) ((p) * LAST + (number) - 1)
#define PACKETS (NODES * LAST)
#define ABOUT_NODE(about) ((about) / LAST)
#define ABOUT_NUMBER(about) ((about) % LAST + 1)
int blocks, wrong, asks;
int fails; /* a FAIL is about no block: its receiver is all there is to it */
#define ON(set, about) (((set) >> (about)) & 1)
#define OFF(set, about) set = set & ~(1 << (about))

/* As in collective.pml. */
#ifdef LIVENESS
bool by_chance;
#define CHANCE by_chance = true
#define PLAIN by_chance = false
#else
#define CHANCE skip
#define PLAIN skip
#endif

/* ---- the NIC; each of these is one step, as the MCP is never interrupted ---- */

byte i, to, from, number; /* of one step, 0 in between */

/* Take packets off the wire that will change nothing whenever they come. */
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

/* The block `number` has come to node `to`. */
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

/* It is not the block that it says: nobody takes it. */
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

/* All peers are told. */
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

/* The barrier, and the end of the group. Who waits in an epoch that may not be complete any more hears
 * of it by its barrier's questions. */
#define LOST(p) (failed[p] || late_failed[p])
#define ANY_LOST (LOST(0) || LOST(1) || LOST(2 % NODES))
#define MAY_HEAR(p) (open[p] && !failed[p] && !left[p] && STARTED(p) > done[p] && ANY_LOST)
#define LEAST_STARTED LEAST(STARTED(0), LEAST(STARTED(1), STARTED(2 % NODES)))
#define MAY_COMPLETE(p) (open[p] && !failed[p] && done[p] < LEAST_STARTED)
#define MAY_LEAVE(p) (READ(p) == LAST && !left[p] && !failed[p])
#ifdef HASTY
#define TOO_SOON true
#else
#define TOO_SOON false
#endif
#ifdef NO_FAREWELL
#define MAY_CLOSE(p) (left[p] && !closed[p])
#else
#define MAY_CLOSE(p) (!closed[p] && (failed[p] || (left[p] && (done[p] == FAREWELL || TOO_SOON))))
#endif

proctype nic(byte p)
{
#ifdef MAY_FAIL
end: /* it may stay in the farewell for ever */
#endif
    do
    :: d_step { MAY_COMPLETE(p) -> done[p]++; PLAIN }
#ifdef MAY_FAIL
    :: d_step { MAY_HEAR(p) -> fail(p); PLAIN }
    /* A FAIL comes, or is lost. */
    :: d_step { ON(fails, p) -> OFF(fails, p); receive_fail(p); PLAIN }
    :: d_step { ON(fails, p) -> OFF(fails, p); CHANCE }
#endif
    :: d_step { MAY_LEAVE(p) -> left[p] = true; PLAIN }
    :: d_step {
        MAY_CLOSE(p) ->
        if
        :: failed[p] -> late_failed[p] = true
#if defined(HASTY) && !defined(UNKNOWN)
        :: !failed[p] && done[p] != FAREWELL ->
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
#ifdef UNHEARD
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

/* ---- the wire: one process for each packet that there can be ---- */

proctype wire(byte about)
{
end:
    do
    :: d_step { ON(blocks, about) -> OFF(blocks, about); receive_block(about); PLAIN }
    :: d_step { ON(wrong, about) -> OFF(wrong, about); receive_wrong(about); PLAIN }
    :: d_step { ON(asks, about) -> OFF(asks, about); receive_ask(about); PLAIN }
    /* It comes, and will come once more. */
    :: d_step { ON(blocks, about) -> receive_block(about); CHANCE }
    :: d_step { ON(wrong, about) -> receive_wrong(about); CHANCE }
    :: d_step { ON(asks, about) -> receive_ask(about); CHANCE }
    /* It is lost. */
    :: d_step { ON(blocks, about) -> OFF(blocks, about); CHANCE }
    :: d_step { ON(wrong, about) -> OFF(wrong, about); CHANCE }
    :: d_step { ON(asks, about) -> OFF(asks, about); CHANCE }
    od
}

/* ---- patience ---- */

#define ASK(h) asks = asks | 1 << ABOUT(NODE(h), NEXT(h))
#define IDLE(h) (!MAY_SEND(h) && !MAY_READ(h))
#ifdef MAY_FAIL
#define NIC_IDLE(p) (!MAY_COMPLETE(p) && !MAY_LEAVE(p) && !MAY_HEAR(p))
#define FINISHED(p) (left[p] || LOST(p))
#else
#define NIC_IDLE(p) (!MAY_COMPLETE(p) && !MAY_LEAVE(p) && !MAY_CLOSE(p))
#define FINISHED(p) closed[p]
#endif
#define STUCK(p) ((open[p] || closed[p]) && IDLE(p) && IDLE(OTHER(p)) && NIC_IDLE(p))

/* Who has no patience may ask at any time. */
proctype impatient(byte h)
{
end:
    do
    :: d_step { MISSES(h) -> ASK(h); CHANCE }
    od
}

/* All others ask when nothing else happens. */
proctype patient()
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
            run impatient(n);
#endif
            n++
        :: else -> break
        od;
        n = 0;
#ifndef NO_ASK
        run patient()
#endif
    }
}

#ifdef LIVENESS
ltl ends { ([]<> by_chance) || (<> ALL(FINISHED)) }
#endif
