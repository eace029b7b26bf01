/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol of collectives between NICs (docs/protocol.md) must neither release a host early nor
 * hang: a model small enough to be searched exhaustively.
 *
 * Checked by run.sh. NODES nodes execute EPOCHS barriers by dissemination in each of INCARNATIONS
 * incarnations of one group (section 3.2 of Buntinas et al.: A and B, then A' and B'). Hosts open
 * and close the group and arrive at any time, and in all incarnations but the last they may die at
 * any time. The wire may delay, lose, duplicate and reorder packets.
 *
 * Safety: no host is released before all hosts of the same incarnation have entered (an assertion);
 * no deadlock (no invalid end state). Liveness (-DLIVENESS): all hosts end, unless packets are
 * lost, duplicated or requested without need infinitely often.
 *
 * With -DFAILS=N the first N hosts may declare the group failed whenever they wait
 * (mcp_collective_fail()): the host's group fails, its NIC sends FAIL, and the host ends, perhaps
 * without closing the group. All other hosts must then end as well, either after all epochs or with
 * a failure. No group may fail unless a host of its incarnation has declared it failed (an
 * assertion). LATER is not modelled, because it causes no transition: a host uses it only to decide
 * when to fail the group, which may be at any time here. A host that never arrives is not modelled
 * either, because each of the others detects it by a timeout of its own.
 *
 * Three definitions reduce the number of states: with -DLATE_ASKS hosts send requests only when
 * nothing else can happen, with -DONCE no packet is duplicated, and with -DSURE no packet except
 * FAIL is lost. Each of the following definitions removes a safeguard, which run.sh checks to be
 * detected:
 *   -DSAME_KEY      the next incarnation has the same key
 *   -DNO_LATE       closed groups are not remembered
 *   -DANY_LATE      closed groups answer a request for any epoch with DONE
 *   -DNO_ASK        hosts do not request missing messages
 *   -DNO_IMPLIED    an arrival of the next epoch does not count for the present one
 *   -DNO_FAIL       an open group that has failed does not answer requests with FAIL
 *   -DNO_LATE_FAIL  the NIC does not remember which closed groups have failed
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 1
#endif
#ifndef AHEAD
#define AHEAD 2 /* maximum number of barriers that a host has outstanding */
#endif
#define STEPS (NODES - 1) /* of dissemination among two or three nodes */

#ifdef SAME_KEY
#define KEY_OF(incarnation) 0
#define KEYS 1
#else
#define KEY_OF(incarnation) (incarnation)
#define KEYS INCARNATIONS
#endif

/* All possible packets, identified by a message and its epoch. An ASK and a DONE have the same
 * fields as the ARRIVE to which they refer. */
#define ABOUT(key, to, slot, epoch) \
    (((((key) * NODES + (to)) * STEPS + (slot)) * EPOCHS) + (epoch) - 1)
#define PACKETS (KEYS * NODES * STEPS * EPOCHS)
#define RECEIVER(about) (((about) / EPOCHS / STEPS) % NODES)
#define SLOT(about) (((about) / EPOCHS) % STEPS)
#define EPOCH(about) ((about) % EPOCHS + 1)
#define KEY(about) ((about) / EPOCHS / STEPS / NODES)
/* The message in slot s comes from the node whose number is lower by s + 1 (cyclically). */
#define SENDER(about) ((RECEIVER(about) + NODES - SLOT(about) - 1) % NODES)

typedef Nic {
    bool open;
    byte key;
    byte incarnation; /* only for the assertion */
    byte started;
    byte done;
    byte step;
    bool sent;
    byte arrival[STEPS];
    byte early[KEYS * STEPS];
    byte late[KEYS] /* last epoch + 1 of a closed group; 0: not known to be closed */
#ifdef FAILS
    bool failed;
    bool late_failed[KEYS]
#endif
}

