/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The program's maps, what its owner sets before it is loaded, what it returns, and how it counts.
 */
#ifndef MCP_PROGRAM_MAPS_H
#define MCP_PROGRAM_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "firmware/kernel/kernel.h"

/* A program returns one of these. At tcx and at clsact they mean the same: whoever comes next
 * (which may be nobody) looks at the packet; the packet goes on, and nobody else here looks at it;
 * it does not go on. */
enum { NEXT = -1, PASS = 0, DROP = 2 };

const volatile struct mcp_kernel_place place;

/* Is its network one of IPv6? The verifier drops the way that this NIC does not go. */
const volatile bool six;

/* May programs have timers here? (A kernel for real time does not let them.) */
const volatile bool timed;

/* Has the kernel bpf_loop() (Linux 5.17)? */
const volatile bool loops;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_group);
} groups SEC(".maps");

/* Closed groups, and how they ended. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_LATE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_late);
} late SEC(".maps");

/* Pages with a line for each group. Hosts may map those of their user. */
struct page_of_lines {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_LINES);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct mcp_kernel_line));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MCP_KERNEL_PAGES);
    __type(key, uint32_t);
    __array(values, struct page_of_lines);
} pages SEC(".maps");

/* Buffers of groups that carry data or broadcast. Hosts may map those of their user. */
struct page_of_buffer {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct mcp_kernel_buffer));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MCP_KERNEL_BUFFERS);
    __type(key, uint32_t);
    __array(values, struct page_of_buffer);
} buffers SEC(".maps");

/* How many open groups have a buffer. The owner writes it. While there are none, only packets
 * without payload can be ours. */
volatile uint32_t carrying SEC(".data.owner");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_NEIGHBOURS);
    __type(key, uint32_t);
    __type(value, struct mcp_kernel_neighbour);
} neighbours SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mcp_counters);
} counters SEC(".maps");

/* The timer that looks for stuck groups. `armed` is 1 while it is going to run. */
struct watch {
    struct bpf_timer timer;
    uint32_t armed;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct watch);
} watches SEC(".maps");

/* How long the last look for stuck groups took (nanoseconds). */
uint64_t look_took;

/* For each socket that a host has rung MCP_RING_SLEEP by: the key of the group. It goes with the
 * socket. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, uint64_t);
} sleepers SEC(".maps");

/* To the owner: struct mcp_kernel_stuck. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MCP_KERNEL_NOTIFICATIONS);
} stuck SEC(".maps");

/* What the owner keeps for the one after it (kernel.h). */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mcp_kernel_kept);
} kept SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_HOLDERS);
    __type(key, uint32_t);
    __type(value, struct mcp_kernel_holder);
} holders SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS);
    __type(key, uint32_t);
    __type(value, struct mcp_kernel_page_owner);
} owners SEC(".maps");

/* All functions that are under way have 512 bytes of stack together, and older kernels count each
 * one's in steps of 32. So what is not needed at the same time is in functions of its own. */
#define APART static __attribute__((noinline))

#define COUNT(name) COUNT_MORE(name, 1)
#define COUNT_MORE(name, more)                                                                     \
    do {                                                                                           \
        const uint32_t zero_ = 0;                                                                  \
        struct mcp_counters *counters_ = bpf_map_lookup_elem(&counters, &zero_);                   \
        if (counters_) {                                                                           \
            counters_->name += (more);                                                             \
        }                                                                                          \
    } while (0)

#endif
