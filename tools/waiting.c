/* SPDX-License-Identifier: BSD-3-Clause */
/* See waiting.h. */
#include "tools/waiting.h"

#include <stdio.h>
#include <stdlib.h>

#include "firmware/soft/addresses.h"
#include "tools/alloc.h"
#include "tools/text.h"

enum { LONG_MS = 1000 };

static bool waits(const struct myr_group_view *group)
{
    return 0 != group->nodes || 0 != group->absent;
}

/* Returns how many milliseconds the group has waited, or 0 if this is unknown. The group may have
 * begun to wait after `now_ns` was read. */
static uint64_t waited_ms(const struct myr_group_view *group, uint64_t now_ns)
{
    const bool known = 0 != group->since_ns && group->since_ns < now_ns;
    return known ? (now_ns - group->since_ns) / 1000000 : 0;
}

/* Returns the number of milliseconds since the last packet of the node was received. The recorded
 * time wraps around, and may be later than `now_ns`. */
static uint32_t heard_ms_ago(const struct myr_node_view *node, uint64_t now_ns)
{
    const uint32_t ago = (uint32_t)(now_ns / 1000000) - node->heard_ms;
    return ago > UINT32_MAX / 2 ? 0 : ago;
}

double waiting_longest(const struct myr_soft_view *nic, uint64_t now_ns)
{
    uint64_t longest = 0;
    for (uint32_t g = 0; g < nic->groups; ++g) {
        const uint64_t ms = waits(&nic->group[g]) ? waited_ms(&nic->group[g], now_ns) : 0;
        longest = ms > longest ? ms : longest;
    }
    return (double)longest / 1000;
}

/* ---- text ---- */

static void print_node(FILE *out, const struct myr_node_view *node)
{
    char text[MCP_IP_TEXT];
    fprintf(out, "node %u (%s", (unsigned)node->node,
            mcp_ip_is_none(&node->ip) ? "unknown address" : mcp_ip_text(&node->ip, text));
}

static void print_nodes(FILE *out, const struct myr_group_view *group, uint64_t now_ns)
{
    uint32_t n = 0;
    for (; n < group->named; ++n) {
        fprintf(out, "%s", 0 == n ? ": " : ", ");
        print_node(out, &group->missing[n]);
        if (0 == group->missing[n].heard_ms) {
            fprintf(out, ", no response yet)");
        } else {
            fprintf(out, ", last response ");
            text_time(out, heard_ms_ago(&group->missing[n], now_ns));
            fprintf(out, " ago)");
        }
    }
    if (n < group->nodes) {
        fprintf(out, ", and %u more", (unsigned)(group->nodes - n));
    }
}

static void print_absent(FILE *out, const struct myr_group_view *group,
                         const struct segment *processes)
{
    fprintf(out, " for %u of the %u processes of this node: ", (unsigned)group->absent,
            (unsigned)group->locals);
    uint32_t p = 0;
    for (; p < group->absent && p < MYR_VIEW_LOCALS; ++p) {
        const uint32_t pid = group->absent_pid[p];
        const struct process *process = NULL == processes ? NULL : segments_process(processes, pid);
        fprintf(out, "%s", 0 == p ? "" : ", ");
        if (0 == pid) {
            fprintf(out, "a process that has not joined, or has left");
        } else {
            fprintf(out, "pid %u", NULL == process ? (unsigned)pid : (unsigned)process->pid);
            if (NULL != process && '\0' != process->rank[0]) {
                fprintf(out, " (rank %s)", process->rank);
            }
        }
    }
    if (p < group->absent) {
        fprintf(out, ", and %u more", (unsigned)(group->absent - p));
    }
}

static void print_failed(const struct myr_group_view *group)
{
    struct text_field field;
    FILE *out = text_field_begin(&field);
    fprintf(out, "group of node %u failed in epoch %u: ", (unsigned)group->node,
            (unsigned)(group->done + 1));
    if (group->node == group->lost.node) {
        fprintf(out, "a process of this node has died");
    } else {
        print_node(out, &group->lost);
        fprintf(out, ") is missing");
    }
    text_field_end(&field, "failed");
}

