/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft NIC's table of links, which maps a link to a peer's address. nic_board.c uses it.
 *
 * The table is in the memory that the processes of the node share, and is accessed by the process
 * that runs the control program. Each address has one link with a reference count. When the last
 * reference is dropped, the link can be used for another address. Therefore a NIC that communicates
 * with many peers, one after the other, does not run out of links.
 *
 * Invariant: each entry before `fresh` is either in the list of a bucket (held) or in the free list
 * (not held). Entry 0 is MCP_LINK_SENDER and is never held. */
#ifndef MYR_SOFT_LINKS_H
#define MYR_SOFT_LINKS_H

#include "firmware/engine.h"
#include "firmware/soft/addresses.h"

enum { MYR_SOFT_LINKS = 4096, MYR_SOFT_LINK_BUCKETS = 1024 };

/* The table is empty if all 0. */
struct myr_soft_links {
    uint32_t fresh; /* high-water mark of entries, without entry 0 */
    uint32_t free;  /* head of the free list; 0 if empty */
    uint16_t bucket[MYR_SOFT_LINK_BUCKETS];
    uint16_t next[MYR_SOFT_LINKS];    /* in its bucket, or in the free list; 0 at the end */
    uint32_t holders[MYR_SOFT_LINKS]; /* refcount */
    /* read on the path of a barrier */
    _Alignas(MYR_LINE) struct mcp_address address[MYR_SOFT_LINKS];
};

/* Gets a reference to the link to this address; returns MCP_LINK_SENDER if the table is full. */
mcp_link myr_soft_links_hold(struct myr_soft_links *links, const struct mcp_address *address);

/* Drops a reference. */
void myr_soft_links_drop(struct myr_soft_links *links, mcp_link link);

/* Returns the number of links in use. */
uint32_t myr_soft_links_count(const struct myr_soft_links *links);

#endif
