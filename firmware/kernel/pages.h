/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages on which the kernel's NIC tells hosts what is done, one for each group, made ahead by a
 * thread. Called by owner.c.
 *
 * A page is an array map of one value, put at its group's place in a map of maps. The system takes
 * a change of that for made when all programs that run have ended: some 10 ms, in each call. So
 * pages are made ahead, many in a call, by a thread that nobody waits for.
 *
 * Invariants: nobody gets a page that another group has had, as its hosts may still have it mapped.
 * A place whose group is closed is given again only when no program is left that knew that group:
 * one that did would write into the new page.
 *
 * One thread calls these functions.
 */
#ifndef MCP_KERNEL_PAGES_H
#define MCP_KERNEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct mcp_pages;

/* For the places of this map of maps; it must outlive them. NULL: out of memory. */
struct mcp_pages *mcp_pages_make(int map);
void mcp_pages_free(struct mcp_pages *pages);

/* Have pages ready from now on, made by a thread that has the rights of who calls this first. */
void mcp_pages_prepare(struct mcp_pages *pages);

/* Take a page, for a group that is to have this place. Its descriptor is the caller's, and can be
 * mapped to read struct mcp_kernel_page, nothing else; -1 with errno: there is none. Waits only if
 * no page is ready. */
int mcp_pages_take(struct mcp_pages *pages, uint32_t *place);

/* No group has the place any more. */
void mcp_pages_spend(struct mcp_pages *pages, uint32_t place);

#endif
