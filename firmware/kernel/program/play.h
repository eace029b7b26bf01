/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Playing: bursts of messages, as the engine gives them, and what becomes of the packet.
 */
#ifndef MCP_PROGRAM_PLAY_H
#define MCP_PROGRAM_PLAY_H

#include "firmware/kernel/program/buffers.h"
#include "firmware/kernel/program/send.h"
#include "firmware/kernel/program/wake.h"

/* How many bursts a packet can cause. It may complete two epochs: messages of the second may have
 * come before the last one of the first, and they stand for the first, too. */
enum { BURSTS = 2 * (MCP_KERNEL_STEPS + 2 * MCP_KERNEL_MESSAGES) / BURST_TURNS + 4 };

/*
 * Loops. Kernels before bpf_loop() can walk a map, which is an array of as many places as a loop
 * has turns at the most. The verifier drops the way that this kernel does not go. A loop calls
 *
 *     static __always_inline long TURN(uint32_t turn, void *context)
 *
 * and ends early if that returns 1. The context begins with a struct play, and WALKED(TURN) stands
 * behind the function. Loops may lie in each other.
 */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MCP_KERNEL_PEERS);
    __type(key, uint32_t);
    __type(value, uint32_t);
} turns SEC(".maps");

#define WALKED(turn)                                                                               \
    static long turn##_walked(void *map, const uint32_t *place, void *value, struct play *context) \
    {                                                                                              \
        (void)map;                                                                                 \
        (void)value;                                                                               \
        return *place >= context->turns ? 1 : turn(*place, context);                               \
    }
