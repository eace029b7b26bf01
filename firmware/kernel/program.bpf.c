/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The kernel as NIC: the program that runs in the kernel; see kernel.h.
 *
 * It is the collective engine (engine.c, the soft NIC's) between two hooks of the network interface
 * and a few maps. All processors may run the program at once, so a spin lock protects each group's
 * state. Only the engine runs under the lock, since a packet cannot be sent there. A group that was
 * found may be closed, and its memory another group's, at any time (hold.h).
 *
 * Invariants: foreign packets pass untouched, nearly all of them after one look at their length. So
 * do packets that only look like ours: the system would not take them for datagrams either. A
 * message leaves in the packet that caused it: the last one in the packet itself, all others in
 * clones of it. Messages go to the NICs' port of hosts that the owner has met, and nowhere else. A
 * packet from the NIC's port that the program did not send is dropped. A doorbell counts only if it
 * comes from the user who owns the group. Only the socket that rang is woken. Apart from that, only
 * packets with a group's key are dropped.
 *
 *   program/maps.h     its maps            program/packets.h   what packets look like
 *   program/checks.h   checks              program/send.h      making packets
 *   program/buffers.h  data of groups      program/play.h      bursts of messages
 *   program/wake.h     hosts that sleep    program/bcast.h     broadcasts
 *   program/stuck.h    groups that wait for long
 *   program/hold.h     groups that may have been closed meanwhile
 *
 * This file has the programs at the hooks, and those that the owner runs.
 */
#define MCP_KERNEL_INSIDE /* groups are as the program has them */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "firmware/bcast.c"
#include "firmware/engine.c"
#include "firmware/kernel/program/bcast.h"
#include "firmware/kernel/program/play.h"
#include "firmware/kernel/program/stuck.h"

/* ---- lines ---- */

/* The owner runs this before it gives a line to another group: its mark says which. No process may
 * write a page, not even the owner. */
SEC("tc")
int mcp_clear(struct __sk_buff *order)
{
    struct mcp_kernel_line *line = line_at(order->mark);
    if (!line) {
        return 1;
    }
    myr_store_release(&line->done, 0);
    myr_store_release(&line->failed, 0);
    return 0;
}

/* The owner runs this when the NIC is to be removed: its mark says on which line a group's hosts
 * see that. (A doorbell would not come by where the interface has gone.) */
SEC("tc")
int mcp_give_up(struct __sk_buff *order)
{
    struct mcp_kernel_line *line = line_at(order->mark);
    if (!line) {
        return 1;
    }
    myr_store_release(&line->failed, MCP_KERNEL_REMOVED);
    return 0;
}

/* The same before it gives a buffer to a group that broadcasts. */
SEC("tc")
int mcp_clear_buffer(struct __sk_buff *order)
{
    struct mcp_kernel_buffer *buffer = buffer_at(order->mark);
    if (!buffer) {
        return 1;
    }
    for (uint32_t w = 0; w < BUFFER_WORDS; ++w) {
        *(volatile uint64_t *)word_at(buffer, w) = 0;
    }
    return 0;
}

/* ---- what comes in ---- */

/* Is the packet what somebody has sealed with this secret? Its payload is this processor's then.
 * `sum` is that of its frame (sum_of()). */
static __always_inline bool genuine(struct __sk_buff *packet, uint64_t sum,
                                    const struct mcp_header *header,
                                    const struct mcp_secret *secret)
{
    return (0 == header->payload_bytes || load_payload(packet, header->payload_bytes)) &&
           (!six || 0 == udp_check(sum, header->payload_bytes)) &&
           header->check == check_of(header, secret);
}

/* Handle a packet for a group that is not open. A peer that asks for the last message of a closed
 * group hears that all have entered its epoch. If the group has failed, it hears that, and who was
 * missing (as in collective.c). */
APART int receive_stranger(struct __sk_buff *packet, const struct ethhdr *frame, uint64_t sum,
                           struct mcp_header *header)
{
    const uint64_t key = header->key;
    const struct mcp_kernel_late *last = bpf_map_lookup_elem(&late, &key);
    if (!last) {
        COUNT(dropped_foreign);
        return NEXT;
    }
    if (!genuine(packet, sum, header, &last->secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    const bool asks = MCP_ASK == header->type;
    const bool done = asks && myr_epoch_reached(last->epoch, header->collective.epoch);
    if ((!asks && MCP_BCAST_ASK != header->type) || (!done && 0 == last->failed)) {
        COUNT(duplicates);
        return DROP;
    }
    header->type = MCP_DONE;
    if (!done) {
        header->type = MCP_FAIL;
        header->collective.node = (uint16_t)(last->failed - 1);
    }
    /* (Its memory may be another group's by now, as in hold.h.) */
    if (!say(packet, frame->h_source, source_of(frame), header, &last->secret, 0) ||
        last != bpf_map_lookup_elem(&late, &key)) {
        return DROP;
    }
    COUNT(answered);
    return (int)bpf_redirect(place.interface, 0);
}

/* Tell a peer that the group has failed. */
static __always_inline long fail_on(uint32_t peer, void *context)
{
    struct play *play = context;
    mcp_group_failure(&play->group->group, peer, &play->message);
    send_clone(play);
    return 0;
}
WALKED(fail_on)

/* The group fails, as this node is missing. Hosts and peers are told once (as in collective.c). */
static __always_inline enum mcp_recorded fail(struct play *playing, uint32_t missing)
{
    struct mcp_kernel_group *group = playing->group;
    struct mcp_kernel_line *line = line_at(group->line);
    if (!hold(group, playing->key)) {
        return MCP_IMPLAUSIBLE;
    }
    const enum mcp_recorded recorded = mcp_group_fail(&group->group, missing);
    if (MCP_RECORDED == recorded && line) {
        myr_store_release(&line->failed, missing + 1);
    }
    let_go(group);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    COUNT(failed);
    LOOP((group->group.nsends + group->group.nwaits) & (2 * MCP_KERNEL_PEERS - 1), fail_on, playing,
         playing);
    return MCP_RECORDED;
}

/* A packet that moves no group forward: it tells of a peer, or is of a broadcast (as in
 * collective.c). */
static __always_inline int take_note(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                     const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    enum mcp_recorded recorded = MCP_IMPLAUSIBLE;
    if (mcp_is_bcast(header->type)) {
        return receive_bcast(packet, group, header);
    }
    if (MCP_FAIL == header->type && 0 != group->leaves) {
        recorded = MCP_KNOWN;
    } else if (MCP_FAIL == header->type) {
        struct play playing = {.packet = packet, .group = group, .key = header->key};
        recorded = fail(&playing, part.node);
        if (MCP_RECORDED == recorded) {
            return wake(packet, group, header->key, true);
        }
    } else {
        const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000);
        if (hold(group, header->key)) {
            recorded = mcp_group_hear(&group->group, part.node, part.slot, part.epoch, now_ms);
            let_go(group);
        }
    }
    return count_heard(recorded);
}

/* A peer's message has come to a group that carries data: keep what it carries, and record it (as
 * in collective.c). */
static __always_inline enum mcp_recorded take_arrival(struct mcp_kernel_group *group,
                                                      const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    const struct payload *payload = own_payload();
    uint32_t bytes = header->payload_bytes, offset;
    if (!buffer || !payload || !hold(group, header->key)) {
        return MCP_IMPLAUSIBLE;
    }
    enum mcp_recorded recorded =
        mcp_group_claim(&group->group, part.slot, part.epoch, &bytes, &offset);
    if (MCP_RECORDED == recorded) {
        keep(buffer, epoch_word(part.epoch) + offset / 8, payload, bytes);
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    let_go(group);
    return recorded;
}

/* An ARRIVE or a DONE has come. */
static __always_inline int move_on(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                   const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct play playing = {.packet = packet, .group = group, .key = header->key};
    const bool carries = 0 != group->group.places && MCP_ARRIVE == header->type;
    enum mcp_recorded recorded = MCP_RECORDED;
    if (carries) {
        recorded = take_arrival(group, header);
    }
    if (!hold(group, header->key)) {
        COUNT(dropped_implausible);
        return DROP;
    }
    if (MCP_DONE == header->type) {
        recorded = mcp_group_release(&group->group, part.epoch);
    } else if (!carries) {
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    if (recorded <= MCP_UNEXPECTED) { /* that, too: it may stand for an epoch before */
        mcp_group_burst(&group->group, &playing.burst);
    }
    let_go(group);
    switch (recorded) {
    case MCP_KNOWN:
        COUNT(duplicates);
        return DROP;
    case MCP_TOO_SOON:
        COUNT(early);
        return DROP;
    case MCP_IMPLAUSIBLE:
        COUNT(dropped_implausible);
        return DROP;
    case MCP_UNEXPECTED:
        COUNT(unexpected);
        break;
    case MCP_RECORDED:
        break;
    }
    return play(&playing, true);
}

/* A peer misses a message. */
static __always_inline int answer(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                  const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    struct play playing = {.packet = packet, .group = group, .key = header->key};
    if (!hold(group, header->key)) {
        return DROP;
    }
    const bool sent =
        mcp_group_answer(&group->group, part->node, part->slot, part->epoch, &playing.message);
    let_go(group);
    if (!sent || !become(&playing)) {
        return DROP;
    }
    if (MCP_LATER == playing.message.header.type) {
        COUNT(later);
    } else {
        COUNT(answered);
    }
    return (int)bpf_redirect(place.interface, 0);
}

/* Can a packet of this type have so much payload? */
static __always_inline bool carries_so(const struct mcp_header *header)
{
    return MCP_BCAST == header->type    ? 0 != header->payload_bytes
           : MCP_ARRIVE == header->type ? true
                                        : 0 == header->payload_bytes;
}

/* A packet for none of our groups goes on. If it was for the NIC, it ends at the socket that keeps
 * the NIC's port. All NICs of a network have the same port, and only root's daemon can have it. */
SEC("tc")
int mcp_receive(struct __sk_buff *packet)
{
    const struct ethhdr *frame = frame_of(packet);
    /* A switch that has not yet learned a host's place shows its packets to all. */
    if (!frame || place.port != body_of(frame)->udp.dest ||
        place.port != body_of(frame)->udp.source || !is_own(destination_of(frame)) ||
        0 != packet->pkt_type || !(six ? 0 != body_of(frame)->udp.check : ip_fits(ip_of(frame)))) {
        return NEXT;
    }
    struct mcp_header header = {0};
    copy_words(&header, body_of(frame)->words);
    COUNT(packets_received);
    if (MCP_MAGIC != header.magic || MCP_WIRE_VERSION != header.version || 0 == header.type ||
        !mcp_is_collective(header.type) || payload_bytes(packet) != header.payload_bytes ||
        !carries_so(&header)) {
        COUNT(dropped_damaged);
        return NEXT;
    }
    const uint64_t key = header.key, sum = six ? sum_of(&ip6_of(frame)->saddr, body_of(frame)) : 0;
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group) {
        return receive_stranger(packet, frame, sum, &header);
    }
    if (!genuine(packet, sum, &header, &group->group.secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    if (MCP_ASK == header.type) {
        return answer(packet, group, &header);
    }
    return header.type > MCP_DONE ? take_note(packet, group, &header)
                                  : move_on(packet, group, &header);
}

/* ---- what goes out ---- */

/* The host begins an epoch of the locked group. Epochs cost processor time of the system's. A host
 * pays for each by a doorbell, as it rings in its own time. */
static __always_inline void begin(struct mcp_kernel_group *group, uint32_t epoch)
{
    const uint32_t paid = group->group.started + 1;
    mcp_group_start(&group->group, myr_epoch_reached(epoch, paid) ? paid : epoch);
}

/* The same where a group carries data, with the node's block. (Here epochs begin one by one.) */
static __always_inline void begin_with(struct mcp_kernel_group *group,
                                       struct mcp_kernel_buffer *buffer, uint32_t epoch,
                                       const struct payload *block, uint32_t bytes)
{
    if (mcp_group_offer(&group->group, epoch, bytes)) {
        keep(buffer, epoch_word(epoch), block, bytes);
        mcp_group_start(&group->group, epoch);
    }
}

static __always_inline int start(struct play *playing, uint32_t epoch, bool leaves)
{
    struct __sk_buff *packet = playing->packet;
    struct mcp_kernel_group *group = playing->group;
    const uint32_t bytes = payload_bytes(packet);
    struct mcp_kernel_buffer *buffer = 0 != group->group.places ? buffer_at(group->buffer) : NULL;
    const struct payload *block =
        buffer && (0 == bytes || load_payload(packet, bytes)) ? own_payload() : NULL;
    if (!hold(group, playing->key)) {
        return DROP;
    }
    const uint32_t before = group->group.started;
    group->leaves |= leaves;
    if (0 == group->group.places) {
        begin(group, epoch);
    } else if (block) {
        begin_with(group, buffer, epoch, block, bytes);
    }
    mcp_group_burst(&group->group, &playing->burst);
    let_go(group);
    watch_over(group);
    if (myr_epoch_reached(before, epoch)) {
        release(group, playing->key); /* a second ring: the host has waited for long */
    }
    return play(playing, false);
}

/* A doorbell shows itself by its destination port, the group's key, and the user of its socket. */
static __always_inline int answer_bell(struct __sk_buff *packet, const struct mcp_doorbell *bell,
                                       const struct ethhdr *frame)
{
    const uint64_t key = bell->key;
    const uint32_t uid = bpf_get_socket_uid(packet);
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group || (uid != group->uid && uid != place.owner)) {
        return NEXT;
    }
    /* (One for all that may come: stacks are short.) */
    struct handing handing = {.play = {.packet = packet, .group = group, .key = key}};
    struct play *playing = &handing.play;
    if (MCP_RING_START == bell->ring || MCP_RING_FAREWELL == bell->ring) {
        return start(playing, bell->epoch, MCP_RING_FAREWELL == bell->ring);
    }
    if (MCP_RING_BCAST == bell->ring || MCP_RING_BCAST_ASK == bell->ring) {
        return ring_bcast(&handing, bell);
    }
    if (MCP_RING_ASK == bell->ring) {
        release(group, key);
        LOOP(MCP_KERNEL_MESSAGES, ask_on, playing, playing);
    } else if (MCP_RING_SLEEP == bell->ring) {
        note_sleeper(packet, group, key, frame);
    } else if (MCP_RING_FAIL == bell->ring && MCP_RECORDED == fail(playing, bell->epoch)) {
        return wake(packet, group, key, false);
    }
    return DROP;
}

SEC("tc")
int mcp_transmit(struct __sk_buff *packet)
{
    if (OURS == packet->mark) {
        packet->mark = 0;
        return NEXT;
    }
    const struct ethhdr *frame = frame_of(packet);
    /* This host only forwards it: it is from none of its processes. */
    if (!frame || !is_own(source_of(frame)) || 0 != packet->ingress_ifindex || !packet->sk) {
        return NEXT;
    }
    const struct udphdr *udp = &body_of(frame)->udp;
    struct mcp_doorbell bell;
    copy_words(&bell, body_of(frame)->words);
    if (MCP_DOORBELL_MAGIC == bell.magic && MCP_DOORBELL_VERSION == bell.version &&
        place.port == udp->dest && (!six || 0 == udp->check)) {
        return answer_bell(packet, &bell, frame);
    }
    /* It pretends to be ours, as nobody else has that port of this address. */
    if (MCP_MAGIC == bell.magic && place.port == udp->source) {
        COUNT(dropped_implausible);
        return DROP;
    }
    return NEXT;
}

char licensed[] SEC("license") = "Dual BSD/GPL";
