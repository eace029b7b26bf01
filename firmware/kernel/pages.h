/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pages on which the kernel's NIC tells hosts which epoch is done, and the buffers on which it
 * shows them data. Each group has a line of a page; one that carries data, or broadcasts, has a
 * buffer as well, which is a page with one place. Called by owner.c.
 *
 * A page is an array map, in a map of maps. Hosts may map it, and nobody knows whether one still
 * does: they may keep it after their group is closed, or pass its descriptor on. A map that is
 * mapped is never freed, and its memory is the owner's. So pages are not given back, there are so
 * many and no more, and all places are used again.
 *
 * Invariants: a place is one group's at a time. Groups of a page are one user's. Only when more
 * than MCP_KERNEL_PAGES users have come, a page of lines on which no group is open is given to
 * another user; the one before could still read the new one's epochs there, and nothing else. A
 * buffer stays its user's for good. So a user may have some of them, and not all. Users that count
 * as one have as many together as a user has.
 *
 * One thread calls these functions.
 */
#ifndef MCP_KERNEL_PAGES_H
#define MCP_KERNEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/pins.h"

struct mcp_pages;

/* What pages are like. */
struct mcp_pages_kind {
    const char *name;     /* of the maps */
    uint32_t bytes;       /* of a place, */
    uint32_t places;      /* ... of which a page has so many, 32 at the most */
    uint32_t most;        /* pages */
    uint32_t most_of_one; /* ... and of one account */
    bool for_good;        /* a page stays its user's */
    const char *pin;      /* what the name of a page's pin begins with, */
    uint32_t first_owner; /* ... and where its owner stands among those of all kinds */
};
#define MCP_PIN_OF_LINES "page-"
#define MCP_PIN_OF_BUFFERS "buffer-"
extern const struct mcp_pages_kind mcp_pages_of_lines, mcp_pages_of_buffers;

/* How pages outlive this process: each has a pin, and its owner stands in this map. */
struct mcp_pages_kept {
    const struct mcp_pins *pins;
    int owners;
};

/* Which users count as one: an account has as many pages as a user may have. */
typedef uint32_t (*mcp_account_fn)(uint32_t uid);

/* The pages for this map of maps, which must outlive the result, as must `kept` (NULL: they go with
 * this process). Those that are pinned already are taken over. `batch`: many may be put into the
 * map in one call, if the kernel can do that. NULL, with errno: there are none. */
struct mcp_pages *mcp_pages_make(int map, const struct mcp_pages_kind *kind, bool batch,
                                 const struct mcp_pages_kept *kept);
void mcp_pages_free(struct mcp_pages *pages);

/* Until then each user is an account. */
void mcp_pages_count_by(struct mcp_pages *pages, mcp_account_fn account);

/* Take a place for a group of this user. `place` gets its number among the places of all pages.
 * What the group before has left there is still there. Returns the page's descriptor, which stays
 * the pages' own; or -1 with errno: there is none. Some calls make more pages, which takes some 10
 * ms (and 16 times as long where the kernel takes one page in a call). */
int mcp_pages_take(struct mcp_pages *pages, uint32_t uid, uint32_t *place);

/* A group that was open already has this place. As mcp_pages_take(); -1: there is no such page of
 * this user's. */
int mcp_pages_retake(struct mcp_pages *pages, uint32_t uid, uint32_t place);

/* The page that a place is on. */
int mcp_pages_of(const struct mcp_pages *pages, uint32_t place);

/* No group has the place any more, and no program will write it. */
void mcp_pages_spend(struct mcp_pages *pages, uint32_t place);

#endif
