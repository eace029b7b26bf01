/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps track of suspect NICs. A kind of NIC is suspect if its packets did not get through between
 * the nodes of a communicator.
 *
 * If the attempt to use a suspect kind of NIC fails again, it takes seconds. Therefore only some of
 * the later communicators try this kind, with exponential backoff: the second communicator after
 * the failure, then the fourth, then the eighth. Retrying is worthwhile, because the network may
 * have been repaired, or the machine may just have been too busy.
 *
 * Every member of a communicator records the result of an attempt. When another communicator is set
 * up, its rank 0 decides on behalf of all members which kinds of NICs it excludes
 * (nicbarr_shape_without()). A failure that occurs before any packet was sent does not make a kind
 * suspect.
 *
 * Called by across.c, candidate_groups.c and tune.c, from any thread. */
#ifndef NICBARR_SUSPECT_NICS_H
#define NICBARR_SUSPECT_NICS_H

#include <stdbool.h>
#include <stdint.h>

/* Record whether packets of a kind of NIC have got through, after all members have tried. */
void nicbarr_record_nic_test(uint32_t nic, bool good);

/* Returns the subset of the kinds `nics` (bit n: NIC n) that the next communicator must not try.
 * Each call counts as one communicator for which these kinds are excluded, so only rank 0 calls it,
 * once before each setup. */
uint32_t nicbarr_suspect_nics(uint32_t nics);

#endif
