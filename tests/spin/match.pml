/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged messages between nodes must be matched as MPI requires, and none may be stuck: a model of
 * matching (firmware/match.c) and of channels with their credits (libmyr/messages/tagged.c,
 * tagged_send.c, tagged_receive.c) that is small enough to be searched exhaustively.
 *
 * Checked by run.sh. SENDERS endpoints send MESSAGES messages each to one receiver, with tags and
 * kinds (EAGER, or OFFER, PULL and DATA) in all combinations. The receiver posts receives with all
 * patterns: source and tag are each given or a wildcard. Up to AHEAD of them are outstanding at a
 * time. Endpoints communicate through ports, which lose nothing and keep the order
 * (docs/protocol.md). Messages within a node, of which short ones need no credit, correspond to the
 * case that there are as many credits as slots.
 *
 * A sender with SLOTS unexpected messages at the receiver is blocked by design. Therefore the
 * receiver posts a receive only if that receive must get a message: there must be a matching
 * message for each outstanding receive and for this one, and each of these messages must be
 * preceded by fewer than SLOTS messages of its sender that are not received yet.
 *
 * Safety (assertions): no message is matched twice, and no receive matches two messages. A receive
 * gets the first matching message of a source that is not matched yet, and a message goes to the
 * first posted receive that it matches. At most SLOTS messages of a sender are unexpected at the
 * receiver, at most CREDITS of them with their data. No more credits are returned than exist.
 *
 * Termination (no invalid end state, and assertions in the end state): no message remains at its
 * sender, at the receiver or on the way, and all slots and credits have been returned or are owed.
 * The state space has no cycles, so no check of liveness is needed.
 *
 * Each of the following definitions changes a safeguard, which run.sh checks to be detected:
 *   -DHALF          slots are returned when half of all are owed, however many messages are
 *                   unexpected
 *   -DLATE          slots are returned when half of the free ones are owed, but not when another
 *                   message becomes unexpected
 *   -DNO_RETURN     slots are returned with PULLs only
 *   -DNO_SLOTS      a message is sent whether or not there is a slot
 *   -DEARLY         a slot becomes free when its message arrives instead of when it is received
 *   -DOVERTAKE      a message is sent as soon as there is a slot, before earlier ones that wait
 *   -DSTAYS         a receive from any source is not removed from the table when it is matched
 *   -DEXACT         a receive with a narrower pattern precedes one that was posted before
 *   -DANY_KIND      a message is EAGER whether or not there is a credit
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef CREDITS
#define CREDITS 1
#endif
#ifndef AHEAD
#define AHEAD 2
#endif
#define ALL (SENDERS * MESSAGES) /* up to 6 */
#define OPEN 7

mtype = { EAGER, OFFER, PULL, DATA, CREDIT };

#define NUMBER(s, m) ((s) * MESSAGES + (m))
#define SOURCE(n) ((n) / MESSAGES)

/* Messages, indexed by their numbers. */
byte tag[ALL];
mtype kind[ALL];   /* EAGER or OFFER */
bool taken[ALL];   /* the message is matched */
bool arrived[ALL]; /* the message is matched, and its data have arrived */
byte before[ALL];  /* number of earlier messages of the sender that are not matched */

/* A sender: its struct myr_tagged_peer for the receiver. */
byte called[SENDERS]; /* number of messages for which the host has called send */
byte left[SENDERS];   /* number of these that have left for the wire */
byte slots[SENDERS], credits[SENDERS];

/* The receiver: its struct myr_tagged_peer for each sender. */
byte owed_slots[SENDERS], owed_credits[SENDERS], waiting[SENDERS], stored[SENDERS];

/* Its table: unexpected messages in order, and posted receives in order. */
byte unexpected[ALL], nunexpected;
byte source_of[AHEAD], tag_of[AHEAD], nposted;
bool used[AHEAD]; /* the receive is matched */
byte posted; /* number of receives posted so far: 0 to ALL */

/* The ports. Messages to the sender carry credits and slots. */
chan there[SENDERS] = [2 * MESSAGES] of { mtype, byte };
chan back[SENDERS] = [2 * MESSAGES + 1] of { mtype, byte, byte, byte };

#define FITS(source_, tag_, n) \
    (((source_) == OPEN || (source_) == SOURCE(n)) && ((tag_) == OPEN || (tag_) == tag[n]))

#ifdef NO_SLOTS
#define ROOM(s) true
#else
#define ROOM(s) (slots[s] > 0)
#endif

/* ---- the receiver; each operation is one step, because one thread runs an endpoint ---- */

byte i, j, n, s; /* temporary variables of a step; 0 between two steps */
byte found;      /* index + 1; 0: none */

inline send_back(kind_, number)
{
    back[s]!kind_(number, owed_credits[s], owed_slots[s]);
    owed_credits[s] = 0;
    owed_slots[s] = 0
}