#define LOOP(count, turn, play, context)                                                           \
    do {                                                                                           \
        const uint32_t count_ = (count);                                                           \
        if (loops) {                                                                               \
            bpf_loop(count_, turn, context, 0);                                                    \
        } else {                                                                                   \
            const uint32_t outer_ = (play)->turns;                                                 \
            (play)->turns = count_;                                                                \
            bpf_for_each_map_elem(&turns, turn##_walked, context, 0);                              \
            (play)->turns = outer_;                                                                \
        }                                                                                          \
    } while (0)

/* What a call of the program is at. */
struct play {
    struct __sk_buff *packet;
    struct mcp_kernel_group *group;
    uint64_t key;               /* by which that was found: hold.h */
    struct mcp_burst burst;     /* to be sent; `first` is the next of them */
    uint32_t completed;         /* epochs, before this burst */
    struct mcp_message message; /* that is being sent: stacks are short */
    uint32_t turns;             /* of the loop that walks */
};

/* Turn the packet into the message. (A broadcast's block is this processor's payload already.)
 * False: the receiver's hardware address is not known, or the group has been closed. */
APART bool become(struct play *play)
{
    struct mcp_message *message = &play->message;
    const struct mcp_kernel_group *group = play->group;
    const struct mcp_kernel_neighbour *peer = bpf_map_lookup_elem(&neighbours, &message->to);
    const uint32_t bytes = message->bytes;
    if (!peer || !peer->known ||
        (0 != bytes && MCP_ARRIVE == message->header.type &&
         !mcp_fetch(own_payload(), buffer_at(group->buffer),
                    epoch_word(message->header.collective.epoch), bytes / 8))) {
        COUNT(send_errors);
        return false;
    }
    return say(play->packet, peer->mac, IN_PACKET(&peer->ip), &message->header,
               &group->group.secret, bytes) &&
           is_still(group, play->key);
}

/* It is the message: send a clone of it. */
static __always_inline void clone(struct __sk_buff *packet)
{
    if (bpf_clone_redirect(packet, place.interface, 0) < 0) {
        COUNT(send_errors);
    }
}

static __always_inline void send_clone(struct play *play)
{
    if (become(play)) {
        clone(play->packet);
    }
}

static __always_inline void next_message(struct play *play)
{
    mcp_group_message(&play->group->group, play->burst.first, play->burst.epoch, &play->message);
    ++play->burst.first;
}

/* Send the next message. */
static __always_inline long send_on(uint32_t turn, void *context)
{
    struct play *play = context;
    (void)turn;
    next_message(play);
    send_clone(play);
    return 0;
}
WALKED(send_on)

/* Send the burst, and go on. Returns 1 when nothing is left to do. */
static __always_inline long play_on(uint32_t turn, void *context)
{
    struct play *play = context;
    (void)turn;
    LOOP(play->burst.end - play->burst.first, send_on, play, play);
    play->completed += play->burst.done;
    if (!hold(play->group, play->key)) {
        play->burst = (struct mcp_burst){0};
        return 1;
    }
    mcp_group_burst(&play->group->group, &play->burst);
    let_go(play->group);
    return 0 == play->burst.more;
}
WALKED(play_on)

/* Ask for the message that the present step waits for at place `wait`, if it is missing. */
static __always_inline long ask_on(uint32_t wait, void *context)
{
    struct play *play = context;
    if (!hold(play->group, play->key)) {
        return 1;
    }
    const bool misses = mcp_group_misses(&play->group->group, wait, &play->message);
    let_go(play->group);
    if (misses) {
        COUNT(asked);
        send_clone(play);
    }
    return 0;
}
WALKED(ask_on)

static __always_inline struct mcp_kernel_line *line_at(uint32_t place)
{
    const uint32_t page = place / MCP_KERNEL_LINES, line = place % MCP_KERNEL_LINES;
    void *lines = bpf_map_lookup_elem(&pages, &page);
    return lines ? bpf_map_lookup_elem(lines, &line) : NULL;
}

/*
 * Tell the hosts which epoch is done. Another processor may complete the next epoch at the same
 * time. So the line is written under the group's lock: it gets epochs in the order of their
 * completion, and the last one stays. Nobody writes it who still knows a closed group, as the owner
 * takes that group's key away under the lock before it gives the line to another one.
 */
static __always_inline void release(struct mcp_kernel_group *group, uint64_t key)
{
    struct mcp_kernel_line *line = line_at(group->line);
    if (line && hold(group, key)) {
        myr_store_release(&line->done, myr_load_relaxed(&group->group.done));
        let_go(group);
    }
}

/* What becomes of the packet, which has become the last message if there `is_last`; `wakes`:
 * whoever sleeps is to be woken. */
static __always_inline int finish(const struct play *play, bool is_last, bool wakes, bool incoming)
{
    struct __sk_buff *packet = play->packet;
    if (wakes && 0 != play->group->wake_to) {
        if (is_last) {
            clone(packet);
        }
        return wake(packet, play->group, play->key, incoming);
    }
    if (!is_last) {
        return DROP;
    }
    if (incoming) {
        return (int)bpf_redirect(place.interface, 0);
    }
    packet->mark = 0;
    return PASS;
}

/*
 * Go on with a group, starting with play->burst. `incoming`: the packet came from the wire, so it
 * must be turned round to leave. Otherwise it is a doorbell on its way out.
 */
static __always_inline int play(struct play *play, bool incoming)
{
    if (0 != play->burst.more) {
        LOOP(BURSTS, play_on, play, play);
    }
    const uint32_t completed = play->completed + play->burst.done;
    const uint32_t count = play->burst.end - play->burst.first;
    if (count > 1) {
        LOOP(count - 1, send_on, play, play);
    }
    next_message(play);
    if (completed > 0) {
        release(play->group, play->key);
        COUNT_MORE(barriers, completed);
    }
    const bool is_last = count > 0 && become(play);
    return finish(play, is_last, completed > 0, incoming);
}

/* Somebody says that he lives; this is what has become of it. */
static __always_inline int count_heard(enum mcp_recorded recorded)
{
    if (MCP_RECORDED == recorded) {
        COUNT(heard);
    } else if (MCP_KNOWN == recorded) {
        COUNT(duplicates);
    } else {
        COUNT(dropped_implausible);
    }
    return DROP;
}

#endif
