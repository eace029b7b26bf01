/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of the kernel's NIC, internal interface. One thread.
 *
 *   owner.c              life cycle: loading, attaching to an interface, closing
 *   owner_load.c         the program, as far as this kernel supports it
 *   owner_groups.c       groups
 *   owner_neighbours.c   neighbour entries of the groups' hosts
 *   owner_kept.c         state that outlives this process, and taking it over */
#ifndef MCP_KERNEL_OWNER_INSIDE_H
#define MCP_KERNEL_OWNER_INSIDE_H

#define MCP_KERNEL_INSIDE /* with the program's definition of groups */
#include "firmware/kernel/owner.h"

#include <bpf/libbpf.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/hooks.h"
#include "firmware/kernel/pages.h"
#include "firmware/kernel/program.skel.h"

struct mcp_kernel {
    struct program *program;           /* the skeleton */
    int processors;                    /* maximum of this machine */
    struct ring_buffer *notifications; /* notifications of stuck groups; NULL: not supported */
    mcp_kernel_stuck_fn notify;        /* during mcp_kernel_consume() */
    void *context;
    struct mcp_kernel_place place;
    struct mcp_hooks hooks;
    struct mcp_bell bell;
    int asking; /* netlink, for neighbour queries */
    char interface[IF_NAMESIZE];
    struct mcp_pins pins;
    struct mcp_pages_kept pages_kept;
    struct mcp_kernel_kept kept;
    bool taken; /* taken over from another owner */
    bool stands;
    struct mcp_pages *pages, *buffers;
    uint64_t numbers[MCP_KERNEL_GROUPS / 64]; /* a bit for each open group's index */
    struct {
        struct mcp_ip ip;
        uint32_t groups;                /* number of peers of open groups on that host */
        uint64_t met;                   /* of its last mcp_kernel_meet(), for LRU eviction */
    } neighbour[MCP_KERNEL_NEIGHBOURS]; /* from index 1 */
    uint32_t neighbours;                /* the last index */
    uint64_t meetings;
};

/* Format the error into `why` (MCP_KERNEL_WHY bytes); returns -1. */
int mcp_kernel_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- owner_load.c ---- */

/* Tests disable features of this kernel: NICBARR_KERNEL_WITHOUT lists them, separated by commas
 * (tcx, loop, timer, batch). */
bool mcp_kernel_may(const char *feature);

/* Load the program with maps of its own, or with the pinned ones. 0, or -1 with `why`. */
int mcp_kernel_load_program(struct program **program, const struct mcp_kernel_place *place,
                            const struct mcp_pins *pins, char *why);

/* ---- owner_groups.c ---- */

/* A consistent copy of the group's state, taken under its lock; false: no such group. */
bool mcp_kernel_look_up(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_group *group);

/* Reserve an index for a group. */
void mcp_kernel_take_number(struct mcp_kernel *kernel, uint32_t number);

/* Does a group of this kind have a buffer? */
bool mcp_kernel_has_buffer(uint32_t places, uint32_t window);

/* Update the number of open groups with buffers. */
void mcp_kernel_count_carrying(const struct mcp_kernel *kernel, int more);

/* ---- owner_neighbours.c ---- */

/* The index of a host's neighbour entry; 0: none. */
uint32_t mcp_kernel_find_neighbour(const struct mcp_kernel *kernel, const struct mcp_ip *ip);

/* The group takes references to its peers' neighbour entries (`more` is 1), or releases them
 * (UINT32_MAX). */
void mcp_kernel_need_peers(struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                           uint32_t more);

/* ---- owner_kept.c ---- */

/* Store the state for the next owner. */
bool mcp_kernel_write_kept(struct mcp_kernel *kernel);

/* Load with the pinned maps, if they fit; else with new ones, and `note` has the reason if there
 * are others. 0, or -1 with `why`. */
int mcp_kernel_load_maps_kept(struct mcp_kernel *kernel, char *note, char *why);

/* Remove all state for a next owner. */
void mcp_kernel_unpin(struct mcp_kernel *kernel);

/* Take over the groups and neighbours in the maps. */
void mcp_kernel_take_over(struct mcp_kernel *kernel);

#endif
