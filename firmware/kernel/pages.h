/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages on which the kernel's NIC tells hosts which epoch is done. There is one for each group.
 * A thread makes them ahead. Called by owner.c.
 *
 * A page is an array map of one value, put at its group's place in a map of maps. A change of that
 * map ends only when all programs that run have ended: some 10 ms for each call. So a thread that
 * nobody waits for makes pages ahead, many in a call.
 *
 * Invariants: nobody gets a page that another group has had, as that group's hosts may still have
 * it mapped. The place of a closed group is given again only when no running program knows that
 * group: such a program would write into the new page.
 *
 * One thread calls these functions.
 */
#ifndef MCP_KERNEL_PAGES_H
#define MCP_KERNEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct mcp_pages;

/* For the places of this map of maps, which must outlive the result. NULL: out of memory. */
struct mcp_pages *mcp_pages_make(int map);
void mcp_pages_free(struct mcp_pages *pages);

/* Have pages ready from now on. The thread that makes them has the rights of the first caller. */
void mcp_pages_prepare(struct mcp_pages *pages);

/* Take a page, for a group at this place. Its descriptor is the caller's. It can be mapped to read
 * struct mcp_kernel_page, and for nothing else. -1 with errno: there is none. Waits only if no page
 * is ready. */
int mcp_pages_take(struct mcp_pages *pages, uint32_t *place);

/* No group has the place any more. */
void mcp_pages_spend(struct mcp_pages *pages, uint32_t place);

#endif
