/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Executes the schedule of a group in the kernel: sends the messages of the engine in bursts, and
 * returns the verdict on the packet. */
#ifndef MCP_PROGRAM_RUN_H
#define MCP_PROGRAM_RUN_H

#include "firmware/kernel/program/buffers.h"
#include "firmware/kernel/program/send.h"
#include "firmware/kernel/program/wake.h"

/* The maximum number of times that the engine is run for one packet, each time for a limited number
 * of steps (a burst). A packet can complete two epochs, because the last missing message of the
 * first epoch may arrive after all messages of the second one. */
enum { BURSTS = 2 * (MCP_KERNEL_STEPS + 2 * MCP_KERNEL_MESSAGES) / BURST_ITERATIONS + 4 };

/* A loop that the verifier accepts on all kernels. On kernels without bpf_loop(), the body is
 * called for each element of an array map, whose size is the maximum number of iterations. The
 * verifier removes the unused variant. The body of a loop is a function of this form,
 *
 *     static __always_inline long BODY(uint32_t iteration, void *context)
 *
 * which leaves the loop by returning 1. Its context must begin with a struct run, and WALKED(BODY)
 * must follow the function. Loops may be nested. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_PEERS);
    __type(key, uint32_t);
    __type(value, uint32_t);
} iterations SEC(".maps");

#define WALKED(iteration)                                                                          \
    static long iteration##_walked(void *map, const uint32_t *index, void *value,                  \
                                   struct run *context)                                            \
    {                                                                                              \
        (void)map;                                                                                 \
        (void)value;                                                                               \
        return *index >= context->iterations ? 1 : iteration(*index, context);                     \
    }
#define LOOP(count, iteration, run, context)                                                       \
    do {                                                                                           \
        const uint32_t count_ = (count);                                                           \
        if (loops) {                                                                               \
            bpf_loop(count_, iteration, context, 0);                                               \
        } else {                                                                                   \
            const uint32_t outer_ = (run)->iterations;                                             \
            (run)->iterations = count_;                                                            \
            bpf_for_each_map_elem(&iterations, iteration##_walked, context, 0);                    \
            (run)->iterations = outer_;                                                            \
        }                                                                                          \
    } while (0)

/* The state of one run of the program. */
struct run {
    struct __sk_buff *packet;
    struct mcp_kernel_group *group;
    uint64_t key;               /* the key by which `group` was found: see hold.h */
    struct mcp_burst burst;     /* to be sent, from `first` on */
    uint32_t completed;         /* epochs completed before this burst */
    struct mcp_message message; /* the message being sent; in here, because stacks are small */
    uint32_t iterations;        /* maximum number of iterations of the running loop (WALKED) */
};

/* Rewrites the packet into the message. (The block of a broadcast is already in this CPU's payload
 * buffer.) Returns false if the hardware address of the receiver is unknown, or the group has been
 * closed. */
APART bool become_message(struct run *run)
{
    struct mcp_message *message = &run->message;
    const struct mcp_kernel_group *group = run->group;
    const struct mcp_kernel_neighbour *peer = bpf_map_lookup_elem(&neighbours, &message->to);
    const uint32_t bytes = message->bytes;
    if (!peer || !peer->known ||
        (0 != bytes && MCP_ARRIVE == message->header.type &&
         !mcp_fetch(own_payload(), buffer_at(group->buffer),
                    epoch_word(message->header.collective.epoch), bytes / 8))) {
        COUNT(send_errors);
        return false;
    }
    return replace_packet(run->packet, peer->mac, IN_PACKET(&peer->ip), &message->header,
                          &group->group.secret, bytes) &&
           is_still_group(group, run->key);
}

/* Sends a clone of the packet, which has become the message. */
static __always_inline void redirect_clone(struct __sk_buff *packet)
{
    if (bpf_clone_redirect(packet, nic.interface, 0) < 0) {
        COUNT(send_errors);
    }
}

static __always_inline void send_clone(struct run *run)
{
    if (become_message(run)) {
        redirect_clone(run->packet);
    }
}

static __always_inline void fill_in_next(struct run *run)
{
    mcp_group_message(&run->group->group, run->burst.first, run->burst.epoch, &run->message);
    ++run->burst.first;
}

