/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inlet, libmyr/messages/inlet.c: two senders, SLOTS slots, one receiver. Each sender sends MESSAGES.
 *
 * Each message must come whole, once, and after those that its sender sent before; nobody may write
 * a slot that is not his (a data race, or a message that is another's). -DCLOSING: the receiver
 * closes after its first message, and the memory becomes somebody else's. Whose message finds the
 * inlet closed gives it to the NIC. Nobody may write there any more.
 *
 * Without more definitions: as it is. What else there is:
 *   -DTURN=RELAXED    how a sender says that its message is there
 *   -DTOLD=RELAXED    how the receiver says what it has taken
 *   -DHEARD=RELAXED   how a sender reads that
 *   -DTOLD_EARLY      the receiver says so before it has read the message
 *   -DNO_TICKETS      senders store the next ticket instead of exchanging it
 *   -DLAST_TICKET     (with CLOSING) the receiver takes the last ticket itself, so no sender gets one
 *                     any more, and waits for the messages of all tickets before it; numbers of
 *                     tickets in this memory never return. (A way to mend closing. Of a sender that
 *                     is killed with a ticket in its hand it knows nothing.)
 */
#ifndef TURN
#define TURN RELEASE
#endif
#ifndef TOLD
#define TOLD RELEASE
#endif
#ifndef HEARD
#define HEARD ACQUIRE
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define SLOTS 2
#define PROCESSORS 3
#define RECEIVER 2
#define WORDS 7
#define STORES 10
#include "memory.pml"

#define NEXT 0
#define KEY 1 /* 0: open */
#define TAKEN 2
#define TURN_OF(ticket) (3 + (ticket) % SLOTS)
#define MESSAGE_OF(ticket) (3 + SLOTS + (ticket) % SLOTS)
#define CLOSED 64 /* added to the next ticket: none is left */

bool reused; /* the memory is somebody else's */

proctype sender(byte p)
{
    byte sent, key, taken, ticket;
    bool won;
    do
    :: sent < MESSAGES ->
        load(p, KEY, RELAXED, key);
        if
        :: key != 0 -> break /* closed */
        :: else
        fi;
        load(p, NEXT, RELAXED, ticket);
        if
        :: ticket < CLOSED && ticket >= taken + SLOTS -> load(p, TAKEN, HEARD, taken)
        :: else
        fi;
        if
        :: ticket >= CLOSED -> break
        :: ticket < CLOSED && ticket >= taken + SLOTS ->
            /* No room; the NIC would take it. Here, later once more. */
            LAST(TAKEN) > taken || LAST(NEXT) != ticket || LAST(KEY) != key
        :: else ->
#ifdef NO_TICKETS
            won = true;
            store(p, NEXT, RELAXED, ticket + 1);
#else
            compare(p, NEXT, RELAXED, ticket, ticket + 1, won);
#endif
            if
            :: won ->
                sent++;
                assert(!reused);
                fill(p, MESSAGE_OF(ticket), 10 * p + sent);
                assert(!reused);
                store(p, TURN_OF(ticket), TURN, ticket + 1)
            :: else
            fi
        fi
    :: else -> break
    od;
    skip
}

inline take()
{
    do
    :: load(RECEIVER, TURN_OF(count), ACQUIRE, turn);
        if
        :: turn == count + 1 -> break
        :: else -> LAST(TURN_OF(count)) == count + 1
        fi
    od;
#ifdef TOLD_EARLY
    store(RECEIVER, TAKEN, TOLD, count + 1);
#endif
    use(RECEIVER, MESSAGE_OF(count), message);
    last[message / 10]++;
    assert(message % 10 == last[message / 10]);
#ifndef TOLD_EARLY
    store(RECEIVER, TAKEN, TOLD, count + 1);
#endif
    count++
}

proctype receiver()
{
    byte count, turn, message, next;
    byte last[2];
#ifdef CLOSING
    take();
    store(RECEIVER, KEY, RELEASE, 1);
#ifdef LAST_TICKET
    add(RECEIVER, NEXT, BOTH, CLOSED, next);
    do
    :: count < next -> take()
    :: else -> break
    od;
#endif
    DRAINED(RECEIVER);
    reused = true
#else
    do
    :: count < 2 * MESSAGES -> take()
    :: else -> break
    od
#endif
}

init {
    atomic { power_on(); run sender(0); run sender(1); run receiver() }
}
