/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a communicator, and the NICs that can play between them, from the hellos of its
 * processes.
 *
 * Pure functions, called by members.c and by the tests. All members process the same hellos in the
 * order of ranks, so all compute the same nodes. For P processes that takes time and memory in
 * O(P). The result has 4 bytes for each node, and 8 more for each NIC that can play. Facts about a
 * process or a NIC are stored once for all communicators. */
#ifndef NICBARR_CENSUS_H
#define NICBARR_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/nics.h"

/* A process. Its segment and its NICs are numbers among all known ones, from 1; 0: none. */
struct nicbarr_peer {
    uint32_t segment;
    uint32_t number; /* in the segment */
    uint32_t nic[NICBARR_NICS_MOST];
    uint8_t trouble; /* why it cannot take part: enum nicbarr_trouble, peers.h */
    bool met : 1;    /* its hello has been read */
    bool sealed : 1; /* it has a public key, so secrets can be sent sealed to it */
    bool later;      /* it had not opened all NICs at its start; never changes */
    bool renewed;    /* ... and has sent a second hello */
    char *why;       /* its explanation of the trouble; NULL: none */
};

/* All known segments and NICs. */
struct nicbarr_met {
    uint32_t segments;
    uint32_t nics[NICBARR_NICS_MOST];
    const struct myr_nic_name *const *names[NICBARR_NICS_MOST]; /* [nics], by number - 1 */
};

/* The nodes of a communicator, in the order of the ranks of their first processes. */
struct nicbarr_nodes {
    uint32_t nodes, node;   /* their number; this process's */
    uint32_t locals, local; /* the same for the processes of this node */
    uint32_t by;            /* the NIC that defines nodes by being shared */
    uint32_t players;       /* bit n: NIC n can play between all of them */
    const struct myr_nic_name **names[NICBARR_NICS_MOST]; /* [nodes]; NULL if it cannot */
    uint32_t *firsts; /* [nodes]: the number in its segment of each node's first process */
    uint32_t *ranks;  /* [nodes]: that process's rank */
    uint32_t *of;     /* [size]: the node of each rank; NULL beyond NICBARR_DATA_RANKS */
};

/* The maximum number of ranks across nodes for collectives that carry data. */
enum { NICBARR_DATA_RANKS = 4096 };

enum nicbarr_counted {
    NICBARR_COUNTED,
    NICBARR_NO_MEMORY,
    NICBARR_NO_COMMON_NIC, /* no NIC that all of them have */
    NICBARR_MIXED /* some processes share a NIC but not the memory that it requires, or vice
                   * versa */
};

/* Group the `size` processes of a communicator into nodes, as process `rank`. Processes that share
 * the first NIC that all have form a node. Another NIC can play if the same processes share it. A
 * NIC whose processes use the job's segment (bit n of `by_segment`) must be shared by exactly those
 * that share the segment. On success, free `nodes` with nicbarr_nodes_free(). */
enum nicbarr_counted nicbarr_census(const struct nicbarr_peer *const *peers, uint32_t size,
                                    uint32_t rank, const struct nicbarr_met *met,
                                    uint32_t by_segment, struct nicbarr_nodes *nodes);
void nicbarr_nodes_free(struct nicbarr_nodes *nodes);

#endif
