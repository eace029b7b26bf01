/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective engine executes the schedule of a group, and handles requests and failures; see
 * engine.h. */
#include "firmware/engine.h"

#include "firmware/engine_inside.h"

#ifdef __bpf__

/* Sufficient for what a message usually triggers, and small enough for the BPF verifier. */
enum { BURST_ITERATIONS = 8 };

#else

size_t mcp_group_bytes(uint32_t nsteps, uint32_t nsends, uint32_t nwaits)
{
    const size_t bytes = sizeof(struct mcp_group) + nsteps * sizeof(struct mcp_step) +
                         ((size_t)nsends + nwaits) * sizeof(struct mcp_peer) +
                         (size_t)3 * nwaits * sizeof(uint32_t);
    return myr_whole_lines(bytes);
}

#endif

MCP_ENGINE void mcp_group_init(struct mcp_group *group, uint64_t key, uint32_t nodes, uint32_t node,
                               uint32_t nsteps, uint32_t nsends, uint32_t nwaits, uint32_t epoch)
{
    *group = (struct mcp_group){
        .key = key,
        .started = epoch,
        .offered = epoch,
        .nsteps = nsteps,
        .nsends = nsends,
        .nwaits = nwaits,
        .node = (uint16_t)node,
        .last_node = (uint16_t)(nodes - 1),
    };
    for (uint32_t w = 0; BELOW(w, nwaits, MCP_KERNEL_MESSAGES); ++w) {
        *arrival_at(group, w) = epoch;
        *heard_at(group, w) = 0;
        *claim_at(group, w) = epoch;
    }
    myr_store_release(&group->done, epoch);
}

MCP_ENGINE void mcp_group_start(struct mcp_group *group, uint32_t epoch)
{
    const uint32_t most = last_complete(group) + (0 != group->buffer_blocks ? 1 : MCP_OUTSTANDING);
    const uint32_t begun = myr_epoch_reached(most, epoch) ? epoch : most;
    if (!myr_epoch_reached(group->started, begun) && 0 == myr_load_relaxed(&group->failed)) {
        group->started = begun;
    }
}

MCP_ENGINE bool mcp_group_offer(struct mcp_group *group, uint32_t epoch, uint32_t unit)
{
    if (last_complete(group) + 1 != epoch || myr_epoch_reached(group->offered, epoch) ||
        unit > group->unit_most || 0 != unit % MCP_BLOCK_UNIT ||
        0 != myr_load_relaxed(&group->failed)) {
        return false;
    }
    group->offered = epoch;
    group->unit[epoch % 2] = unit;
    return true;
}

/* Returns whether a peer can have sent a message for this epoch. A peer is at most one epoch ahead
 * of this node, because it cannot complete an epoch that this node has not entered, and sends
 * nothing for an epoch before it has completed the previous one. */
INSIDE bool is_plausible_epoch(const struct mcp_group *group, uint32_t slot, uint32_t epoch)
{
    const uint32_t furthest = last_complete(group) + (mcp_group_waits_now(group) ? 2 : 1);
    return slot < group->nwaits && myr_epoch_reached(furthest, epoch);
}

/* In a correct program, the blocks of all nodes have the same length. Otherwise the block may be
 * stored in a wrong place of the buffer, but never outside it. */
MCP_ENGINE enum mcp_recorded mcp_group_claim(struct mcp_group *group, uint32_t slot, uint32_t epoch,
                                             uint32_t *bytes, uint32_t *offset)
{
    if (!is_plausible_epoch(group, slot, epoch)) {
        return MCP_IMPLAUSIBLE;
    }
    uint32_t *claim = claim_at(group, slot);
    if (myr_epoch_reached(*claim, epoch)) {
        return MCP_KNOWN;
    }
    /* If the peer's message of the previous epoch was lost, a barrier does not need it any more,
     * because the message of this epoch implies it. A group that carries data, however, still needs
     * the data of the lost message. Therefore such a group accepts the messages of a peer only in
     * the order of epochs. */
    if (*arrival_at(group, slot) + 1 != epoch) {
        return MCP_TOO_SOON;
    }
    const struct mcp_peer *from = peer_at(group, group->nsends + slot);
    const uint32_t unit = 0 == from->blocks ? 0 : *bytes / from->blocks;
    const bool fits =
        unit <= group->unit_most && 0 == unit % MCP_BLOCK_UNIT && unit * from->blocks == *bytes;
    *claim = epoch;
    *bytes = fits ? *bytes : 0;
    *offset = fits ? from->at * unit : 0;
    return MCP_RECORDED;
}

