/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of NICs whose packets did not come through between the nodes of a communicator.
 *
 * Finding that out takes seconds. So not every communicator tries that kind again, but the second
 * after that, then the fourth, the eighth: the network may be mended, or the machine may have been
 * too busy. All members keep it, and rank 0 of another communicator has its members go without that
 * kind (nicbarr_shape_without()). A failure before any packet was tried says nothing about packets.
 *
 * Called by across.c, candidate_groups.c and tune.c. Any thread.
 */
#ifndef NICBARR_SUSPECT_NICS_H
#define NICBARR_SUSPECT_NICS_H

#include <stdbool.h>
#include <stdint.h>

/* All members have tried whether packets of a kind of NIC come through, with this result. */
void nicbarr_suspect_nic(uint32_t nic, bool good);

/* Which of these kinds is the next communicator to go without? (bit n: NIC n) Asked by rank 0 of
 * each, once for each try that would come. */
uint32_t nicbarr_suspect_nics(uint32_t players);

#endif
