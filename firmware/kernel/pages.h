/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates the memory that the kernel NIC shares with hosts. Each group has a release, a cache
 * line in which the NIC publishes completed epochs; a page contains several of them. A group that
 * carries data or broadcasts also has a buffer for the data, which is a page of its own.
 *
 * A page is an array map in a map of maps. Hosts may map a page into their memory. The owner cannot
 * find out whether they still do so, because a host may keep the mapping after its group is closed,
 * or may pass the descriptor on. As long as a host maps a page, the kernel does not free its
 * memory, which is charged to the owner. Therefore pages are never freed but reused, and their
 * number is limited.
 *
 * Invariants:
 * - A slot belongs to one group at a time, and all groups of a page belong to one user.
 * - A page of releases without open groups is given to another user only after there were more than
 *   MCP_KERNEL_PAGES users. The previous user could then still read the epochs of the new user, but
 *   nothing else.
 * - A buffer belongs to its user permanently, so each user has a quota of buffers. All users of an
 *   account share the quota of one user.
 *
 * All functions are called by a single thread. */
#ifndef MCP_KERNEL_PAGES_H
#define MCP_KERNEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/pins.h"

struct mcp_pages;

/* A type of pages: pages of release words, or buffers. */
struct mcp_pages_kind {
    const char *name;     /* of the maps */
    uint32_t bytes;       /* size of a slot */
    uint32_t slots;       /* number of slots in a page, at most 32 */
    uint32_t most;        /* limit of pages in total */
    uint32_t most_of_one; /* limit of pages per account */
    bool permanent;       /* whether a page remains its user's permanently */
    const char *pin;      /* prefix of the names of the pages' pins */
    uint32_t first_owner; /* index of the first page's owner in the map of all owners */
};
#define MCP_PIN_OF_LINES "page-"
#define MCP_PIN_OF_BUFFERS "buffer-"
extern const struct mcp_pages_kind mcp_pages_of_lines, mcp_pages_of_buffers;

/* The objects that let pages outlive this process: a pin for each page, and a map of their
 * owners. */
struct mcp_pages_kept {
    const struct mcp_pins *pins;
    int owners; /* descriptor of the map */
};

/* Returns the account of a user. All users with the same account share the quota of one user. */
typedef uint32_t (*mcp_account_fn)(uint32_t uid);

/* Creates the allocator for the pages in the map of maps `map`. If the pages are to outlive this
 * process, `kept` tells where they are pinned, and pages that a previous owner has pinned there are
 * taken over; otherwise it is NULL. Both the map and `kept` must outlive the allocator. If `batch`
 * is set and the kernel supports it, many pages are inserted into the map by one system call.
 * Returns NULL, with errno, on failure. */
struct mcp_pages *mcp_pages_make(int map, const struct mcp_pages_kind *kind, bool batch,
                                 const struct mcp_pages_kept *kept);
void mcp_pages_free(struct mcp_pages *pages);

/* Sets the function that maps users to accounts. Before this call each user is an account. */
void mcp_pages_count_by(struct mcp_pages *pages, mcp_account_fn account);

/* Allocates a slot for a group of this user, without clearing its previous contents. `slot` is set
 * to its index, counted over all pages. Returns the descriptor of the slot's page, which remains
 * owned by `pages`, or -1 with errno. A call that has to create pages takes about 10 ms, or 160 ms
 * if the kernel inserts only one page per system call. */
int mcp_pages_allocate(struct mcp_pages *pages, uint32_t uid, uint32_t *slot);

/* Reserves this slot for a group that is open already. Returns the page's descriptor, like
 * mcp_pages_allocate(), or -1 if the user has no such page. */
int mcp_pages_reserve(struct mcp_pages *pages, uint32_t uid, uint32_t slot);

/* Returns the descriptor of a slot's page. */
int mcp_pages_of(const struct mcp_pages *pages, uint32_t slot);

/* Frees a slot. No group may use it any more, and no program may write it. */
void mcp_pages_release(struct mcp_pages *pages, uint32_t slot);

#endif