static void print_one(const struct myr_group_view *group, const struct segment *processes,
                      uint64_t now_ns)
{
    struct text_field field;
    FILE *out = text_field_begin(&field);
    fprintf(out, "group of node %u waits in epoch %u", (unsigned)group->node,
            (unsigned)(group->done + 1));
    if (0 != group->nodes) {
        const uint64_t ms = waited_ms(group, now_ns);
        if (0 != ms) {
            fprintf(out, " for ");
            text_time(out, ms);
        }
        print_nodes(out, group, now_ns);
    } else {
        print_absent(out, group, processes);
    }
    text_field_end(&field, "waiting");
}

/* Compares groups by the time of waiting; groups with an unknown time are last. */
static int compare(const void *a, const void *b)
{
    const struct myr_group_view *const *one = a, *const *other = b;
    const uint64_t mine = (*one)->since_ns - 1, theirs = (*other)->since_ns - 1;
    return mine < theirs ? -1 : mine > theirs;
}

/* Returns whether the same group waited for the same processes of this node in the earlier
 * snapshot. */
static bool waited_before(const struct myr_soft_view *earlier, const struct myr_group_view *group)
{
    for (uint32_t g = 0; NULL != earlier && g < earlier->groups; ++g) {
        const struct myr_group_view *then = &earlier->group[g];
        if (then->offset == group->offset && then->done == group->done && 0 != then->absent) {
            return true;
        }
    }
    return false;
}

void waiting_print(const struct myr_soft_view *nic, const struct myr_soft_view *earlier,
                   const struct segment *processes, bool all, uint64_t now_ns)
{
    const struct myr_group_view **waiting = tool_alloc(nic->groups, sizeof(const void *));
    size_t count = 0;
    for (uint32_t g = 0; g < nic->groups; ++g) {
        const struct myr_group_view *group = &nic->group[g];
        if (group->failed) {
            print_failed(group);
        } else if (waits(group) && (all || waited_ms(group, now_ns) > LONG_MS ||
                                    (0 != group->absent && waited_before(earlier, group)))) {
            waiting[count++] = group;
        }
    }
    qsort(waiting, count, sizeof(const void *), compare);
    for (size_t w = 0; w < count; ++w) {
        print_one(waiting[w], processes, now_ns);
    }
    free(waiting);
}

bool waiting_here(const struct myr_soft_view *nic)
{
    uint32_t g = 0;
    while (g < nic->groups && 0 == nic->group[g].absent) {
        ++g;
    }
    return g < nic->groups;
}

/* ---- JSON ---- */

static json_t *json_of_node(const struct myr_node_view *node)
{
    char text[MCP_IP_TEXT];
    return json_pack("{s:I, s:o}", "node", (json_int_t)node->node, "address",
                     mcp_ip_is_none(&node->ip) ? json_null()
                                               : json_string(mcp_ip_text(&node->ip, text)));
}

json_t *waiting_json(const struct myr_group_view *group, uint64_t now_ns)
{
    if (!waits(group)) {
        return json_null();
    }
    json_t *nodes = json_array(), *pids = json_array();
    for (uint32_t n = 0; n < group->named; ++n) {
        const struct myr_node_view *missing = &group->missing[n];
        json_t *node = json_of_node(missing);
        json_object_set_new(node, "heard_s",
                            0 == missing->heard_ms
                                ? json_null()
                                : json_real(heard_ms_ago(missing, now_ns) / 1000.0));
        json_array_append_new(nodes, node);
    }
    for (uint32_t p = 0; p < group->absent && p < MYR_VIEW_LOCALS; ++p) {
        json_array_append_new(pids, json_integer((json_int_t)group->absent_pid[p]));
    }
    const uint64_t ms = waited_ms(group, now_ns);
    return json_pack(
        "{s:I, s:o, s:I, s:o, s:I, s:I, s:o}", "epoch", (json_int_t)(uint32_t)(group->done + 1),
        "since_s", 0 == ms ? json_null() : json_real((double)ms / 1000), "nodes_missing",
        (json_int_t)group->nodes, "nodes", nodes, "processes", (json_int_t)group->locals,
        "processes_missing", (json_int_t)group->absent, "pids", pids);
}

json_t *waiting_json_lost(const struct myr_group_view *group)
{
    return group->failed ? json_of_node(&group->lost) : json_null();
}
