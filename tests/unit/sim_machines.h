/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the machines on which the tests run nicsim's simulations. */
#ifndef TESTS_UNIT_SIM_MACHINES_H
#define TESTS_UNIT_SIM_MACHINES_H

#include "bench/nicsim/play.h"

/*
 * A machine on which every operation takes a prime number of nanoseconds. Its NIC's cycle takes
 * one nanosecond, and buses and links move a byte per nanosecond. Thus a collective packet
 * occupies a link for 24 + 8 = 32, and a message without payload for 48 + 8 = 56. A DMA of a
 * release (4 bytes) takes 23 + 4 = 27, and of an event (32 bytes) 55. The head of a packet travels
 * for 31 + 29 + 31 = 91. All timelines are shorter than a delayed acknowledgement (200 us) and any
 * timeout (1 ms).
 */
extern const struct nicsim_machine sim_primes;

/* Returns a time in picoseconds, to compare times exactly. */
uint64_t sim_ps(double us);

double sim_between(uint64_t *random, double least, double most);

/* Returns a random machine without packet loss. */
struct nicsim_machine sim_random_machine(uint64_t *random);

#endif
