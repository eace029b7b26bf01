/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group, played twice: by the program in the kernel, and by the same engine here.
 */
#ifndef TESTS_UNIT_KERNEL_PAIR_H
#define TESTS_UNIT_KERNEL_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/bcast.h"
#include "firmware/engine.h"
#include "firmware/kernel/owner.h"

enum {
    ROOM = (1 << 14) + sizeof(struct mcp_kernel_buffer),     /* bytes for a group */
    PAGE = MCP_KERNEL_LINES * sizeof(struct mcp_kernel_line) /* bytes of a page */
};

struct pair {
    uint64_t key;
    struct mcp_kernel_plan plan;      /* in the kernel, */
    struct mcp_kernel_line *page;     /* mapped */
    struct mcp_kernel_line *line;     /* ... and the group's of it */
    struct mcp_kernel_buffer *buffer; /* mapped; NULL: it has none */
    int page_map, buffer_map;
    int bell;
    bool sleeps;             /* somebody on the bell */
    uint32_t last;           /* the broadcast of the greatest number that has come */
    struct mcp_group *group; /* ... and here */
    _Alignas(MYR_LINE) uint8_t room[ROOM];
};

/* What its plan gives it. */
uint32_t buffer_bytes(const struct pair *pair);
bool broadcasts(const struct pair *pair);
bool has_buffer(const struct pair *pair);

/* The slot of a broadcast in a window. */
struct mcp_bcast_slot *slot_in(const struct pair *pair, const void *window, uint32_t number);

struct mcp_bcast_slot *slot_here(const struct pair *pair, uint32_t number);

/* Open, in both places, a group whose tables are in the plan. */
void open_pair(struct pair *pair, uint32_t uid, uint64_t *random);

void close_pair(struct pair *pair);

/* The last epoch that is done, says the engine here. */
uint32_t done(const struct pair *pair);

/* What hosts see is what the engine here says. */
void expect_done(struct pair *pair);

#endif
