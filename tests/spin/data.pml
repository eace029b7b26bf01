/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups that carry data (docs/protocol.md) must neither deliver a wrong block nor hang: a model of
 * mcp_group_offer(), mcp_group_claim(), mcp_group_record(), mcp_group_answer() and
 * mcp_group_release() in firmware/engine.c, and of mcp_collective_begin_closing(),
 * remember_ending() and receive_foreign() in collective.c, that is small enough to be searched
 * exhaustively.
 *
 * Checked by run.sh. NODES nodes exchange blocks in EPOCHS epochs, then execute the closing epoch
 * and close the group. Hosts arrive, open the group and leave it at any time. Messages follow the
 * dissemination schedule; with -DCHAIN they pass back and forth along a line of three nodes, where
 * a node forwards what it has just received. The wire may delay, lose, duplicate and reorder
 * packets.
 *
 * The model represents a block in a buffer by its epoch. A packet is good if all its blocks belong
 * to the packet's epoch, and bad otherwise. A bad packet may arrive, but must not be accepted.
 *
 * Safety: when an epoch is complete, its buffer contains the blocks of all nodes for that epoch,
 * until the host starts the next epoch or leaves (an assertion); no node receives a FAIL (an
 * assertion); no deadlock (no invalid end state). Liveness (-DLIVENESS): all hosts end, and all
 * NICs close the group, unless packets are lost, duplicated or requested without need infinitely
 * often.
 *
 * With -DBARE=N epoch N carries no data. With -DHASTY NICs may close the group in the middle of the
 * closing epoch (the soft NIC does so when it has too many closing groups, and the daemon of the
 * kernel NIC after a minute). Then groups may fail, and all hosts must end after they have read the
 * right blocks or failed.
 *
 * An ARRIVE without payload that arrives before its group is open counts as lost, and LATER is not
 * modelled (see collective.pml). Each of the following definitions removes a safeguard, which
 * run.sh checks to be detected:
 *   -DONE_BUFFER    even and odd epochs share a buffer
 *   -DAHEAD=2       a host may start an epoch before the previous one is complete
 *   -DIMPLIED       an arrival of an epoch counts for the previous epoch
 *   -DANSWER_LAST   an ASK is answered with the last message, as in groups without data
 *   -DRELABEL       the same, but the answer has the number of the requested epoch
 *   -DNO_ASK        hosts do not request missing messages
 *   -DNO_CLOSING   the group is closed when its hosts leave it
 *   -DANY_DONE      a closed group answers requests for its last epoch with DONE, even if this
 *                   epoch had data
 *   -DNO_LATE       closed groups are not remembered
 *   -DMUTE          a group that was closed in the middle of its closing epoch does not answer with
 *                   FAIL
 *
 * Packets that can no longer change anything are removed from the wire to reduce the number of
 * states. With -DLITTER they remain there, so that the search would detect it if they did change
 * something.
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
#if defined(NO_CLOSING) || BARE == EPOCHS
#define CLOSING EPOCHS
#else
#define CLOSING (EPOCHS + 1)
#endif

/* The schedule: messages, and each node's actions in an epoch, in order: it sends a message (at its
 * action AT), or waits for one. A message carries its sender's own block and those of the messages
 * named by CARRIES. */
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

/* All possible packets, identified by a message and its epoch. An ASK and a DONE have the same
 * fields as the ARRIVE to which they refer. */
#define ABOUT(m, epoch) ((m) * CLOSING + (epoch) - 1)
#define PACKETS (MESSAGES * CLOSING)
#define ABOUT_MESSAGE(about) ((about) / CLOSING)
#define ABOUT_EPOCH(about) ((about) % CLOSING + 1)

typedef Nic {
    bool open;
    bool failed;
    bool closing;
    byte started;
    byte done;
    byte at;   /* completed actions of epoch done + 1 */
    byte late; /* 1 + the last epoch for which a closed group answers DONE; 0: it is not closed */
    bool late_failed
}

Nic nic[NODES];
byte arrival[MESSAGES]; /* the last epoch of each message that has arrived at its receiver */
bool finished[NODES];
#define ALL(what) (what(0) && what(1) && what(2 % NODES) && what(3 % NODES)) /* up to 4 nodes */
#define FINISHED(p) finished[p]

/* The buffers: the place of each block, by the parity of the epoch. 0: nothing, or blocks of
 * several epochs. */
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
int fails;                      /* a FAIL is not about a message, and is identified by its receiver */

#define WAITS(p) (nic[p].open && nic[p].started > nic[p].done)

/* Marks transitions that happen by chance: faults of the wire, and requests without need. An
 * execution in which they occur infinitely often is not fair, and need not end. */
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

/* ---- the NIC; each operation is one step, because the MCP is never interrupted ---- */

byte i, next, m, epoch, from, to; /* temporary variables of a step; 0 between two steps */
bool good;

/* Remove packets from the wire that can no longer change anything: those of messages that have
 * arrived or epochs that are complete, and those for a closed group. */
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

/* Returns whether node `p` has all blocks of this epoch. */
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

/* Returns whether all blocks that message `m_` would carry now belong to this epoch. */
inline check_payload(m_, epoch_)
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
        check_payload(next, nic[p].done + 1);
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
#ifdef IMPLIED
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
        check_payload(m, epoch);
        send(m, epoch)
#elif defined(RELABEL)
        next = LAST(m);
        check_payload(m, next);
        good = good && next == epoch;
        send(m, epoch);
        next = 0
#else
        if
        :: epoch >= nic[from].done ->
            check_payload(m, epoch);
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

/* Handle a FAIL: the group fails and notifies all peers, which are all nodes, or in a line all but
 * the other end. */
inline receive_fail(p)
{
    if
    :: nic[p].open && !nic[p].failed && !nic[p].closing ->
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

/* ---- hosts, and closing ---- */

/* Close the group. Its buffers are freed, so requests for its last epoch are not answered with DONE
 * if that epoch had data. */
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
    nic[p].closing = false;
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
        nic[p].done == EPOCHS && !nic[p].failed && !nic[p].closing ->
        check_blocks(p, EPOCHS);
        nic[p].closing = true;
        nic[p].started = CLOSING;
        play(p);
#ifdef HASTY
        finished[p] = true;
#endif
        tidy();
        PLAIN
    }
    :: d_step {
#ifdef HASTY
        nic[p].closing || nic[p].failed ->
#else
        (nic[p].closing && nic[p].done == CLOSING) || nic[p].failed ->
#endif
        close_group(p);
        finished[p] = true;
        tidy();
        PLAIN
    }
        break
    od
}

/* ---- the wire: one process for each possible packet ---- */

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
    /* The packet arrives, and will arrive again. */
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
    /* The packet is lost. */
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

/* ---- backoff ---- */

/* The host cannot do anything before another epoch is complete. */
#define STUCK(p) (finished[p] || (WAITS(p) && !MAY_START(p)))

/* A waiting host may send requests at any time, even without need. */
proctype asks_early(byte p)
{
end:
    do
    :: d_step { WAITS(p) -> ASK(p); CHANCE }
    od
}

/* All waiting hosts send requests when nothing else can happen. */
proctype backoff()
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
