/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The maps of the program, the constants that its owner sets before loading, its return codes, and
 * its counters. */
#ifndef MCP_PROGRAM_MAPS_H
#define MCP_PROGRAM_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "firmware/kernel/kernel.h"

/* Return codes, which have the same meaning for tcx and clsact. NEXT runs the next program, if any;
 * PASS passes the packet without running further programs; DROP drops the packet. */
enum { NEXT = -1, PASS = 0, DROP = 2 };

const volatile struct mcp_kernel_nic_address nic;

/* Whether the NIC's network is IPv6. The verifier removes the other branch. */
const volatile bool six;

/* Whether programs may use timers, which real-time kernels forbid. */
const volatile bool timed;

/* Whether the kernel has bpf_loop() (Linux 5.17). */
const volatile bool loops;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_group);
} groups SEC(".maps");

/* The last epochs of closed groups. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MCP_KERNEL_LATE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint64_t);
    __type(value, struct mcp_kernel_late);
} late SEC(".maps");

/* Pages of releases, one cache line per group. Processes may map the pages of their user. */
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

/* Buffers of groups that carry data or broadcast. Processes may map the buffers of their user. */
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

/* The number of open groups with a buffer, written by the owner. If it is 0, a packet with payload
 * cannot belong to a group. */
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

/* The timer that scans for stuck groups. `armed` is 1 while it is pending. */
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

/* The duration of the last scan for stuck groups (nanoseconds). */
uint64_t scan_took;

/* For each socket from which a host has sent MCP_RING_SLEEP, the key of the group. The kernel
 * deletes an entry together with its socket. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, uint64_t);
} sleepers SEC(".maps");

/* Notifications to the owner: struct mcp_kernel_stuck. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MCP_KERNEL_NOTIFICATIONS);
} stuck SEC(".maps");

/* State that the owner keeps for its successor (kernel.h). */
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

/* Code whose variables are not needed at the same time is in separate functions, because all active
 * functions together have only 512 bytes of stack. (Older kernels round each frame up to a multiple
 * of 32 bytes.) */
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
