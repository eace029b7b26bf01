/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface of the files that implement the owner of the kernel NIC (owner.h). All
 * functions are called by a single thread.
 *
 *   owner.c              life cycle: loading, attaching to an interface, closing
 *   owner_load.c         the program, as far as this kernel supports it
 *   owner_groups.c       groups
 *   owner_neighbours.c   neighbour entries of the groups' hosts
 *   owner_kept.c         state that outlives this process, and its takeover */
#ifndef MCP_KERNEL_OWNER_INSIDE_H
#define MCP_KERNEL_OWNER_INSIDE_H

#define MCP_KERNEL_INSIDE /* declares the program's definition of groups */
#include "firmware/kernel/owner.h"

#include <bpf/libbpf.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/hooks.h"
#include "firmware/kernel/pages.h"
#include "firmware/kernel/program.skel.h"

struct mcp_kernel {
    struct program *program;           /* the skeleton */
    int processors;                    /* maximum number of CPUs of this machine */
    struct ring_buffer *notifications; /* notifications of stuck groups; NULL if not supported */
    mcp_kernel_stuck_fn notify;        /* during mcp_kernel_consume() */
    void *context;
    struct mcp_kernel_nic_address address;
    struct mcp_hooks hooks;
    struct mcp_bell bell;
    int asking; /* netlink, for neighbour queries */
    char interface[IF_NAMESIZE];
    struct mcp_pins pins;
    struct mcp_pages_kept pages_kept;
    struct mcp_kernel_kept kept;
    bool taken;    /* whether it was taken over from another owner */
    bool attached; /* whether mcp_kernel_attach() has succeeded */
    struct mcp_pages *pages, *buffers;
    uint64_t numbers[MCP_KERNEL_GROUPS / 64]; /* one bit for each open group's index */
    struct {
        struct mcp_ip ip;
        uint32_t groups; /* number of peers of open groups on that host */
        uint64_t met;    /* the time of its last mcp_kernel_meet(), for LRU eviction */
    } neighbour[MCP_KERNEL_NEIGHBOURS]; /* from index 1 */
    uint32_t neighbours;                /* the last index */
    uint64_t meetings;
};

/* Formats the error into `why` (MCP_KERNEL_WHY bytes) and returns -1. */
int mcp_kernel_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- owner_load.c ---- */

/* Returns whether this feature may be used. Tests disable features of the kernel:
 * NICBARR_KERNEL_WITHOUT lists them, separated by commas (tcx, loop, timer, batch). */
bool mcp_kernel_may(const char *feature);

/* Loads the program with new maps or with the pinned maps. Returns 0, or -1 with `why`. */
int mcp_kernel_load_program(struct program **program, const struct mcp_kernel_nic_address *address,
                            const struct mcp_pins *pins, char *why);

/* ---- owner_groups.c ---- */

/* Copies the group's state consistently, under its lock. Returns false if there is no such
 * group. */
bool mcp_kernel_lookup(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_group *group);

/* Reserves an index for a group. */
void mcp_kernel_take_number(struct mcp_kernel *kernel, uint32_t number);

/* Returns whether a group with these parameters has a buffer. */
bool mcp_kernel_has_buffer(uint32_t buffer_blocks, uint32_t window);

/* Updates the number of open groups with buffers. */
void mcp_kernel_count_carrying(const struct mcp_kernel *kernel, int more);

/* ---- owner_neighbours.c ---- */

/* Returns the index of a host's neighbour entry, or 0 if it has none. */
uint32_t mcp_kernel_find_neighbour(const struct mcp_kernel *kernel, const struct mcp_ip *ip);

/* Takes references to the neighbour entries of the group's peers if `more` is 1, or releases them
 * if `more` is UINT32_MAX. */
void mcp_kernel_need_peers(struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                           uint32_t more);

/* ---- owner_kept.c ---- */

/* Stores the state for the next owner. */
bool mcp_kernel_write_kept(struct mcp_kernel *kernel);

/* Loads the program with the pinned maps, if there are any and their format matches. Otherwise
 * creates new maps; if there are pinned ones, `warning` explains why they cannot be used. Returns
 * 0, or -1 with `why`. */
int mcp_kernel_load_maps_kept(struct mcp_kernel *kernel, char *warning, char *why);

/* Removes all state for a next owner. */
void mcp_kernel_unpin(struct mcp_kernel *kernel);

/* Takes over the groups and neighbours in the maps. */
void mcp_kernel_take_over(struct mcp_kernel *kernel);

#endif
