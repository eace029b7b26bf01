/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pair is one group that is executed twice: by the program in the kernel, and by the same engine
 * in this process as the reference.
 */
#ifndef TESTS_UNIT_KERNEL_PAIR_H
#define TESTS_UNIT_KERNEL_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/bcast.h"
#include "firmware/engine.h"
#include "firmware/kernel/owner.h"

enum {
    ROOM = (1 << 14) + sizeof(struct mcp_kernel_buffer),     /* size of the reference's group */
    PAGE = MCP_KERNEL_LINES * sizeof(struct mcp_kernel_line) /* size of a page */
};

struct pair {
    uint64_t key;
    struct mcp_kernel_plan plan;      /* plan of the kernel's group */
    struct mcp_kernel_line *page;     /* mapped */
    struct mcp_kernel_line *line;     /* the group's cache line in the page */
    struct mcp_kernel_buffer *buffer; /* mapped, or NULL */
    int page_map, buffer_map;
    int bell;
    bool sleeps;             /* a process waits for a wake-up */
    uint32_t last;           /* greatest number of a broadcast so far */
    struct mcp_group *group; /* group of the reference */
    _Alignas(MYR_LINE) uint8_t room[ROOM];
};

/* Return properties of the group's plan. */
uint32_t buffer_bytes(const struct pair *pair);
bool broadcasts(const struct pair *pair);
bool has_buffer(const struct pair *pair);

/* Return a broadcast's slot in a window, and in the reference's window. */
struct mcp_bcast_slot *slot_in(const struct pair *pair, const void *window, uint32_t number);

struct mcp_bcast_slot *slot_here(const struct pair *pair, uint32_t number);

/* Open the planned group in the kernel and in the reference. */
void open_pair(struct pair *pair, uint32_t uid, uint64_t *random);

void close_pair(struct pair *pair);

/* Returns the last complete epoch of the reference. */
uint32_t done(const struct pair *pair);

/* Wait until the kernel has published the epoch that the reference has completed, and check that
 * buffers and slots are equal. */
void expect_done(struct pair *pair);

#endif