MCP_ENGINE enum mcp_recorded mcp_group_record(struct mcp_group *group, uint32_t slot,
                                              uint32_t epoch)
{
    if (!is_plausible_epoch(group, slot, epoch)) {
        return MCP_IMPLAUSIBLE;
    }
    uint32_t *arrival = arrival_at(group, slot);
    if (myr_epoch_reached(*arrival, epoch)) {
        return MCP_KNOWN;
    }
    *arrival = epoch;
    return myr_epoch_reached(group->started, epoch) ? MCP_RECORDED : MCP_UNEXPECTED;
}

MCP_ENGINE enum mcp_recorded mcp_group_release(struct mcp_group *group, uint32_t epoch)
{
    if (myr_epoch_reached(last_complete(group), epoch)) {
        return MCP_KNOWN;
    }
    if (!myr_epoch_reached(group->started, epoch) || last_complete(group) + 1 != epoch) {
        return MCP_IMPLAUSIBLE; /* this node has not entered that epoch */
    }
    for (uint32_t w = 0; BELOW(w, group->nwaits, MCP_KERNEL_MESSAGES); ++w) {
        uint32_t *arrival = arrival_at(group, w);
        if (!myr_epoch_reached(*arrival, epoch)) {
            *arrival = *claim_at(group, w) = epoch;
        }
    }
    return MCP_RECORDED;
}

INSIDE void next_step(struct mcp_group *group, const struct mcp_step *step)
{
    group->first_send += step->sends;
    group->first_wait += step->waits;
    group->sent = group->seen = 0;
    ++group->step;
}

INSIDE void next_epoch(struct mcp_group *group)
{
    group->step = group->sent = group->seen = group->first_send = group->first_wait = 0;
    myr_store_release(&group->done, last_complete(group) + 1);
}

/* The outcome of one iteration of the engine's loop. */
enum iteration { ITERATION_ON, ITERATION_SEND, ITERATION_DONE, ITERATION_STUCK };

/* Makes one iteration of a loop over all steps and their messages. There is only one loop, instead
 * of a loop over messages in a loop over steps, because the BPF verifier multiplies the iterations
 * of nested loops. */
INSIDE enum iteration make_iteration(struct mcp_group *group)
{
    if (!mcp_group_waits_now(group)) {
        return ITERATION_STUCK;
    }
    if (group->step == group->nsteps) {
        next_epoch(group);
        return ITERATION_DONE;
    }
    const struct mcp_step *step = step_at(group, group->step);
    if (group->sent < step->sends) {
        ++group->sent;
        return ITERATION_SEND;
    }
    if (group->seen == step->waits) {
        next_step(group, step);
        return ITERATION_ON;
    }
    if (myr_epoch_reached(*arrival_at(group, group->first_wait + group->seen),
                          last_complete(group) + 1)) {
        ++group->seen;
        return ITERATION_ON;
    }
    return ITERATION_STUCK;
}

MCP_ENGINE void mcp_group_message(struct mcp_group *group, uint32_t index, uint32_t epoch,
                                  struct mcp_message *message)
{
    const struct mcp_peer *to = peer_at(group, index);
    address_message(group, message, index, MCP_ARRIVE, to->slot, epoch);
    message->header.collective.node = to->node;
    message->bytes = to->blocks * group->unit[epoch % 2];
}

#ifdef __bpf__

MCP_ENGINE void mcp_group_burst(struct mcp_group *group, struct mcp_burst *burst)
{
    enum iteration iteration = ITERATION_ON;
    burst->epoch = last_complete(group) + 1;
    burst->first = group->first_send + group->sent;
    for (uint32_t i = 0; i < BURST_ITERATIONS && iteration <= ITERATION_SEND; ++i) {
        iteration = make_iteration(group);
    }
    burst->done = ITERATION_DONE == iteration;
    burst->end = burst->done ? group->nsends : group->first_send + group->sent;
    burst->more = ITERATION_STUCK != iteration && mcp_group_waits_now(group);
}

#else

MCP_ENGINE bool mcp_group_next(struct mcp_group *group, struct mcp_message *message)
{
    for (;;) {
        switch (make_iteration(group)) {
        case ITERATION_SEND:
            mcp_group_message(group, group->first_send + group->sent - 1, last_complete(group) + 1,
                              message);
            return true;
        case ITERATION_STUCK:
            return false;
        default:
            break;
        }
    }
}

#endif

