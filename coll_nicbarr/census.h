/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups the processes of a communicator into nodes, and determines which NICs can connect these
 * nodes, from the hellos of the processes (hello.h).
 *
 * The functions are pure. All members of a communicator process the same hellos in the order of
 * ranks, so all of them compute the same nodes. For P processes, time and memory are O(P). The
 * result takes 8 bytes per node, 8 bytes per node for each usable NIC, and 4 bytes per process if
 * there are at most NICBARR_DATA_RANKS processes. It refers to descriptions of processes and NICs,
 * which are stored only once for all communicators (peers.c). */
#ifndef NICBARR_CENSUS_H
#define NICBARR_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/nics.h"

/* What is known about a process. `segment` and `nic` contain numbers that this process assigned
 * when it first learned of the segment or NIC. These numbers start at 1; 0 means that the described
 * process has none. */
struct nicbarr_peer {
    uint32_t segment;
    uint32_t number; /* its number in the segment */
    uint32_t nic[NICBARR_NICS_MOST];
    uint8_t trouble;     /* reason why it cannot participate: enum nicbarr_trouble, peers.h */
    bool hello_read : 1; /* this process has read the peer's hello */
    bool sealed : 1;     /* it has a public key, so secrets can be sent sealed to it */
    bool later;          /* it had not opened all NICs when it started; never changes */
    bool renewed;        /* a process with `later` has since sent a second hello */
    char *why;           /* its explanation of the trouble; NULL: none */
};

/* How many segments, and how many NICs of each kind, are known, and the names of these NICs. */
struct nicbarr_known {
    uint32_t segments;
    uint32_t nics[NICBARR_NICS_MOST];
    const struct myr_nic_name *const *names[NICBARR_NICS_MOST]; /* [nics], by number - 1 */
};

/* The nodes of a communicator, ordered by the rank of each node's first process. */
struct nicbarr_nodes {
    uint32_t nodes, node;   /* number of nodes; the node of this process */
    uint32_t locals, local; /* number of processes on this node; this process's index */
    uint32_t by;            /* number of the NIC whose users form a node */
    uint32_t nics;          /* bit n: NIC n can connect all nodes */
    const struct myr_nic_name **names[NICBARR_NICS_MOST]; /* [nodes]; NULL if the NIC cannot */
    uint32_t *firsts; /* [nodes]: the number in its segment of each node's first process */
    uint32_t *ranks;  /* [nodes]: that process's rank */
    /* [size]: the node of each rank; NULL if there are more than NICBARR_DATA_RANKS */
    uint32_t *of;
};

/* The maximum number of ranks across nodes for collectives that carry data. */
enum { NICBARR_DATA_RANKS = 4096 };

enum nicbarr_census_result {
    NICBARR_COUNTED,
    NICBARR_NO_MEMORY,
    NICBARR_NO_COMMON_NIC, /* there is no NIC that all processes have */
    NICBARR_MIXED /* some processes share a NIC but not the memory that it requires, or vice
                   * versa */
};

/* Group the `size` processes of a communicator into nodes, from the point of view of process
 * `rank`. A node consists of the processes that share the first of those NICs that all processes
 * have. Any other NIC is usable only if it is shared by the same sets of processes. If NIC n is
 * accessed through the job's segment (bit n of `by_segment`), the processes that share it must be
 * exactly those that share the segment. On success, the caller frees `nodes` with
 * nicbarr_nodes_free(). */
enum nicbarr_census_result nicbarr_census(const struct nicbarr_peer *const *peers, uint32_t size,
                                          uint32_t rank, const struct nicbarr_known *known,
                                          uint32_t by_segment, struct nicbarr_nodes *nodes);
void nicbarr_nodes_free(struct nicbarr_nodes *nodes);

#endif
