/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends messages between all pairs of processes of a communicator, with generated data, and checks
 * all that arrive. player.c uses it.
 *
 * The number of messages from one process to another, their sizes, tags and modes depend only on
 * the step and on both processes, so that the receiver knows what must arrive. Every process has
 * its own calls and orders of calls. These are the words of a step:
 *
 *   times=400 n=1000 type=MPI_INT   up to so many messages of a pair, with up to so many numbers
 *   how=b            complete; how=i: sent, and received at the latest by the step `wait`
 *   modes=iIsSbBpP   MPI_Isend, Issend, Send, Ssend, Bsend, Ibsend, Send_init, Ssend_init
 *   calls=iprPIMN    MPI_Irecv, Recv_init, Recv; or Probe, Iprobe, Mprobe, Improbe before it
 *   wild=stb         MPI_ANY_SOURCE, MPI_ANY_TAG, and both at once
 *   send=x recv=P    layouts (layout.h) of some of the messages
 *   short=1          some receives have too little room, and complete with MPI_ERR_TRUNCATE
 *   away=3           every third process (-3: all others) makes no MPI call until the rest have
 *                    exchanged their messages
 *
 * No program deadlocks, even if no message is buffered:
 *
 * - An `early` process posts all receives before it sends; others receive after they have started
 *   all sends. Only an early process is sent messages by calls that may wait for the receiver.
 *   Thus all sends are started, and then every receive completes.
 * - Receives with wildcards do not take messages that other receives need. A process has either
 *   receives from any source or receives with any tag. After the first receive from any source with
 *   a tag, all further receives with this tag are from any source. Receives with both wildcards are
 *   posted last.
 *
 * A receive may be cancelled immediately after it has been posted. If it has not received a message
 * by then, it is posted again before any other receive.
 *
 * Therefore the order of the receives determines the message of each receive, except for its
 * source: it is the first matching message of that source that no earlier receive has received.
 *
 * Threads: a structure belongs to one thread.
 */
#ifndef NICBARR_TESTS_MESSAGES_H
#define NICBARR_TESTS_MESSAGES_H

#include "places.h"

struct messages;

/* Starts all sends; early processes also post all receives. */
struct messages *messages_start(const struct step *step, int thread);
/* Receives all messages, completes all requests, checks the data and frees the structure. All
 * processes must finish the steps of a communicator in one order. */
void messages_finish(struct messages *messages);

#endif