/* Return slots or credits now if enough are owed. */
inline return_credits()
{
    if
#if defined(NO_RETURN)
    :: false
#elif defined(HALF)
    :: owed_slots[s] > SLOTS / 2 -> send_back(CREDIT, 0)
#else
    :: owed_slots[s] > (SLOTS - waiting[s]) / 2 -> send_back(CREDIT, 0)
#endif
    :: else ->
        if
        :: owed_credits[s] > CREDITS / 2 -> send_back(CREDIT, 0)
        :: else
        fi
    fi
}

/* A receive with this pattern gets message `n`. All earlier ones of its sender that match must be
 * matched. */
inline deliver(source_, tag_)
{
    s = SOURCE(n);
    assert(!taken[n] && FITS(source_, tag_, n));
    taken[n] = true;
    i = NUMBER(s, 0);
    do
    :: i < NUMBER(s, MESSAGES) ->
        assert(i >= n || taken[i] || !FITS(source_, tag_, i));
        if
        :: i > n -> before[i]--
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
#ifndef EARLY
    owed_slots[s]++;
#endif
    if
    :: kind[n] == EAGER ->
        owed_credits[s]++;
        arrived[n] = true;
        return_credits()
    :: else ->
        return_credits();
        send_back(PULL, n)
    fi
}

/* Remove the receive at index `j`. */
inline remove_receive()
{
    nposted--;
    do
    :: j < nposted ->
        source_of[j] = source_of[j + 1];
        tag_of[j] = tag_of[j + 1];
        used[j] = used[j + 1];
        j++
    :: else -> break
    od;
    source_of[nposted] = 0;
    tag_of[nposted] = 0;
    used[nposted] = false
}

inline remove_message()
{
    nunexpected--;
    do
    :: j < nunexpected ->
        unexpected[j] = unexpected[j + 1];
        j++
    :: else -> break
    od;
    unexpected[nunexpected] = 0
}

/* The class of a receive: which of its source and tag are wildcards. */
#define CLASS(j) ((source_of[j] == OPEN) + 2 * (tag_of[j] == OPEN))

/* Message `n` has arrived. */
inline arrive()
{
    j = 0;
    found = 0;
    do
    :: j < nposted ->
        if
#ifdef EXACT
        :: FITS(source_of[j], tag_of[j], n) && (found == 0 || CLASS(j) < CLASS(found - 1)) -> found = j + 1
#else
        :: found == 0 && FITS(source_of[j], tag_of[j], n) -> found = j + 1
#endif
        :: else
        fi;
        j++
    :: else -> break
    od;
    s = SOURCE(n);
#ifdef EARLY
    owed_slots[s]++;
#endif
    if
    :: found > 0 ->
        j = 0;
        do
        :: j < found - 1 -> /* receives that were posted before */
            assert(!FITS(source_of[j], tag_of[j], n));
            j++
        :: else -> break
        od;
        assert(!used[j]);
        used[j] = true;
        deliver(source_of[j], tag_of[j]);
#ifdef STAYS
        if
        :: source_of[j] != OPEN -> remove_receive()
        :: else
        fi
#else
        remove_receive()
#endif
    :: else ->
        unexpected[nunexpected] = n;
        nunexpected++;
        waiting[s]++;
        stored[s] = stored[s] + (kind[n] == EAGER);
        assert(waiting[s] <= SLOTS && stored[s] <= CREDITS);
#if !defined(HALF) && !defined(LATE)
        return_credits()
#endif
    fi;
    j = 0;
    found = 0
}

inline post(source_, tag_)
{
    posted++;
    do
    :: j < nunexpected && !FITS(source_, tag_, unexpected[j]) -> j++
    :: else -> break
    od;
    if
    :: j < nunexpected ->
        n = unexpected[j];
        s = SOURCE(n);
        remove_message();
        waiting[s]--;
        stored[s] = stored[s] - (kind[n] == EAGER);
        deliver(source_, tag_)
    :: else ->
        source_of[nposted] = source_;
        tag_of[nposted] = tag_;
        nposted++
    fi;
    j = 0
}

#define CAN(source_, tag_, n_) \
    ((n_) < ALL && !taken[(n_) % ALL] && before[(n_) % ALL] < SLOTS && FITS(source_, tag_, (n_) % ALL))
/* Returns whether a receive with this pattern must get a message, whichever messages the receives
 * posted before it get. */
#define MUST(source_, tag_) \
    (nposted < AHEAD && \
     CAN(source_, tag_, 0) + CAN(source_, tag_, 1) + CAN(source_, tag_, 2) + CAN(source_, tag_, 3) + \
     CAN(source_, tag_, 4) + CAN(source_, tag_, 5) > nposted)

#define END_STEP n = 0; s = 0

