/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a process's RDMA NIC that is published in the segment for `nicbarr status`
 * (nic_inspect.h). Only the process itself writes it. This header does not need those of
 * libibverbs. */
#ifndef MYR_VERBS_SHOWN_H
#define MYR_VERBS_SHOWN_H

#include "firmware/counters.h"
#include "libmyr/node/segment.h"

enum { MYR_VERBS_SHOWN = 2 }; /* increment it with any change here */

struct myr_verbs_shown {
    uint32_t layout; /* MYR_VERBS_SHOWN */
    uint32_t pid, port;
    uint32_t links, broken; /* number of queue pairs, and of those that have failed */
    uint32_t routed;        /* number of routes resolved by librdmacm */
    uint32_t groups;        /* number of groups that this process executes */
    uint64_t registered;    /* bytes of memory that is remotely writable */
    struct mcp_counters counters;
    char device[64];
};

/* Returns the key of a process's record, by its index and number in the segment. */
static inline struct myr_key myr_verbs_shown_key(uint32_t index, uint32_t number)
{
    return (struct myr_key){.scope = index, .id = 0x56 /* "V" */, .sequence = number};
}

#endif
