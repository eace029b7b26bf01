/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step `exchange`: MPI_Sendrecv and MPI_Sendrecv_replace along random cycles and chains of the
 * processes of a communicator. player.c uses it.
 *
 *   times=8 n=1000 type=MPI_INT   rounds, and up to so many numbers
 *   how=b            MPI_Sendrecv; how=r: MPI_Sendrecv_replace
 *   send=x recv=P    layouts (layout.h)
 *
 * In each round some of the processes form a cycle or a chain, and the others call with
 * MPI_PROC_NULL. A process never waits for one that is in a later round, so there is no deadlock.
 *
 * Threads: those that run at the same time use different communicators.
 */
#ifndef NICBARR_TESTS_EXCHANGE_H
#define NICBARR_TESTS_EXCHANGE_H

#include "places.h"

/* Executes a round, and checks the received data. Every process executes all rounds in order. */
void exchange_play(const struct step *step, int round);

#endif
