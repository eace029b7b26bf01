/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step `window`: one-sided communication between all pairs of processes of a communicator, with
 * results that every process can compute. player.c uses it.
 *
 *   made=c           MPI_Win_create; made=a: MPI_Win_allocate; made=d: MPI_Win_create_dynamic
 *   times=3 sync=FGSEA   epochs, each by the next letter: fence, post and start, a shared lock, an
 *                    exclusive lock, or MPI_Win_lock_all with flushes
 *   parts=4 n=100 type=MPI_INT   parts of each window, and up to so many numbers in a part
 *   send=x recv=V    layouts of puts and gets at the origin and at the target (layout.h)
 *   copies=1         only puts and gets
 *
 * In an epoch each part is the target of one kind of operation: a put, a replacement or a
 * get-accumulate by one process; or gets, accumulations, fetch-and-ops or compare-and-swaps by
 * several processes, with a result that does not depend on their order. A compare-and-swap either
 * has one origin, or is repeated until a process has added its own number. After the epoch each
 * process compares its window with the result, byte by byte.
 */
#ifndef NICBARR_TESTS_WINDOW_H
#define NICBARR_TESTS_WINDOW_H

#include "places.h"

struct window;

/* Creates the window. Collective, as the other functions are. */
struct window *window_open(const struct step *step);
/* Executes an epoch, and checks its results. */
void window_epoch(struct window *window, int epoch);
void window_close(struct window *window);

#endif
