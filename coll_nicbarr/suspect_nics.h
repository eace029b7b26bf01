/* SPDX-License-Identifier: BSD-3-Clause */
/* Suspect NICs: kinds whose packets did not get through between the nodes of a communicator.
 *
 * Detecting that takes seconds. So later communicators do not all try that kind again, but with
 * exponential backoff: the second after that, then the fourth, the eighth. The network may have
 * been repaired, or the machine may have been too busy. All members keep the state, and rank 0 of
 * another communicator excludes that kind for its members (nicbarr_shape_without()). A failure
 * before any packet was tried does not count.
 *
 * Called by across.c, candidate_groups.c and tune.c. Any thread. */
#ifndef NICBARR_SUSPECT_NICS_H
#define NICBARR_SUSPECT_NICS_H

#include <stdbool.h>
#include <stdint.h>

/* Record whether packets of a kind of NIC have got through, after all members have tried. */
void nicbarr_suspect_nic(uint32_t nic, bool good);

/* Which of the kinds `players` must the next communicator exclude? (bit n: NIC n) Called by rank 0
 * of each communicator, once per attempt that would be made. */
uint32_t nicbarr_suspect_nics(uint32_t players);

#endif