Nic nic[NODES];
byte entered[INCARNATIONS * NODES]; /* the last epoch in which each host has arrived */
bool finished[NODES];
#if NODES > 2
#define ALL_FINISHED (finished[0] && finished[1] && finished[2])
#else
#define ALL_FINISHED (finished[0] && finished[1])
#endif
int arrives, asks, dones; /* sets of packets on the wire */

#ifdef FAILS
bool declared_failed[INCARNATIONS]; /* by a host of this incarnation */
int fails; /* a FAIL is not about a message, and is identified by its receiver and its key */
#define FAILURE(key, to) ((key) * NODES + (to))
#define FAILURES (KEYS * NODES)
#define TO(failure) ((failure) % NODES)
#define FAILURE_KEY(failure) ((failure) / NODES)
#define FAILED(p) nic[p].failed
#define NO_FAILS (fails == 0)
#else
#define FAILED(p) false
#define NO_FAILS true
#endif

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

/* ---- the NIC; each operation is one step, because the MCP is never interrupted ---- */

byte i, q;

inline play(p)
{
    do
    :: WAITS(p) && nic[p].step == STEPS ->
        nic[p].done++;
        nic[p].step = 0;
        q = 0;
        do
        :: q < NODES ->
            assert(entered[nic[p].incarnation * NODES + q] >= nic[p].done);
            q++
        :: else -> break
        od;
        q = 0
    :: WAITS(p) && nic[p].step < STEPS && !nic[p].sent ->
        nic[p].sent = true;
        arrives = arrives | 1 << ABOUT(nic[p].key, (p + nic[p].step + 1) % NODES, nic[p].step, nic[p].done + 1)
    :: WAITS(p) && nic[p].step < STEPS && nic[p].sent && nic[p].arrival[nic[p].step] > nic[p].done ->
        nic[p].step++;
        nic[p].sent = false
    :: else -> break
    od
}

inline record(p, slot, epoch)
{
    if
    :: epoch > nic[p].done + 1 + (nic[p].started > nic[p].done) -> skip
    :: else ->
        if
        :: epoch > nic[p].arrival[slot] -> nic[p].arrival[slot] = epoch
        :: else -> skip
        fi
    fi
}

inline receive_arrive(p, key_, slot, epoch)
{
    if
    :: nic[p].open && nic[p].key == key_ ->
        record(p, slot, epoch);
#ifdef NO_IMPLIED
        if
        :: epoch <= nic[p].started -> play(p)
        :: else -> skip
        fi
#else
        play(p)
#endif
    :: else ->
        if
        :: nic[p].late[key_] == 0 && epoch > nic[p].early[key_ * STEPS + slot] ->
            nic[p].early[key_ * STEPS + slot] = epoch
        :: else -> skip
        fi
    fi
}

/* The last epoch in which `p` has sent the message of this slot. */
#define LAST(p, slot) (nic[p].done + (slot < nic[p].step || (slot == nic[p].step && nic[p].sent)))

#ifdef FAILS
#define ANSWER_FAIL(about) fails = fails | 1 << FAILURE(KEY(about), RECEIVER(about))
#endif

inline receive_ask(p, about)
{
    if
    :: nic[p].open && nic[p].key == KEY(about) ->
        if
        :: LAST(p, SLOT(about)) >= EPOCH(about) ->
            arrives = arrives | 1 << ABOUT(KEY(about), RECEIVER(about), SLOT(about), LAST(p, SLOT(about)))
#if defined(FAILS) && !defined(NO_FAIL)
        :: LAST(p, SLOT(about)) < EPOCH(about) && nic[p].failed -> ANSWER_FAIL(about)
#endif
        :: else -> skip
        fi
    :: else ->
        if
#ifdef ANY_LATE
        :: nic[p].late[KEY(about)] != 0 ->
#else
        :: nic[p].late[KEY(about)] > EPOCH(about) ->
#endif
            dones = dones | 1 << about
#if defined(FAILS) && !defined(ANY_LATE)
        :: nic[p].late[KEY(about)] <= EPOCH(about) && nic[p].late_failed[KEY(about)] ->
            ANSWER_FAIL(about)
#endif
        :: else -> skip
        fi
    fi
}

