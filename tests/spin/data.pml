/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups that carry data (docs/protocol.md), small enough to be searched whole: mcp_group_offer(),
 * mcp_group_claim(), mcp_group_record(), mcp_group_answer() and mcp_group_release() in
 * firmware/engine.c; mcp_collective_farewell(), remember() and receive_stranger() in collective.c.
 *
 * Checked by run.sh. NODES nodes exchange blocks in EPOCHS epochs, then say farewell and close the
 * group. Hosts come, open the group and leave it whenever they like. Messages go by dissemination; with
 * -DCHAIN among three nodes to and fro along a line, where a node hands on what it has just got. The
 * wire keeps, loses, repeats and reorders packets as it likes.
 *
 * What a block says does not matter. So a place of a buffer is the epoch whose block it has, and a
 * packet is good or bad: all its blocks are of its epoch, or not. A bad one may come, but is not taken.
 *
 * Safety: when an epoch is done, and still when the host begins the next one or leaves, its buffer has
 * the blocks of all nodes for that epoch (an assertion); nobody hears a FAIL (an assertion); no deadlock
 * (no invalid end state). Liveness (-DLIVENESS): unless packets are lost, repeated or asked for without
 * need again and again for ever, all hosts end, and all NICs close the group.
 *
 * -DBARE=N: nobody has data in epoch N. -DHASTY lets NICs close the group in the middle of the
 * farewell (the soft NIC does when there are too many, the daemon of the kernel's after a minute). Then
 * groups may fail, and all hosts end, having read the right blocks or failed.
 *
 * An ARRIVE without payload that comes before its group is open counts as lost, and LATER is not here,
 * as in collective.pml. The guards below can be taken away one by one, and run.sh sees to it that each
 * is missed:
 *   -DONE_BUFFER  even and odd epochs share a buffer
 *   -DAHEAD=2     a host may begin an epoch before the one before it is done
 *   -DSTAND       an epoch's message stands for that of the epoch before
 *   -DANSWER_LAST who asks gets the last message that was sent, as in groups without data
 *   -DRELABEL     ... and it says that it is the one that was asked for
 *   -DNO_ASK      nobody asks for what is missing
 *   -DNO_FAREWELL the group is closed when its hosts leave it
 *   -DANY_DONE    a closed group says that its last epoch is done, though it had data
 *   -DNO_LATE     closed groups are not remembered
 *   -DMUTE        of a group that was closed in the middle it is not said that it fails
 *
 * Packets that will change nothing any more are taken off the wire, so there are few states. -DLITTER
 * leaves them there: what they change then would be found.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef BARE
#define BARE 0
#endif
#ifndef AHEAD
#define AHEAD 1
#endif
#define HAS_DATA(epoch) (0 < (epoch) && (epoch) <= EPOCHS && (epoch) != BARE)
#if defined(NO_FAREWELL) || BARE == EPOCHS
#define FAREWELL EPOCHS
#else
#define FAREWELL (EPOCHS + 1)
#endif

/* The schedule: messages, and what each node does in an epoch, one after the other: it sends a message
 * (from its place AT there), or waits for one. A message carries its sender's own block and those of
 * the messages that CARRIES says. */
#ifdef CHAIN /* 2 to 1, 1 to 0, 0 to 1, 1 to 2 */
#define MESSAGES 4
#define FROM(m) ((m) == 0 -> 2 : ((m) == 2 -> 0 : 1))
#define TO(m) ((m) == 1 -> 0 : ((m) == 3 -> 2 : 1))
#define AT(m) ((m) == 0 -> 0 : ((m) == 3 -> 3 : 1))
#define CARRIES(m, other) (((m) == 1 && (other) == 0) || ((m) == 3 && ((other) == 0 || (other) == 2)))
#define ACTIONS(p) ((p) == 1 -> 4 : 2)
#define SENDS(p, at) ((p) == 2 -> (at) == 0 : (at) % 2 == 1)
#define MESSAGE(p, at) ((p) == 0 -> (at) + 1 : ((p) == 1 -> (at) : 3 * (at)))
#else
#if NODES < 4
#define STEPS (NODES - 1)
#else
#define STEPS 2
#endif
#define MESSAGES (NODES * STEPS)
#define FROM(m) ((m) % NODES)
#define TO(m) ((FROM(m) + (m) / NODES + 1) % NODES)
#define AT(m) ((m) / NODES * 2)
#define CARRIES(m, other) (NODES > 3 && (m) >= NODES && (other) < NODES && TO(other) == FROM(m))
#define ACTIONS(p) (2 * STEPS)
#define SENDS(p, at) ((at) % 2 == 0)
#define SENDER(p, at) (SENDS(p, at) -> (p) : ((p) + NODES - (at) / 2 - 1) % NODES)
#define MESSAGE(p, at) ((at) / 2 * NODES + SENDER(p, at))
#endif

/* All packets there can be, by what they are about. An ASK and a DONE carry the same fields as the
 * ARRIVE that they are about. */
#define ABOUT(m, epoch) ((m) * FAREWELL + (epoch) - 1)
#define PACKETS (MESSAGES * FAREWELL)
#define ABOUT_MESSAGE(about) ((about) / FAREWELL)
#define ABOUT_EPOCH(about) ((about) % FAREWELL + 1)

typedef Nic {
    bool open;
    bool failed;
    bool farewell;
    byte started;
    byte done;
    byte at;   /* actions of epoch done + 1 that are over */
    byte late; /* the last epoch that a closed group says is done + 1; 0: the group is not closed */
    bool late_failed
}

Nic nic[NODES];
byte arrival[MESSAGES]; /* of each message, at its receiver */
bool finished[NODES];
#define ALL(what) (what(0) && what(1) && what(2 % NODES) && what(3 % NODES)) /* up to 4 nodes */
#define FINISHED(p) finished[p]

/* The buffers: whose place, of which epoch's parity. 0: nothing, or blocks of several epochs. */
#ifdef ONE_BUFFER
#define PARITY(epoch) 0
#else
#define PARITY(epoch) ((epoch) % 2)
#endif
byte own[NODES * 2];
byte others[MESSAGES * 2];
#define OWN(p, epoch) own[(p) * 2 + PARITY(epoch)]
#define OTHERS(m, epoch) others[(m) * 2 + PARITY(epoch)]

int arrives, bads, asks, dones; /* sets of packets on the wire; `bads` are ARRIVEs, too */
int fails;                      /* a FAIL is about no message: its receiver is all there is to it */

#define WAITS(p) (nic[p].open && nic[p].started > nic[p].done)

/* What the wire does to a packet by chance, and what is asked for before it must be: a run in which
 * there is no end of that is not fair, and need not end. */
#ifdef LIVENESS
bool by_chance;
#define CHANCE by_chance = true
#define PLAIN by_chance = false
#else
#define CHANCE skip
#define PLAIN skip
#endif

#define ON(set, about) (((set) >> (about)) & 1)
#define OFF(set, about) set = set & ~(1 << (about))

/* ---- the NIC; each of these is one step, as the MCP is never interrupted ---- */

byte i, next, m, epoch, from, to; /* of one step, 0 in between */
bool good;

/* Take packets off the wire that will change nothing whenever they come: what is here already or is
 * over, and what is for a group that was closed. */
inline tidy()
{
#ifndef LITTER
    i = 0;
    do
    :: i < PACKETS ->
        m = ABOUT_MESSAGE(i);
        to = TO(m);
        if
        :: ABOUT_EPOCH(i) <= arrival[m] || (finished[to] && !nic[to].open) ->
            OFF(arrives, i);
            OFF(bads, i)
        :: else
        fi;
        if
        :: ABOUT_EPOCH(i) <= nic[to].done || (finished[to] && !nic[to].open) ->
            OFF(asks, i);
            OFF(dones, i)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    m = 0;
    to = 0
#else
    skip
#endif
}

inline forget()
{
    m = 0;
    epoch = 0;
    from = 0;
    to = 0;
    tidy()
}

/* Node `p` has all blocks of this epoch. */
inline check_blocks(p, epoch_)
{
    if
    :: HAS_DATA(epoch_) ->
        assert(OWN(p, epoch_) == epoch_);
        i = 0;
        do
        :: i < MESSAGES ->
            assert(TO(i) != p || OTHERS(i, epoch_) == epoch_);
            i++
        :: else -> break
        od;
        i = 0
    :: else
    fi
}

/* Is all that message `m_` carries now of this epoch? */
inline look_at_payload(m_, epoch_)
{
    good = true;
    if
    :: HAS_DATA(epoch_) ->
        good = OWN(FROM(m_), epoch_) == epoch_;
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: CARRIES(m_, i) && OTHERS(i, epoch_) != epoch_ -> good = false
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    :: else
    fi
}

inline send(m_, epoch_)
{
    if
    :: good -> arrives = arrives | 1 << ABOUT(m_, epoch_)
    :: else -> bads = bads | 1 << ABOUT(m_, epoch_)
    fi;
    good = false
}

inline play(p)
{
    do
    :: WAITS(p) && nic[p].at == ACTIONS(p) ->
        nic[p].done++;
        nic[p].at = 0;
        check_blocks(p, nic[p].done)
    :: WAITS(p) && nic[p].at < ACTIONS(p) && SENDS(p, nic[p].at) ->
        next = MESSAGE(p, nic[p].at);
        look_at_payload(next, nic[p].done + 1);
        send(next, nic[p].done + 1);
        nic[p].at++
    :: WAITS(p) && nic[p].at < ACTIONS(p) && !SENDS(p, nic[p].at) &&
       arrival[MESSAGE(p, nic[p].at)] > nic[p].done ->
        nic[p].at++
    :: else -> break
    od;
    next = 0
}

inline receive_arrive(about, is_good)
{
    m = ABOUT_MESSAGE(about);
    epoch = ABOUT_EPOCH(about);
    to = TO(m);
    if
    :: nic[to].open && epoch <= nic[to].done + 1 + WAITS(to) &&
#ifdef STAND
       arrival[m] < epoch ->
#else
       arrival[m] + 1 == epoch ->
#endif
        if
        :: HAS_DATA(epoch) -> OTHERS(m, epoch) = (is_good -> epoch : 0)
        :: else
        fi;
        arrival[m] = epoch;
        play(to)
    :: else
    fi;
    forget()
}

/* The last epoch in which this message was sent. */
#define LAST(m) (nic[FROM(m)].done + (AT(m) < nic[FROM(m)].at))

inline receive_ask(about)
{
    m = ABOUT_MESSAGE(about);
    epoch = ABOUT_EPOCH(about);
    from = FROM(m);
    if
    :: nic[from].open && LAST(m) >= epoch ->
#if defined(ANSWER_LAST)
        epoch = LAST(m);
        look_at_payload(m, epoch);
        send(m, epoch)
#elif defined(RELABEL)
        next = LAST(m);
        look_at_payload(m, next);
        good = good && next == epoch;
        send(m, epoch);
        next = 0
#else
        if
        :: epoch >= nic[from].done ->
            look_at_payload(m, epoch);
            send(m, epoch)
        :: else
        fi
#endif
    :: nic[from].open && LAST(m) < epoch && nic[from].failed -> fails = fails | 1 << TO(m)
    :: !nic[from].open && nic[from].late > epoch -> dones = dones | 1 << about
    :: !nic[from].open && nic[from].late <= epoch && nic[from].late_failed ->
        fails = fails | 1 << TO(m)
    :: else
    fi;
    forget()
}

inline receive_done(about)
{
    epoch = ABOUT_EPOCH(about);
    to = TO(ABOUT_MESSAGE(about));
    if
    :: WAITS(to) && nic[to].done + 1 == epoch ->
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: TO(i) == to && arrival[i] < epoch -> arrival[i] = epoch
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        play(to)
    :: else
    fi;
    forget()
}

/* All peers are told: in these schedules that is everybody, or all but the other end of the line. */
inline receive_fail(p)
{
    if
    :: nic[p].open && !nic[p].failed && !nic[p].farewell ->
#ifndef HASTY
        assert(false);
#endif
        nic[p].failed = true;
        nic[p].started = nic[p].done;
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: FROM(i) == p -> fails = fails | 1 << TO(i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    :: else
    fi
}

#define ASK(p) asks = asks | 1 << ABOUT(MESSAGE(p, nic[p].at), nic[p].done + 1)

/* ---- hosts, and who closes groups ---- */

/* The data go with the group. */
inline close_group(p)
{
#ifndef NO_LATE
    if
#ifndef ANY_DONE
    :: HAS_DATA(nic[p].done) ->
        nic[p].late = nic[p].done;
#ifndef MUTE
        nic[p].late_failed = true
#endif
#endif
    :: else ->
        nic[p].late = nic[p].done + 1;
        nic[p].late_failed = nic[p].failed
    fi;
#endif
    nic[p].open = false;
    nic[p].started = 0;
    nic[p].done = 0;
    nic[p].at = 0;
    nic[p].failed = false;
    nic[p].farewell = false;
    i = 0;
    do
    :: i < MESSAGES ->
        if
        :: TO(i) == p ->
            arrival[i] = 0;
            others[i * 2] = 0;
            others[i * 2 + 1] = 0
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    own[p * 2] = 0;
    own[p * 2 + 1] = 0
}

#define MAY_START(p) (!nic[p].failed && nic[p].started < EPOCHS && nic[p].started - nic[p].done < AHEAD)

proctype host(byte p)
{
    nic[p].open = true;
    do
    :: d_step {
        MAY_START(p) ->
        check_blocks(p, nic[p].done);
        nic[p].started++;
        if
        :: HAS_DATA(nic[p].started) -> OWN(p, nic[p].started) = nic[p].started
        :: else
        fi;
        play(p);
        tidy();
        PLAIN
    }
    :: d_step {
        nic[p].done == EPOCHS && !nic[p].failed && !nic[p].farewell ->
        check_blocks(p, EPOCHS);
        nic[p].farewell = true;
        nic[p].started = FAREWELL;
        play(p);
#ifdef HASTY
        finished[p] = true;
#endif
        tidy();
        PLAIN
    }
    :: d_step {
#ifdef HASTY
        nic[p].farewell || nic[p].failed ->
#else
        (nic[p].farewell && nic[p].done == FAREWELL) || nic[p].failed ->
#endif
        close_group(p);
        finished[p] = true;
        tidy();
        PLAIN
    }
        break
    od
}

/* ---- the wire: one process for each packet that there can be ---- */

proctype wire(byte about)
{
end:
    do
    :: d_step {
        ON(arrives, about) ->
        OFF(arrives, about);
        receive_arrive(about, true);
        PLAIN
    }
    :: d_step {
        ON(bads, about) ->
        OFF(bads, about);
        receive_arrive(about, false);
        PLAIN
    }
    :: d_step {
        ON(asks, about) ->
        OFF(asks, about);
        receive_ask(about);
        PLAIN
    }
    :: d_step {
        ON(dones, about) ->
        OFF(dones, about);
        receive_done(about);
        PLAIN
    }
    /* It comes, and will come once more. */
    :: d_step {
        ON(arrives, about) ->
        receive_arrive(about, true);
        CHANCE
    }
    :: d_step {
        ON(bads, about) ->
        receive_arrive(about, false);
        CHANCE
    }
    :: d_step {
        ON(asks, about) ->
        receive_ask(about);
        CHANCE
    }
    :: d_step {
        ON(dones, about) ->
        receive_done(about);
        CHANCE
    }
    /* It is lost. */
    :: d_step { ON(arrives, about) -> OFF(arrives, about); CHANCE }
    :: d_step { ON(bads, about) -> OFF(bads, about); CHANCE }
    :: d_step { ON(asks, about) -> OFF(asks, about); CHANCE }
    :: d_step { ON(dones, about) -> OFF(dones, about); CHANCE }
    od
}

proctype failing(byte p)
{
end:
    do
    :: d_step {
        ON(fails, p) ->
        OFF(fails, p);
        receive_fail(p);
        PLAIN
    }
    :: d_step { ON(fails, p) -> OFF(fails, p); CHANCE }
    od
}

/* ---- patience ---- */

/* No host will do anything before another epoch is done. */
#define STUCK(p) (finished[p] || (WAITS(p) && !MAY_START(p)))

/* Who has no patience may ask at any time. */
proctype impatient(byte p)
{
end:
    do
    :: d_step { WAITS(p) -> ASK(p); CHANCE }
    od
}

/* All others ask when nothing else happens. */
proctype patient()
{
    byte p;
end:
    do
    :: d_step {
        arrives == 0 && bads == 0 && asks == 0 && dones == 0 && fails == 0 && ALL(STUCK) &&
        !ALL(FINISHED) ->
        do
        :: p < NODES ->
            if
            :: WAITS(p) -> ASK(p)
            :: else
            fi;
            p++
        :: else -> break
        od;
        p = 0;
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
            run failing(n);
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
