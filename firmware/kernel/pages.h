/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages on which the kernel's NIC publishes completed epochs to hosts, and the buffers with
 * their data. Each group has a line of a page; one that carries data, or broadcasts, also has a
 * buffer, which is a page with one place. Called by owner.c.
 *
 * A page is an array map, in a map of maps. Hosts may map it, and the owner cannot know whether one
 * still does: they may keep the mapping after their group is closed, or pass the descriptor on. A
 * mapped map is never freed, and its memory is charged to the owner. So pages are not freed, their
 * number is limited, and all places are reused.
 *
 * Invariants: a place belongs to one group at a time. The groups of a page belong to one user. Only
 * after more than MCP_KERNEL_PAGES users, a page of lines without open groups is given to another
 * user; the previous one could still read the new one's epochs there, and nothing else. A buffer
 * remains its user's for good. So a user has a quota of them. Users of one account share the quota
 * of one user.
 *
 * One thread calls these functions. */
#ifndef MCP_KERNEL_PAGES_H
#define MCP_KERNEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/pins.h"

struct mcp_pages;

/* A kind of pages. */
struct mcp_pages_kind {
    const char *name;     /* of the maps */
    uint32_t bytes;       /* of a place, */
    uint32_t places;      /* ... and places of a page, at most 32 */
    uint32_t most;        /* maximum of pages */
    uint32_t most_of_one; /* ... and of one account */
    bool for_good;        /* a page remains its user's */
    const char *pin;      /* prefix of the names of the pages' pins, */
    uint32_t first_owner; /* ... and index of the first one's owner among those of all kinds */
};
#define MCP_PIN_OF_LINES "page-"
#define MCP_PIN_OF_BUFFERS "buffer-"
extern const struct mcp_pages_kind mcp_pages_of_lines, mcp_pages_of_buffers;

/* How pages outlive this process: each has a pin, and its owner is in this map. */
struct mcp_pages_kept {
    const struct mcp_pins *pins;
    int owners;
};

/* The account of a user, which has the quota of one user. */
typedef uint32_t (*mcp_account_fn)(uint32_t uid);

/* Create the pages for this map of maps, which must outlive the result, as must `kept` (NULL: the
 * pages end with this process). Pages that are pinned already are taken over. `batch`: many may be
 * inserted into the map in one call, if the kernel supports that. NULL, with errno, on failure. */
struct mcp_pages *mcp_pages_make(int map, const struct mcp_pages_kind *kind, bool batch,
                                 const struct mcp_pages_kept *kept);
void mcp_pages_free(struct mcp_pages *pages);

/* Until then each user is an account. */
void mcp_pages_count_by(struct mcp_pages *pages, mcp_account_fn account);

/* Allocate a place for a group of this user. `place` gets its index among the places of all pages.
 * Its previous content is not cleared. Returns the page's descriptor, which the pages own; or -1
 * with errno. Some calls create more pages, which takes some 10 ms (and 16 times as long if the
 * kernel takes one page in a call). */
int mcp_pages_take(struct mcp_pages *pages, uint32_t uid, uint32_t *place);

/* Allocate this place for a group that is open already. Returns the page's descriptor, like
 * mcp_pages_take(), or -1 if the user has no such page. */
int mcp_pages_retake(struct mcp_pages *pages, uint32_t uid, uint32_t place);

/* The page of a place. */
int mcp_pages_of(const struct mcp_pages *pages, uint32_t place);

/* Free a place: no group has it any more, and no program will write it. */
void mcp_pages_spend(struct mcp_pages *pages, uint32_t place);

#endif
