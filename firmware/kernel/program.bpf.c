/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The BPF program of the kernel NIC, which performs barriers in the receive path of the kernel; see
 * kernel.h.
 *
 * The program runs the collective engine (engine.c, shared with the soft NIC), and connects it with
 * two hooks of the network interface and a few maps. All CPUs may run the program concurrently, so
 * a spin lock protects the state of each group. The engine runs with the lock held, but BPF
 * programs cannot send packets then, so messages are sent after the lock was released. Before a
 * group that was looked up is locked, it may have been closed and its memory reused (hold.h).
 *
 * Invariants:
 * - Packets of other programs pass unchanged, nearly all of them after a single check of their
 *   length. Packets that resemble packets of nicbarr, but that the network stack would not accept
 *   as datagrams, also pass unchanged.
 * - Messages are sent by rewriting the packet that triggered them: the last message uses the packet
 *   itself, and all others use clones of it. They are sent only to the NIC port of hosts whose
 *   address the owner has resolved.
 * - Packets from the port of the NIC that the program did not send are dropped. Apart from these,
 *   only packets with the key of a group are dropped.
 * - A doorbell is accepted only from the user of the group, and only the socket that sent it is
 *   woken.
 *
 *   program/maps.h     its maps            program/packets.h   packet layouts
 *   program/checks.h   checks              program/send.h      building packets
 *   program/buffers.h  data of groups      program/run.h      bursts of messages
 *   program/wake.h     waking hosts        program/bcast.h     broadcasts
 *   program/stuck.h    groups that wait for a long time
 *   program/hold.h     groups that may have been closed meanwhile
 *
 * This file contains the programs at the hooks and those that the owner runs. */
#define MCP_KERNEL_INSIDE /* selects the program's view of a group */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "firmware/bcast.c"
#include "firmware/engine.c"
#include "firmware/kernel/program/bcast.h"
#include "firmware/kernel/program/run.h"
#include "firmware/kernel/program/stuck.h"

/* ---- releases ---- */

/* Clears a release, whose index is passed in the packet's mark. The owner runs this program before
 * it assigns the release to another group, because pages are writable only for BPF programs. */
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

/* Informs the hosts of a group that the NIC is about to be removed. The owner runs this program
 * once for each group, and passes the index of the group's release in the packet's mark. It cannot
 * send a doorbell instead, because the interface may no longer exist. */
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

/* Clears the buffer whose index is passed in the mark. The owner runs this program before it
 * assigns the buffer to a group that broadcasts. */
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

/* ---- ingress ---- */

/* Returns whether the packet was sealed with this secret, and copies its payload to this CPU's
 * payload buffer. `sum` is the checksum of the frame (sum_of()). */
static __always_inline bool is_genuine(struct __sk_buff *packet, uint64_t sum,
                                       const struct mcp_header *header,
                                       const struct mcp_secret *secret)
{
    return (0 == header->payload_bytes || load_payload(packet, header->payload_bytes)) &&
           (!six || 0 == udp_check(sum, header->payload_bytes)) &&
           header->check == check_of(header, secret);
}

