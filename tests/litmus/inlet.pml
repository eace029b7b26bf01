/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message through an inlet must arrive whole, once and in order: the model of
 * libmyr/messages/inlet.c, with two senders, SLOTS slots and one receiver. Each sender sends
 * MESSAGES messages.
 *
 * To send, a process takes a ticket, which determines its slot. If it wrote another slot, this
 * would be a data race, or would overwrite a message of the other sender. With -DCLOSING the
 * receiver closes the inlet after its first message, and the inlet's memory is reused. Afterwards
 * no sender may write to it; one that finds the inlet closed passes its message to the NIC.
 *
 * Without further definitions the model corresponds to the code. Variants:
 *   -DSEQUENCE=RELAXED order of the store that marks a slot as filled
 *   -DPUBLISH=RELAXED order of the store that publishes `taken`
 *   -DREREAD=RELAXED order of the load by which a sender reads `taken`
 *   -DPUBLISH_EARLY the receiver publishes `taken` before it has read the message
 *   -DNO_TICKETS    senders store the next ticket instead of exchanging it
 *   -DLAST_TICKET   (with CLOSING) the receiver takes the last ticket itself, so that no sender
 *                   gets another one, and waits for the messages of all earlier tickets; ticket
 *                   numbers never recur in this memory. (This would make closing safe, but the
 *                   receiver would wait for ever if a sender were killed after it took a ticket.)
 */
#ifndef SEQUENCE
#define SEQUENCE RELEASE
#endif
#ifndef PUBLISH
#define PUBLISH RELEASE
#endif
#ifndef REREAD
#define REREAD ACQUIRE
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
#define SEQUENCE_OF(ticket) (3 + (ticket) % SLOTS)
#define MESSAGE_OF(ticket) (3 + SLOTS + (ticket) % SLOTS)
#define CLOSED 64 /* added to the next ticket, so that no sender can take one */

bool reused; /* the inlet's memory is in use for something else */

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
        :: ticket < CLOSED && ticket >= taken + SLOTS -> load(p, TAKEN, REREAD, taken)
        :: else
        fi;
        if
        :: ticket >= CLOSED -> break
        :: ticket < CLOSED && ticket >= taken + SLOTS ->
            /* All slots are full. In the code the message is passed to the NIC; in the model the
             * sender tries again when something has changed. */
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
                store(p, SEQUENCE_OF(ticket), SEQUENCE, ticket + 1)
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
    :: load(RECEIVER, SEQUENCE_OF(count), ACQUIRE, sequence);
        if
        :: sequence == count + 1 -> break
        :: else -> LAST(SEQUENCE_OF(count)) == count + 1
        fi
    od;
#ifdef PUBLISH_EARLY
    store(RECEIVER, TAKEN, PUBLISH, count + 1);
#endif
    use(RECEIVER, MESSAGE_OF(count), message);
    last[message / 10]++;
    assert(message % 10 == last[message / 10]);
#ifndef PUBLISH_EARLY
    store(RECEIVER, TAKEN, PUBLISH, count + 1);
#endif
    count++
}

proctype receiver()
{
    byte count, sequence, message, next;
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
