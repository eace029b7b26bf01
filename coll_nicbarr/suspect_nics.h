/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps track of suspect NICs. A kind of NIC is suspect if its packets did not get through between
 * the nodes of a communicator.
 *
 * A failed attempt takes seconds, so only some of the later communicators try this kind again, with
 * exponential backoff: the second communicator after the failure, then the fourth, then the eighth.
 * Retrying is worthwhile, because the network may have been repaired, or the machine may just have
 * been too busy.
 *
 * All members keep this state, and rank 0 of the next communicator excludes the suspect kinds on
 * behalf of all its members (nicbarr_shape_without()). A failure that occurs before any packet was
 * sent is not counted.
 *
 * Called by across.c, candidate_groups.c and tune.c, from any thread. */
#ifndef NICBARR_SUSPECT_NICS_H
#define NICBARR_SUSPECT_NICS_H

#include <stdbool.h>
#include <stdint.h>

/* Record whether packets of a kind of NIC have got through, after all members have tried. */
void nicbarr_record_nic_test(uint32_t nic, bool good);

/* Returns those of the kinds `nics` (bit n: NIC n) that the next communicator must exclude. Rank 0
 * of a communicator calls this once before each setup, because each call counts as one setup from
 * which these kinds are excluded. */
uint32_t nicbarr_suspect_nics(uint32_t nics);

#endif