/* Returns whether the current step still waits for the message at index `wait`. */
INSIDE bool is_missing(struct mcp_group *group, uint32_t wait)
{
    return mcp_group_waits_now(group) && group->step != group->nsteps &&
           wait < step_at(group, group->step)->waits &&
           !myr_epoch_reached(*arrival_at(group, group->first_wait + wait),
                              last_complete(group) + 1);
}

MCP_ENGINE bool mcp_group_misses(struct mcp_group *group, uint32_t wait,
                                 struct mcp_message *message)
{
    if (!is_missing(group, wait)) {
        return false;
    }
    const uint32_t slot = group->first_wait + wait;
    address_message(group, message, group->nsends + slot, MCP_ASK, slot, last_complete(group) + 1);
    return true;
}

#ifndef __bpf__

MCP_ENGINE bool mcp_group_missing(struct mcp_group *group, uint32_t *cursor,
                                  struct mcp_message *message)
{
    while (*cursor < group->nwaits - group->first_wait) {
        if (mcp_group_misses(group, (*cursor)++, message)) {
            return true;
        }
    }
    return false;
}

#endif

/* Returns the last epoch in which the message at this index of the table of sends was sent. */
INSIDE uint32_t last_sent_epoch(const struct mcp_group *group, uint32_t index)
{
    return last_complete(group) + (index < group->first_send + group->sent);
}

MCP_ENGINE bool mcp_group_answer(struct mcp_group *group, uint32_t node, uint32_t slot,
                                 uint32_t epoch, struct mcp_message *message)
{
    for (uint32_t s = 0; BELOW(s, group->nsends, MCP_KERNEL_MESSAGES); ++s) {
        const struct mcp_peer *to = peer_at(group, s);
        if (to->node == node && to->slot == slot) {
            const uint32_t last = last_sent_epoch(group, s);
            if (myr_epoch_reached(last, epoch)) {
                /* In a barrier, the reply to a request is the last message that was sent to the
                 * peer, because it implies all earlier ones. A group that carries data must reply
                 * with the message of the requested epoch. Its data are still in the buffer,
                 * because a peer never requests an epoch older than the last complete one, which is
                 * the oldest in the buffer. */
                mcp_group_message(group, s, 0 != group->buffer_blocks ? epoch : last, message);
                return 0 == group->buffer_blocks || myr_epoch_reached(epoch, last_complete(group));
            }
            address_message(group, message, s, MCP_LATER, slot, epoch);
            make_failure(group, message);
            /* No peer can be in an epoch before this node has entered the previous one. */
            return MCP_FAIL == message->header.type || myr_epoch_reached(group->started + 1, epoch);
        }
    }
    return false;
}

MCP_ENGINE enum mcp_recorded mcp_group_hear(struct mcp_group *group, uint32_t node, uint32_t slot,
                                            uint32_t epoch, uint32_t now_ms)
{
    if (slot >= group->nwaits || peer_at(group, group->nsends + slot)->node != node ||
        !myr_epoch_reached(last_complete(group) + 1, epoch)) {
        return MCP_IMPLAUSIBLE;
    }
    if (last_complete(group) + 1 != epoch || myr_epoch_reached(*arrival_at(group, slot), epoch)) {
        return MCP_KNOWN;
    }
    *heard_at(group, slot) = now_ms + (0 == now_ms);
    return MCP_RECORDED;
}

/* ---- failure ---- */

/* A failed group does not wait for messages, so it neither advances nor sends requests. */
MCP_ENGINE enum mcp_recorded mcp_group_fail(struct mcp_group *group, uint32_t missing)
{
    if (missing > group->last_node) {
        return MCP_IMPLAUSIBLE;
    }
    if (0 != myr_load_relaxed(&group->failed)) {
        return MCP_KNOWN;
    }
    myr_store_release(&group->failed, missing + 1);
    group->started = last_complete(group);
    return MCP_RECORDED;
}

MCP_ENGINE void mcp_group_failure(struct mcp_group *group, uint32_t index,
                                  struct mcp_message *message)
{
    address_message(group, message, index, MCP_LATER, 0, last_complete(group) + 1);
    make_failure(group, message);
}

#ifndef __bpf__

MCP_ENGINE bool mcp_group_awaits(struct mcp_group *group, uint32_t *cursor,
                                 struct mcp_missing *missing)
{
    while (*cursor < group->nwaits - group->first_wait) {
        const uint32_t wait = (*cursor)++, slot = group->first_wait + wait;
        if (is_missing(group, wait)) {
            *missing = (struct mcp_missing){peer_at(group, group->nsends + slot)->node,
                                            *heard_at(group, slot)};
            return true;
        }
    }
    return false;
}

#endif
