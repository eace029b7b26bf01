/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines for the tests of what nicsim plays. */
#ifndef TESTS_UNIT_SIM_MACHINES_H
#define TESTS_UNIT_SIM_MACHINES_H

#include "bench/nicsim/play.h"

/*
 * A machine on which everything takes a prime number of nanoseconds: its NIC's cycle is one, buses
 * and links move a byte in one. So a collective packet occupies a link for 24 + 8 = 32, a message
 * without payload for 48 + 8 = 56; a DMA of a release (4 bytes) takes 23 + 4 = 27, of an event (32
 * bytes) 55; the head of a packet is on its way for 31 + 29 + 31 = 91. No timeline is so long that
 * a delayed acknowledgement (200 us) or any patience (1 ms) would be seen in it.
 */
extern const struct nicsim_machine sim_primes;

/* Picoseconds, to compare times exactly. */
uint64_t sim_ps(double us);

double sim_between(uint64_t *random, double least, double most);

/* Any machine that loses nothing. */
struct nicsim_machine sim_random_machine(uint64_t *random);

#endif