#ifdef FAILS
/* Fail the group: it stops and notifies all its peers, which are all nodes in these schedules. It
 * still retransmits messages that it has sent before. */
inline fail(p)
{
    assert(declared_failed[nic[p].incarnation]);
    nic[p].failed = true;
    nic[p].started = nic[p].done;
    i = 0;
    do
    :: i < NODES ->
        if
        :: i != p -> fails = fails | 1 << FAILURE(nic[p].key, i)
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

inline receive_fail(p, key_)
{
    if
    :: nic[p].open && nic[p].key == key_ && !nic[p].failed -> fail(p)
    :: else -> skip
    fi
}
#endif

inline receive_done(p, key_, epoch)
{
    if
    :: nic[p].open && nic[p].key == key_ && WAITS(p) && nic[p].done + 1 == epoch ->
        i = 0;
        do
        :: i < STEPS ->
            record(p, i, epoch);
            i++
        :: else -> break
        od;
        i = 0;
        play(p)
    :: else -> skip
    fi
}

#define ASK(p) asks = asks | 1 << ABOUT(nic[p].key, p, nic[p].step, nic[p].done + 1)

/* ---- hosts ---- */

inline open_group(p, incarnation_)
{
#ifdef FAILS
    nic[p].failed = false;
#endif
    nic[p].key = KEY_OF(incarnation_);
    nic[p].incarnation = incarnation_;
    nic[p].started = 0;
    nic[p].done = 0;
    nic[p].step = 0;
    nic[p].sent = false;
    i = 0;
    do
    :: i < STEPS ->
        nic[p].arrival[i] = 0;
        record(p, i, nic[p].early[KEY_OF(incarnation_) * STEPS + i]);
        nic[p].early[KEY_OF(incarnation_) * STEPS + i] = 0;
        i++
    :: else -> break
    od;
    i = 0;
    nic[p].open = true
}

inline close_group(p)
{
#ifndef NO_LATE
    nic[p].late[nic[p].key] = nic[p].done + 1;
#if defined(FAILS) && !defined(NO_LATE_FAIL)
    nic[p].late_failed[nic[p].key] = nic[p].failed;
#endif
#endif
#ifdef FAILS
    nic[p].failed = false;
#endif
    nic[p].open = false;
    nic[p].started = 0;
    nic[p].done = 0;
    nic[p].step = 0;
    nic[p].sent = false;
    i = 0;
    do
    :: i < STEPS ->
        nic[p].arrival[i] = 0;
        i++
    :: else -> break
    od;
    i = 0
}

#define MAY_START(p) (!FAILED(p) && nic[p].started < EPOCHS && nic[p].started - nic[p].done < AHEAD)
#define MAY_DIE(incarnation_) ((incarnation_) < INCARNATIONS - 1)

proctype host(byte p)
{
    byte incarnation = 0;
    do
    :: incarnation < INCARNATIONS ->
        d_step { open_group(p, incarnation) }
        do
        :: d_step {
            MAY_START(p) ->
            nic[p].started++;
            entered[incarnation * NODES + p] = nic[p].started;
            play(p);
            PLAIN
        }
#ifdef FAILS
        :: d_step {
            WAITS(p) && p < FAILS ->
            declared_failed[incarnation] = true;
            fail(p);
            PLAIN
        }
#endif
        :: d_step {
            nic[p].done == EPOCHS || FAILED(p) || MAY_DIE(incarnation) ->
            close_group(p);
            incarnation++;
            PLAIN
        }
            break
#ifdef FAILS
        :: d_step {
            FAILED(p) && !MAY_DIE(incarnation) ->
            incarnation++;
            PLAIN
        }
            break
#endif
        od
    :: else -> break
    od;
    finished[p] = true
}

/* ---- the wire: one process for each possible packet ---- */

#define ON(set, about) (((set) >> (about)) & 1)
#define OFF(set, about) set = set & ~(1 << (about))

proctype wire(byte about)
{
end:
    do
    :: d_step {
        ON(arrives, about) ->
        OFF(arrives, about);
        receive_arrive(RECEIVER(about), KEY(about), SLOT(about), EPOCH(about));
        PLAIN
    }
    :: d_step {
        ON(asks, about) ->
        OFF(asks, about);
        receive_ask(SENDER(about), about);
        PLAIN
    }
    :: d_step {
        ON(dones, about) ->
        OFF(dones, about);
        receive_done(RECEIVER(about), KEY(about), EPOCH(about));
        PLAIN
    }
#ifndef ONCE
    /* The packet arrives, and will arrive again. */
    :: d_step {
        ON(arrives, about) ->
        receive_arrive(RECEIVER(about), KEY(about), SLOT(about), EPOCH(about));
        CHANCE
    }
    :: d_step {
        ON(asks, about) ->
        receive_ask(SENDER(about), about);
        CHANCE
    }
    :: d_step {
        ON(dones, about) ->
        receive_done(RECEIVER(about), KEY(about), EPOCH(about));
        CHANCE
    }
#endif
#ifndef SURE
    /* The packet is lost. */
    :: d_step { ON(arrives, about) -> OFF(arrives, about); CHANCE }
    :: d_step { ON(asks, about) -> OFF(asks, about); CHANCE }
    :: d_step { ON(dones, about) -> OFF(dones, about); CHANCE }
#endif
    od
}

#ifdef FAILS
proctype failing(byte failure)
{
end:
    do
    :: d_step {
        ON(fails, failure) ->
        OFF(fails, failure);
        receive_fail(TO(failure), FAILURE_KEY(failure));
        PLAIN
    }
#ifndef ONCE
    :: d_step {
        ON(fails, failure) ->
        receive_fail(TO(failure), FAILURE_KEY(failure));
        CHANCE
    }
#endif
    :: d_step { ON(fails, failure) -> OFF(fails, failure); CHANCE }
    od
}
#endif

/* ---- backoff ---- */

/* The host has finished, or cannot do anything before it is released. */
#define STUCK(p) (finished[p] || (WAITS(p) && !MAY_START(p) && !MAY_DIE(nic[p].incarnation)))

proctype backoff()
{
    byte p;
end:
    do
#ifndef NO_ASK
#ifndef LATE_ASKS
    /* A waiting host may send requests at any time, even without need. */
    :: d_step { WAITS(0) -> ASK(0); CHANCE }
    :: d_step { WAITS(1) -> ASK(1); CHANCE }
#if NODES > 2
    :: d_step { WAITS(2) -> ASK(2); CHANCE }
#endif
#endif
    /* All waiting hosts send requests when nothing else can happen. */
    :: d_step {
        arrives == 0 && asks == 0 && dones == 0 && NO_FAILS && STUCK(0) && STUCK(1) &&
#if NODES > 2
        STUCK(2) &&
#endif
        !ALL_FINISHED ->
        p = 0;
        do
        :: p < NODES ->
            if
            :: WAITS(p) -> ASK(p)
            :: else -> skip
            fi;
            p++
        :: else -> break
        od;
        p = 0;
        PLAIN
    }
#endif
    :: false
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
#ifdef FAILS
        do
        :: n < FAILURES ->
            run failing(n);
            n++
        :: else -> break
        od;
        n = 0;
#endif
        do
        :: n < NODES ->
            run host(n);
            n++
        :: else -> break
        od;
        run backoff()
    }
}

#ifdef LIVENESS
ltl ends { ([]<> by_chance) || (<> ALL_FINISHED) }
#endif
