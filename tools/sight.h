/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `nicbarr status` sees of this node's NICs: the memory that nicbarr's processes share
 * (libmyr/soft/nic_look.h), in which it takes no part, and what the daemon of the kernel's NIC
 * reports (libmyr/kernel/kernel_nic.h). What is read may be a mixture of two moments. That does no
 * harm.
 */
#ifndef TOOLS_SIGHT_H
#define TOOLS_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/soft/nic_look.h"
#include "tools/segments.h"

/* The NICs' counters, by number: what each is called, and of what it is the count. */
enum { SIGHT_COUNTERS = sizeof(struct mcp_counters) / sizeof(uint64_t) };
extern const struct sight_counter {
    const char *name, *text;
} sight_counters[SIGHT_COUNTERS];
void sight_counts(const struct mcp_counters *counted, uint64_t counts[SIGHT_COUNTERS]);

/* One segment, as far as it could be looked at. */
struct sight {
    struct myr_segment_view segment;
    struct myr_soft_view nic;
    enum myr_status segment_status, nic_status;
    struct myr_error error; /* of whichever could not be looked at */
};

void sight_look(const struct segment *segment, struct sight *sight);

/* A segment, and what it was like a second ago, if that matters. */
struct sights {
    struct sight now, earlier;
};

/*
 * Look at all segments. They are to be freed, with their NICs. Nobody writes down since when a
 * group has waited for processes of its own node. So where a group does, a second look, a second
 * later, shows whether it still does. Where `all` groups are shown, that is not needed.
 */
struct sights *sight_look_twice(const struct segments *segments, bool all);

/* The kernel's NIC in the words of the others'. MYR_ERR_NOT_THERE: there is none. */
struct kernel_sight {
    struct myr_kernel_report report;
    struct myr_soft_view nic;
    struct myr_group_view group[MCP_KERNEL_GROUPS];
    enum myr_status status;
    struct myr_error error;
};

void sight_look_at_kernel(struct kernel_sight *sight);

uint32_t sight_groups_in_a_barrier(const struct myr_soft_view *nic);

/* What runs the NIC, in a word. */
const char *sight_runner(const struct myr_soft_view *nic);

/* Of this build: whoever was built with another one, nobody sees from here. */
const char *sight_secrets(void);

#endif
