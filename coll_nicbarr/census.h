/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a communicator's processes are: from what each has told of itself to nodes, and to the NICs
 * that can play between these.
 *
 * Pure functions, called by members.c and by the tests. All members count the same processes in the
 * order of ranks, so all come to the same nodes. Counting P processes takes time and memory in
 * O(P). What stays is 4 bytes for each node, and 8 more for each NIC that can play. What is known
 * of a process or of a NIC is stored once for all communicators.
 */
#ifndef NICBARR_CENSUS_H
#define NICBARR_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/nics.h"

/* What is known of a process. Its segment and its NICs are numbers among all that were met, from 1
 * on; 0: it has none. */
struct nicbarr_peer {
    uint32_t segment;
    uint32_t number; /* in the segment */
    uint32_t nic[NICBARR_NICS_MOST];
    uint8_t trouble; /* what keeps it from taking part: enum nicbarr_trouble, peers.h */
    bool met : 1;    /* it has been asked for all of this */
    bool sealed : 1; /* it has a public key: secrets may travel sealed */
    bool later;      /* it had not opened all NICs when it started; that stays true when it has */
    bool renewed;    /* it has told so */
    char *why;       /* what it says about its trouble; NULL: nothing */
};

/* All that were met. */
struct nicbarr_met {
    uint32_t segments;
    uint32_t nics[NICBARR_NICS_MOST];
    const struct myr_nic_name *const *names[NICBARR_NICS_MOST]; /* [nics], by number - 1 */
};

/* The nodes of a communicator, in the order of the ranks of their first processes. */
struct nicbarr_nodes {
    uint32_t nodes, node;   /* how many, this process's one */
    uint32_t locals, local; /* the same for the processes of this node */
    uint32_t by;            /* the NIC whose sharing makes a node */
    uint32_t players;       /* bit n: NIC n can play between all of them */
    const struct myr_nic_name **names[NICBARR_NICS_MOST]; /* [nodes]; NULL where it cannot */
    uint32_t *firsts; /* [nodes]: the number in its segment of each node's first process */
    uint32_t *ranks;  /* [nodes]: that process's rank */
    uint32_t *of;     /* [size]: the node of each rank; NULL for more than NICBARR_DATA_RANKS */
};

/* Collectives that carry data are for so many ranks on several nodes, at the most. */
enum { NICBARR_DATA_RANKS = 4096 };

enum nicbarr_counted {
    NICBARR_COUNTED,
    NICBARR_NO_MEMORY,
    NICBARR_NO_COMMON_NIC, /* no NIC that all of them have one of */
    NICBARR_MIXED          /* processes share a NIC, but not the memory that it takes, or the other
                              way round */
};

/*
 * Count the `size` processes of a communicator, of which this one is `rank`. Processes that share
 * the first NIC that all have are a node. Another NIC can play if the same processes share it. A
 * NIC whose processes meet in the job's segment (bit n of `by_segment`) must be shared by just
 * those who share the segment. After success, give `nodes` back by nicbarr_nodes_free().
 */
enum nicbarr_counted nicbarr_census(const struct nicbarr_peer *const *peers, uint32_t size,
                                    uint32_t rank, const struct nicbarr_met *met,
                                    uint32_t by_segment, struct nicbarr_nodes *nodes);
void nicbarr_nodes_free(struct nicbarr_nodes *nodes);

#endif