#define take_message(from)                                                                                  \
    d_step {                                                                                               \
        nempty(there[from]) && !there[from]?[DATA, _] -> there[from]?_, n;                                   \
        arrive();                                                                                          \
        END_STEP                                                                                           \
    }
#define take_data(from)                                                                                     \
    d_step {                                                                                               \
        there[from]?DATA, n -> assert(taken[n] && !arrived[n]);                                              \
        arrived[n] = true;                                                                                 \
        END_STEP                                                                                           \
    }

proctype receiver()
{
    do
    :: d_step { MUST(0, 0) -> post(0, 0); END_STEP }
    :: d_step { MUST(0, 1) -> post(0, 1); END_STEP }
    :: d_step { MUST(0, OPEN) -> post(0, OPEN); END_STEP }
#if SENDERS > 1
    :: d_step { MUST(1, 0) -> post(1, 0); END_STEP }
    :: d_step { MUST(1, 1) -> post(1, 1); END_STEP }
    :: d_step { MUST(1, OPEN) -> post(1, OPEN); END_STEP }
#endif
#if SENDERS > 2
    :: d_step { MUST(2, 0) -> post(2, 0); END_STEP }
    :: d_step { MUST(2, 1) -> post(2, 1); END_STEP }
    :: d_step { MUST(2, OPEN) -> post(2, OPEN); END_STEP }
#endif
    :: d_step { MUST(OPEN, 0) -> post(OPEN, 0); END_STEP }
    :: d_step { MUST(OPEN, 1) -> post(OPEN, 1); END_STEP }
    :: d_step { MUST(OPEN, OPEN) -> post(OPEN, OPEN); END_STEP }
    :: take_message(0)
    :: take_data(0)
#if SENDERS > 1
    :: take_message(1)
    :: take_data(1)
#endif
#if SENDERS > 2
    :: take_message(2)
    :: take_data(2)
#endif
    :: d_step {
        posted == ALL && arrived[0] && arrived[1 % ALL] && arrived[2 % ALL] && arrived[3 % ALL] && arrived[4 % ALL] &&
        arrived[5 % ALL] && empty(back[0]) && empty(back[1 % SENDERS]) && empty(back[SENDERS - 1]) ->
        assert(nunexpected == 0);
        do
        :: s < SENDERS ->
            assert(slots[s] + owed_slots[s] == SLOTS && credits[s] + owed_credits[s] == CREDITS);
            assert(waiting[s] == 0 && stored[s] == 0 && empty(there[s]));
            s++
        :: else -> break
        od;
        s = 0
    }
        break
    od
}

/* ---- senders ---- */

inline take_credits(me)
{
    assert(more_credits <= CREDITS - credits[me] && more_slots <= SLOTS - slots[me]);
    credits[me] = credits[me] + more_credits;
    slots[me] = slots[me] + more_slots;
    more_credits = 0;
    more_slots = 0
}

proctype sender(byte me)
{
    byte number, more_credits, more_slots;
end:
    do
    /* The host sends a message, either a short one, or one that is long or synchronous. */
    :: d_step {
        called[me] < MESSAGES && credits[me] > 0 ->
        kind[NUMBER(me, called[me])] = EAGER;
        credits[me]--;
        called[me]++
    }
    :: d_step {
        called[me] < MESSAGES ->
#ifdef ANY_KIND
        kind[NUMBER(me, called[me])] = EAGER;
#else
        kind[NUMBER(me, called[me])] = OFFER;
#endif
        called[me]++
    }
    :: d_step {
        left[me] < called[me] && ROOM(me) ->
        number = NUMBER(me, left[me]);
        there[me]!kind[number](number);
        left[me]++;
        slots[me]--;
        number = 0
    }
#ifdef OVERTAKE
    :: d_step {
        left[me] + 1 < called[me] && slots[me] > 1 ->
        number = NUMBER(me, left[me]);
        there[me]!kind[number + 1](number + 1);
        there[me]!kind[number](number);
        left[me] = left[me] + 2;
        slots[me] = slots[me] - 2;
        number = 0
    }
#endif
    :: d_step {
        back[me]?PULL(number, more_credits, more_slots) ->
        take_credits(me);
        there[me]!DATA(number);
        number = 0
    }
    :: d_step {
        back[me]?CREDIT(number, more_credits, more_slots) ->
        take_credits(me)
    }
    od
}

init {
    byte m;
    atomic {
        do
        :: m < ALL ->
            before[m] = m % MESSAGES;
            if
            :: tag[m] = 0
            :: tag[m] = 1
            fi;
            m++
        :: else -> break
        od;
        m = 0;
        do
        :: m < SENDERS ->
            slots[m] = SLOTS;
            credits[m] = CREDITS;
            run sender(m);
            m++
        :: else -> break
        od;
        m = 0;
        run receiver()
    }
}
