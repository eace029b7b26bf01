/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner of the kernel's NIC, for its own files: what it knows of the NIC, and what they call of
 * each other. One thread.
 *
 *   owner.c              the NIC's life: loading, standing at an interface, closing
 *   owner_load.c         the program, as far as this kernel can take it
 *   owner_groups.c       groups
 *   owner_neighbours.c   hosts that groups have messages for
 *   owner_kept.c         what outlives this process, and taking it over
 */
#ifndef MCP_KERNEL_OWNER_INSIDE_H
#define MCP_KERNEL_OWNER_INSIDE_H

#define MCP_KERNEL_INSIDE /* groups are as the program has them */
#include "firmware/kernel/owner.h"

#include <bpf/libbpf.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/hooks.h"
#include "firmware/kernel/pages.h"
#include "firmware/kernel/program.skel.h"

struct mcp_kernel {
    struct program *program;  /* the skeleton */
    int processors;           /* that this machine may have */
    struct ring_buffer *told; /* tells of stuck groups; NULL: it does not */
    mcp_kernel_stuck_fn tell; /* while that is heard */
    void *context;
    struct mcp_kernel_place place;
    struct mcp_hooks hooks;
    struct mcp_bell bell;
    int asking; /* netlink, to ask for hardware addresses */
    char interface[IF_NAMESIZE];
    struct mcp_pins pins;
    struct mcp_pages_kept pages_kept;
    struct mcp_kernel_kept kept;
    bool taken; /* over from another owner */
    bool stands;
    struct mcp_pages *pages, *buffers;
    uint64_t numbers[MCP_KERNEL_GROUPS / 64]; /* a bit for each open group's */
    struct {
        struct mcp_ip ip;
        uint32_t groups;                /* peers of open groups that are there */
        uint64_t met;                   /* the meeting's number */
    } neighbour[MCP_KERNEL_NEIGHBOURS]; /* from place 1 on */
    uint32_t neighbours;                /* the last place */
    uint64_t meetings;
};

/* Write why into `why` (MCP_KERNEL_WHY bytes); returns -1. */
int mcp_kernel_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- owner_load.c ---- */

/* Tests have the NIC do without what this kernel has: NICBARR_KERNEL_WITHOUT names that, separated
 * by commas (tcx, loop, timer, batch). */
bool mcp_kernel_may(const char *feature);

/* Load the program with maps of its own, or with those that are pinned. 0, or -1 with `why`. */
int mcp_kernel_load_program(struct program **program, const struct mcp_kernel_place *place,
                            const struct mcp_pins *pins, char *why);

/* ---- owner_groups.c ---- */

/* The group's state at one moment, copied under its lock; false: there is none. */
bool mcp_kernel_look_up(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_group *group);

/* The group's number is not the next one's any more. */
void mcp_kernel_take_number(struct mcp_kernel *kernel, uint32_t number);

/* Does a group of this kind have a buffer? */
bool mcp_kernel_has_buffer(uint32_t places, uint32_t window);

/* So many more open groups have buffers. */
void mcp_kernel_count_carrying(const struct mcp_kernel *kernel, int more);

/* ---- owner_neighbours.c ---- */

/* A host's place among the neighbours; 0: it has not been met. */
uint32_t mcp_kernel_find_neighbour(const struct mcp_kernel *kernel, const struct mcp_ip *ip);

/* The group needs its peers from now on (`more` is 1), or does so no longer (UINT32_MAX). */
void mcp_kernel_need_peers(struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                           uint32_t more);

/* ---- owner_kept.c ---- */

/* Tell the next owner what is known. */
bool mcp_kernel_write_kept(struct mcp_kernel *kernel);

/* Load with the maps that are pinned, if they fit; or with new ones, and `note` says why where
 * there are others. 0, or -1 with `why`. */
int mcp_kernel_load_maps_kept(struct mcp_kernel *kernel, char *note, char *why);

/* No next owner finds anything. */
void mcp_kernel_unpin(struct mcp_kernel *kernel);

/* Take over the groups and neighbours that are in the maps. */
void mcp_kernel_take_over(struct mcp_kernel *kernel);

#endif
