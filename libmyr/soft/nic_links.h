/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC's table of peers: what its links mean. Used by nic_board.c.
 *
 * It lies in the memory that the node's processes share. The process that runs the control program
 * reads and writes it. An address has one link, however many hold it. When the last holder drops a
 * link, it is free for another address. So a NIC that meets many peers, one after the other, does
 * not run full.
 *
 * Invariant: each entry before `fresh` is in a bucket's list (held) or in the list of free ones
 * (not held). Entry 0 is MCP_LINK_SENDER and nobody's.
 */
#ifndef MYR_SOFT_LINKS_H
#define MYR_SOFT_LINKS_H

#include "firmware/engine.h"
#include "firmware/soft/addresses.h"

enum { MYR_SOFT_LINKS = 4096, MYR_SOFT_LINK_BUCKETS = 1024 };

/* All 0: empty. */
struct myr_soft_links {
    uint32_t fresh; /* entries ever used, but for entry 0 */
    uint32_t free;  /* the first free one; 0: none */
    uint16_t bucket[MYR_SOFT_LINK_BUCKETS];
    uint16_t next[MYR_SOFT_LINKS];    /* in its bucket, or of the free ones; 0: none */
    uint32_t holders[MYR_SOFT_LINKS]; /* how many hold it */
    _Alignas(MYR_LINE) struct mcp_address address[MYR_SOFT_LINKS]; /* what a barrier reads */
};

/* Hold the link to this address; MCP_LINK_SENDER if there is no room for another. */
mcp_link myr_soft_links_hold(struct myr_soft_links *links, const struct mcp_address *address);

/* Give up one hold of the link. */
void myr_soft_links_drop(struct myr_soft_links *links, mcp_link link);

/* How many there are. */
uint32_t myr_soft_links_count(const struct myr_soft_links *links);

#endif