APART int receive_foreign(struct __sk_buff *packet, const struct ethhdr *frame, uint64_t sum,
                          struct mcp_header *header)
{
    const uint64_t key = header->key;
    const struct mcp_kernel_late *last = bpf_map_lookup_elem(&late, &key);
    if (!last) {
        COUNT(dropped_foreign);
        return NEXT;
    }
    if (!is_genuine(packet, sum, header, &last->secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    const struct mcp_ending ending = last->ending;
    if (!mcp_ending_answer(&ending, header)) {
        COUNT(duplicates);
        return DROP;
    }
    /* The entry may have been reused for another group meanwhile; compare hold.h. */
    if (!replace_packet(packet, frame->h_source, source_of(frame), header, &last->secret, 0) ||
        last != bpf_map_lookup_elem(&late, &key)) {
        return DROP;
    }
    COUNT(answered);
    return (int)bpf_redirect(nic.interface, 0);
}

/* Notifies a peer that the group has failed. */
static __always_inline long notify_failure(uint32_t peer, void *context)
{
    struct run *run = context;
    mcp_group_failure(&run->group->group, peer, &run->message);
    send_clone(run);
    return 0;
}
WALKED(notify_failure)

/* Fails the group because a node is missing. Hosts and peers are notified once. */
static __always_inline enum mcp_recorded fail_group(struct run *run, uint32_t missing)
{
    struct mcp_kernel_group *group = run->group;
    struct mcp_kernel_line *line = line_at(group->line);
    if (!lock_group(group, run->key)) {
        return MCP_IMPLAUSIBLE;
    }
    const enum mcp_recorded recorded = mcp_group_fail(&group->group, missing);
    if (MCP_RECORDED == recorded && line) {
        myr_store_release(&line->failed, missing + 1);
    }
    unlock_group(group);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    COUNT(failed);
    LOOP((group->group.nsends + group->group.nwaits) & (2 * MCP_KERNEL_PEERS - 1), notify_failure,
         run, run);
    return MCP_RECORDED;
}

/* Handles MCP_FAIL: a peer reports that the group has failed because node `header->collective.node`
 * is missing. */
static __always_inline int receive_failure(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                           const struct mcp_header *header)
{
    struct run run = {.packet = packet, .group = group, .key = header->key};
    const enum mcp_recorded recorded = fail_group(&run, header->collective.node);
    return MCP_RECORDED == recorded ? wake_sleeper(packet, group, header->key, true)
                                    : count_packet(group, MCP_ACTION_GIVE_UP, recorded);
}

/* Handles MCP_LATER: the peer is alive, but its host has not arrived yet. */
static __always_inline int receive_later(struct mcp_kernel_group *group,
                                         const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000);
    enum mcp_recorded recorded = MCP_IMPLAUSIBLE;
    if (lock_group(group, header->key)) {
        recorded = mcp_group_hear(&group->group, part.node, part.slot, part.epoch, now_ms);
        unlock_group(group);
    }
    return count_packet(group, MCP_ACTION_HEAR, recorded);
}

/* Stores the payload of a peer's message, and records its arrival. */
static __always_inline enum mcp_recorded record_arrival(struct mcp_kernel_group *group,
                                                        const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    const struct payload *payload = own_payload();
    uint32_t bytes = header->payload_bytes, offset;
    if (!buffer || !payload || !lock_group(group, header->key)) {
        return MCP_IMPLAUSIBLE;
    }
    enum mcp_recorded recorded =
        mcp_group_claim(&group->group, part.slot, part.epoch, &bytes, &offset);
    if (MCP_RECORDED == recorded) {
        store_payload(buffer, epoch_word(part.epoch) + offset / 8, payload, bytes);
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    unlock_group(group);
    return recorded;
}

/* Handles MCP_ARRIVE and MCP_DONE. */
static __always_inline int advance_group(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                         enum mcp_action action, const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct run run = {.packet = packet, .group = group, .key = header->key};
    const bool carries = 0 != group->group.buffer_blocks && MCP_ACTION_RECORD == action;
    enum mcp_recorded recorded = MCP_RECORDED;
    if (carries) {
        recorded = record_arrival(group, header);
    }
    if (!lock_group(group, header->key)) {
        COUNT(dropped_implausible);
        return DROP;
    }
    if (MCP_ACTION_RELEASE == action) {
        recorded = mcp_group_release(&group->group, part.epoch);
    } else if (!carries) {
        recorded = mcp_group_record(&group->group, part.slot, part.epoch);
    }
    const bool continues = mcp_continues(action, recorded);
    if (continues) {
        mcp_group_burst(&group->group, &run.burst);
    }
    unlock_group(group);
    (void)count_packet(group, action, recorded);
    return continues ? run_group(&run, true) : DROP;
}

/* Handles MCP_ASK: a peer misses a message. */
static __always_inline int answer_request(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                          const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    struct run run = {.packet = packet, .group = group, .key = header->key};
    if (!lock_group(group, header->key)) {
        return DROP;
    }
    const bool sent =
        mcp_group_answer(&group->group, part->node, part->slot, part->epoch, &run.message);
    unlock_group(group);
    if (!sent || !become_message(&run)) {
        return DROP;
    }
    if (MCP_LATER == run.message.header.type) {
        COUNT(later);
    } else {
        COUNT(answered);
    }
    return (int)bpf_redirect(nic.interface, 0);
}

/* The program at ingress. Packets that do not belong to a group of the NIC continue up the network
 * stack. If such a packet is addressed to the NIC, it is delivered to the socket that reserves the
 * NIC's port. (All NICs of a network use the same port, which only root's daemon can bind.) */
SEC("tc")
int mcp_receive(struct __sk_buff *packet)
{
    const struct ethhdr *frame = frame_of(packet);
    /* Packets for other hosts may arrive here as well, because a switch floods packets until it has
     * learned where their destination is. */
    if (!frame || nic.port != body_of(frame)->udp.dest || nic.port != body_of(frame)->udp.source ||
        !is_own(destination_of(frame)) || 0 != packet->pkt_type ||
        !(six ? 0 != body_of(frame)->udp.check : ip_fits(ip_of(frame)))) {
        return NEXT;
    }
    struct mcp_header header = {0};
    copy_words(&header, body_of(frame)->words);
    COUNT(packets_received);
    if (MCP_MAGIC != header.magic || MCP_WIRE_VERSION != header.version || 0 == header.type ||
        !mcp_is_collective(header.type) || payload_bytes(packet) != header.payload_bytes ||
        !mcp_collective_sound(header.type, header.payload_bytes)) {
        COUNT(dropped_damaged);
        return NEXT;
    }
    const uint64_t key = header.key, sum = six ? sum_of(&ip6_of(frame)->saddr, body_of(frame)) : 0;
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group) {
        return receive_foreign(packet, frame, sum, &header);
    }
    if (!is_genuine(packet, sum, &header, &group->group.secret)) {
        COUNT(dropped_forged);
        return DROP;
    }
    const enum mcp_action action = mcp_action_on(&group->group, &header, 0 != group->leaves);
    switch (action) {
    case MCP_ACTION_RECORD:
    case MCP_ACTION_RELEASE:
        return advance_group(packet, group, action, &header);
    case MCP_ACTION_ANSWER:
        return answer_request(packet, group, &header);
    case MCP_ACTION_HEAR:
        return receive_later(group, &header);
    case MCP_ACTION_GIVE_UP:
        return receive_failure(packet, group, &header);
    case MCP_ACTION_TAKE_BLOCK:
    case MCP_ACTION_ANSWER_BCAST:
    case MCP_ACTION_HEAR_BCAST:
        return receive_bcast(packet, group, action, &header);
    case MCP_ACTION_PASS_OVER:
        return count_packet(group, action, MCP_KNOWN);
    default:
        return count_packet(group, action, MCP_IMPLAUSIBLE);
    }
}

/* ---- egress ---- */

/* Begins an epoch of the locked group. Each doorbell begins at most one epoch, because the CPU time
 * of an epoch is charged to the system. Only the time for sending a doorbell is charged to the
 * host, and thus limits how many epochs a host can begin. */
static __always_inline void begin_epoch(struct mcp_kernel_group *group, uint32_t epoch)
{
    const uint32_t paid = group->group.started + 1;
    mcp_group_start(&group->group, myr_epoch_reached(epoch, paid) ? paid : epoch);
}

/* Begins an epoch of a group that carries data, with the block of the node. Such a group begins one
 * epoch at a time. */
static __always_inline void begin_data_epoch(struct mcp_kernel_group *group,
                                             struct mcp_kernel_buffer *buffer, uint32_t epoch,
                                             const struct payload *block, uint32_t bytes)
{
    if (mcp_group_offer(&group->group, epoch, bytes)) {
        store_payload(buffer, epoch_word(epoch), block, bytes);
        mcp_group_start(&group->group, epoch);
    }
}

static __always_inline int start_epoch(struct run *run, uint32_t epoch, bool leaves)
{
    struct __sk_buff *packet = run->packet;
    struct mcp_kernel_group *group = run->group;
    const uint32_t bytes = payload_bytes(packet);
    struct mcp_kernel_buffer *buffer =
        0 != group->group.buffer_blocks ? buffer_at(group->buffer) : NULL;
    const struct payload *block =
        buffer && (0 == bytes || load_payload(packet, bytes)) ? own_payload() : NULL;
    if (!lock_group(group, run->key)) {
        return DROP;
    }
    const uint32_t before = group->group.started;
    group->leaves |= leaves;
    if (0 == group->group.buffer_blocks) {
        begin_epoch(group, epoch);
    } else if (block) {
        begin_data_epoch(group, buffer, epoch, block, bytes);
    }
    mcp_group_burst(&group->group, &run->burst);
    unlock_group(group);
    arm_if_waiting(group);
    if (myr_epoch_reached(before, epoch)) {
        /* The host repeats its doorbell when it has waited for a long time. It should have seen the
         * release then, because every program that completes an epoch publishes it. The release is
         * nevertheless published again, because a host that missed it would hang. */
        publish_release(group, run->key);
    }
    return run_group(run, false);
}

/* Handles a doorbell. It is recognised by its destination port, the key of the group, and the uid
 * of its socket. */
static __always_inline int answer_bell(struct __sk_buff *packet, const struct mcp_doorbell *bell,
                                       const struct ethhdr *frame)
{
    const uint64_t key = bell->key;
    const uint32_t uid = bpf_get_socket_uid(packet);
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &key);
    if (!group || (uid != group->uid && uid != nic.owner)) {
        return NEXT;
    }
    /* A single variable for all cases, because BPF stacks are small. */
    struct forwarding forwarding = {.run = {.packet = packet, .group = group, .key = key}};
    struct run *run = &forwarding.run;
    if (MCP_RING_START == bell->ring || MCP_RING_CLOSING == bell->ring) {
        return start_epoch(run, bell->epoch, MCP_RING_CLOSING == bell->ring);
    }
    if (MCP_RING_BCAST == bell->ring || MCP_RING_BCAST_ASK == bell->ring) {
        return ring_bcast(&forwarding, bell);
    }
    if (MCP_RING_ASK == bell->ring) {
        publish_release(group, key);
        LOOP(MCP_KERNEL_MESSAGES, ask_missing, run, run);
    } else if (MCP_RING_SLEEP == bell->ring) {
        record_sleeper(packet, group, key, frame);
    } else if (MCP_RING_FAIL == bell->ring && MCP_RECORDED == fail_group(run, bell->epoch)) {
        return wake_sleeper(packet, group, key, false);
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
    /* A packet that this host only forwards does not come from one of its processes. */
    if (!frame || !is_own(source_of(frame)) || 0 != packet->ingress_ifindex || !packet->sk) {
        return NEXT;
    }
    const struct udphdr *udp = &body_of(frame)->udp;
    struct mcp_doorbell bell;
    copy_words(&bell, body_of(frame)->words);
    if (MCP_DOORBELL_MAGIC == bell.magic && MCP_DOORBELL_VERSION == bell.version &&
        nic.port == udp->dest && (!six || 0 == udp->check)) {
        return answer_bell(packet, &bell, frame);
    }
    /* This packet is forged, because only the NIC can have this source port. */
    if (MCP_MAGIC == bell.magic && nic.port == udp->source) {
        COUNT(dropped_implausible);
        return DROP;
    }
    return NEXT;
}

char licensed[] SEC("license") = "Dual BSD/GPL";