/* Sends the next message. */
static __always_inline long send_next(uint32_t iteration, void *context)
{
    struct run *run = context;
    (void)iteration;
    fill_in_next(run);
    send_clone(run);
    return 0;
}
WALKED(send_next)

/* Sends the burst and computes the next one. Returns 1 when nothing is left to do. */
static __always_inline long send_burst(uint32_t iteration, void *context)
{
    struct run *run = context;
    (void)iteration;
    LOOP(run->burst.end - run->burst.first, send_next, run, run);
    run->completed += run->burst.done;
    if (!lock_group(run->group, run->key)) {
        run->burst = (struct mcp_burst){0};
        return 1;
    }
    mcp_group_burst(&run->group->group, &run->burst);
    unlock_group(run->group);
    return 0 == run->burst.more;
}
WALKED(send_burst)

/* Requests the message that the current step waits for at index `wait`, if it is missing. */
static __always_inline long ask_missing(uint32_t wait, void *context)
{
    struct run *run = context;
    if (!lock_group(run->group, run->key)) {
        return 1;
    }
    const bool misses = mcp_group_misses(&run->group->group, wait, &run->message);
    unlock_group(run->group);
    if (misses) {
        COUNT(asked);
        send_clone(run);
    }
    return 0;
}
WALKED(ask_missing)

static __always_inline struct mcp_kernel_line *line_at(uint32_t index)
{
    const uint32_t page = index / MCP_KERNEL_LINES, line = index % MCP_KERNEL_LINES;
    void *lines = bpf_map_lookup_elem(&pages, &page);
    return lines ? bpf_map_lookup_elem(lines, &line) : NULL;
}

/* Publishes the last complete epoch to the hosts. The group may have been closed after the lookup,
 * and its release reassigned. Therefore the group is locked and its key checked: the owner removes
 * the key, under the lock, before it reassigns the release. The lock also ensures that the epoch in
 * the release never decreases when another CPU completes the next epoch at the same time. */
static __always_inline void publish_release(struct mcp_kernel_group *group, uint64_t key)
{
    struct mcp_kernel_line *line = line_at(group->line);
    if (line && lock_group(group, key)) {
        myr_store_release(&line->done, myr_load_relaxed(&group->group.done));
        unlock_group(group);
    }
}

/* Determines the verdict on the packet, which has become the last message if `is_last` is set. If
 * `wakes` is set, this also wakes a sleeping host. */
static __always_inline int finish_packet(const struct run *run, bool is_last, bool wakes,
                                         bool incoming)
{
    struct __sk_buff *packet = run->packet;
    if (wakes && 0 != run->group->wake_to) {
        if (is_last) {
            redirect_clone(packet);
        }
        return wake_sleeper(packet, run->group, run->key, incoming);
    }
    if (!is_last) {
        return DROP;
    }
    if (incoming) {
        return (int)bpf_redirect(nic.interface, 0);
    }
    packet->mark = 0;
    return PASS;
}

/* Executes the schedule of a group from run->burst on, and returns the verdict on the packet, which
 * may be rewritten into one of the messages. If `incoming` is set, the packet was received, and
 * must be redirected to leave the host. Otherwise it is a doorbell, which leaves the host anyway.
 */
static __always_inline int run_group(struct run *run, bool incoming)
{
    if (0 != run->burst.more) {
        LOOP(BURSTS, send_burst, run, run);
    }
    const uint32_t completed = run->completed + run->burst.done;
    const uint32_t count = run->burst.end - run->burst.first;
    if (count > 1) {
        LOOP(count - 1, send_next, run, run);
    }
    fill_in_next(run);
    if (completed > 0) {
        publish_release(run->group, run->key);
        COUNT_MORE(barriers, completed);
    }
    const bool is_last = count > 0 && become_message(run);
    return finish_packet(run, is_last, completed > 0, incoming);
}

/* Counts the packet by its effect, and drops it. */
static __always_inline int count_packet(const struct mcp_kernel_group *group,
                                        enum mcp_action action, enum mcp_recorded recorded)
{
    const uint32_t zero = 0;
    struct mcp_counters *all = bpf_map_lookup_elem(&counters, &zero);
    if (all) {
        mcp_count(all, &group->group, action, recorded);
    }
    return DROP;
}

#endif
