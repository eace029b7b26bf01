/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements the collectives of a NIC: timeouts, opening and closing of groups, and packets; see
 * collective.h. */
#include "firmware/collective.h"

#include "firmware/collective_inside.h"

/* Returns the payload of the message, or NULL. The payload stays in the buffer of the group as long
 * as a peer may request it. */
static const void *payload_of(struct mcp_group *group, const struct mcp_message *message)
{
    return 0 == message->bytes ? NULL : mcp_group_buffer(group, message->header.collective.epoch);
}

static void send_group_message(struct mcp_board *board, struct mcp_group *group,
                               struct mcp_message *message)
{
    mcp_collective_send(board, group, message, payload_of(group, message));
}

static mcp_offset *bucket_of(struct mcp_collective *c, uint64_t key)
{
    return &c->bucket[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56 & (MCP_BUCKETS - 1)];
}

static struct mcp_group *find_group(struct mcp_collective *c, const struct mcp_board *board,
                                    uint64_t key)
{
    for (mcp_offset o = *bucket_of(c, key); 0 != o;) {
        struct mcp_group *group = mcp_at(board, o);
        if (key == group->key) {
            return group;
        }
        o = group->next;
    }
    return NULL;
}

/* ---- timeouts ---- */

/* In its closing epoch, a group sends this number of requests with the usual backoff, which takes a
 * few seconds, and then one request per minute (CLOSING_REST_NS). */
enum { CLOSING_ASKS = 64 };
#define CLOSING_REST_NS UINT64_C(60000000000)

/* Lowers the deadline of the NIC to that of the group, if the latter is earlier. */
static void lower_deadline(struct mcp_collective *c, const struct mcp_group *group)
{
    if (0 == c->deadline_ns || group->backoff.ends_ns < c->deadline_ns) {
        c->deadline_ns = group->backoff.ends_ns;
    }
}

static void activate_group(struct mcp_collective *c, const struct mcp_board *board,
                           struct mcp_group *group)
{
    if (!group->active) {
        group->active = 1;
        group->next_active = c->active;
        c->active = mcp_offset_of(board, group);
    }
}

static void deactivate_group(struct mcp_collective *c, const struct mcp_board *board,
                             struct mcp_group *group)
{
    mcp_offset *link = &c->active;
    while (group->active && 0 != *link) {
        struct mcp_group *one = mcp_at(board, *link);
        if (one == group) {
            *link = group->next_active;
            group->active = 0;
        } else {
            link = &one->next_active;
        }
    }
}

/* Starts the timeout for the next message. */
static void start_backoff(struct mcp_collective *c, struct mcp_group *group, uint64_t now_ns)
{
    mcp_backoff_begin(&group->backoff, mcp_backoff_initial(group->usual_ns), now_ns);
    lower_deadline(c, group);
}

/* Updates the estimate of an epoch's duration, because the epoch is complete. */
static void learn_duration(struct mcp_group *group, uint64_t now_ns)
{
    if (!group->asked) {
        group->usual_ns = mcp_backoff_learn(group->usual_ns, now_ns - group->began_ns);
    }
    group->backoff.ends_ns = 0;
    group->asked = 0;
}

/* Advances a group after a change. While a group waits for messages, it is in the list of active
 * groups. It stays in the list after its epoch is complete, because its next epoch will probably
 * begin soon. If it does not, the timer removes the group from the list. */
static void run_group(struct mcp_collective *c, struct mcp_board *board,
                      struct mcp_counters *counters, struct mcp_group *group)
{
    const uint32_t before = myr_load_relaxed(&group->done);
    struct mcp_message message;
    while (mcp_group_next(group, &message)) {
        send_group_message(board, group, &message);
    }
    const uint32_t now = myr_load_relaxed(&group->done);
    if (now != before) {
        counters->barriers += now - before;
        if (0 != group->backoff.ends_ns) {
            learn_duration(group, board->ops.now_ns(board));
        }
        board->ops.wake(board, &group->done);
    }
    if (mcp_group_waits_now(group) && 0 == group->backoff.ends_ns) {
        activate_group(c, board, group);
        group->began_ns = board->ops.now_ns(board);
        start_backoff(c, group, group->began_ns);
    }
}

/* Advances a group after the arrival of a missing message. If the NIC has requested messages, this
 * one is probably a reply, so the timeout for the next request is reset. */
static void resume_group(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group)
{
    if (group->asked) {
        start_backoff(c, group, board->ops.now_ns(board));
    }
    run_group(c, board, counters, group);
}

void mcp_collective_timer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters)
{
    const uint64_t now_ns = board->ops.now_ns(board);
    if (0 == c->deadline_ns || now_ns < c->deadline_ns) {
        return;
    }
    c->deadline_ns = 0;
    mcp_offset *link = &c->active;
    while (0 != *link) {
        struct mcp_group *group = mcp_at(board, *link);
        if (!mcp_group_waits_now(group)) {
            *link = group->next_active;
            group->active = 0;
            continue;
        }
        link = &group->next_active;
        if (mcp_backoff_expired(&group->backoff, now_ns)) {
            struct mcp_message message;
            if (CLOSING_ASKS == group->closing) {
                mcp_backoff_begin(&group->backoff, CLOSING_REST_NS, now_ns);
            } else {
                group->closing += 0 != group->closing;
            }
            for (uint32_t cursor = 0; mcp_group_missing(group, &cursor, &message);) {
                ++counters->asked;
                send_group_message(board, group, &message);
            }
            group->asked = 1;
        }
        lower_deadline(c, group);
    }
}

/* ---- opening and closing groups ---- */

/* Stores the payload of a message from a peer, and records its arrival. */
static enum mcp_recorded record_arrival(struct mcp_group *group,
                                        const struct mcp_collective_part *part, const void *payload,
                                        uint32_t bytes)
{
    if (0 != group->buffer_blocks) {
        uint32_t offset;
        const enum mcp_recorded claimed =
            mcp_group_claim(group, part->slot, part->epoch, &bytes, &offset);
        if (MCP_RECORDED != claimed) {
            return claimed;
        }
        if (NULL != payload) {
            __builtin_memcpy(mcp_group_buffer(group, part->epoch) + offset, payload, bytes);
        }
    }
    return mcp_group_record(group, part->slot, part->epoch);
}

/* Processes an ARRIVE that was received before the group was opened. Early messages with a payload
 * have been dropped. */
static void replay_early(struct mcp_collective *c, struct mcp_counters *counters,
                         struct mcp_group *group, uint32_t index)
{
    struct mcp_header header = {.magic = MCP_MAGIC,
                                .version = MCP_WIRE_VERSION,
                                .type = MCP_ARRIVE,
                                .key = group->key,
                                .check = c->early[index].check,
                                .collective = c->early[index].part};
    c->early[index].key = 0;
    if (!mcp_genuine(&header, &group->secret, NULL)) {
        ++counters->dropped_forged;
    } else if (MCP_ACTION_RECORD != mcp_action_on(group, &header, false) ||
               MCP_IMPLAUSIBLE == record_arrival(group, &header.collective, NULL, 0)) {
        ++counters->dropped_implausible;
    }
}

void mcp_collective_open(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group)
{
    mcp_offset *bucket = bucket_of(c, group->key);
    group->next = *bucket;
    *bucket = mcp_offset_of(board, group);
    for (uint32_t i = 0; i < MCP_EARLY; ++i) {
        if (group->key == c->early[i].key) {
            replay_early(c, counters, group, i);
        }
    }
}

static void remember_ending(struct mcp_collective *c, const struct mcp_group *group)
{
    const uint32_t index = c->next_late++ % MCP_LATE;
    c->late[index].key = group->key;
    c->late[index].ending = mcp_ending_of(group, false);
    c->late_secret[index] = group->secret;
}

void mcp_collective_close(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_group *group)
{
    const mcp_offset offset = mcp_offset_of(board, group);
    mcp_offset *link = bucket_of(c, group->key);
    while (0 != *link && offset != *link) {
        link = &((struct mcp_group *)mcp_at(board, *link))->next;
    }
    if (offset == *link) {
        *link = group->next;
    }
    deactivate_group(c, board, group);
    remember_ending(c, group);
    group->key = 0;
    group->secret = (struct mcp_secret){{0, 0}};
}

void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch)
{
    mcp_group_start(group, epoch);
    run_group(c, board, counters, group);
}

bool mcp_collective_offer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch,
                          const void *block, uint32_t unit)
{
    if (!mcp_group_offer(group, epoch, unit)) {
        return false;
    }
    if (0 != unit) {
        __builtin_memcpy(mcp_group_buffer(group, epoch), block, unit);
    }
    mcp_collective_start(c, board, counters, group, epoch);
    return true;
}

bool mcp_collective_begin_closing(struct mcp_collective *c, struct mcp_board *board,
                                  struct mcp_counters *counters, struct mcp_group *group)
{
    if (!mcp_group_owes(group)) {
        return false;
    }
    group->closing = 1;
    if (0 == group->window) {
        return mcp_collective_offer(c, board, counters, group, group->started + 1, NULL, 0);
    }
    mcp_collective_start(c, board, counters, group, group->started + 1);
    return mcp_group_waits_now(group);
}

/* ---- packets ---- */

/* Handles a packet for a group that has been closed. */
static void receive_for_closed(struct mcp_board *board, struct mcp_counters *counters,
                               const struct mcp_header *header, const void *payload,
                               const struct mcp_ending *ending, const struct mcp_secret *secret)
{
    struct mcp_header answer = *header;
    if (!mcp_genuine(header, secret, payload)) {
        ++counters->dropped_forged;
    } else if (!mcp_ending_answer(ending, &answer)) {
        ++counters->duplicates;
    } else {
        ++counters->answered;
        mcp_seal(&answer, secret, NULL, 0);
        board->ops.send(board, MCP_LINK_SENDER, &answer, NULL, 0);
    }
}

static void receive_foreign(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload)
{
    uint32_t i = 0;
    while (i < MCP_LATE && header->key != c->late[i].key) {
        ++i;
    }
    if (i < MCP_LATE) {
        receive_for_closed(board, counters, header, payload, &c->late[i].ending,
                           &c->late_secret[i]);
    } else if (MCP_ARRIVE == header->type && 0 != header->payload_bytes) {
        ++counters->early; /* dropped: this node will request it again */
    } else if (MCP_ARRIVE == header->type) {
        const uint32_t index = c->next_early++ % MCP_EARLY;
        c->early[index].key = header->key;
        c->early[index].check = header->check;
        c->early[index].part = header->collective;
        ++counters->early;
    } else {
        ++counters->dropped_foreign;
    }
}

static void answer_request(struct mcp_board *board, struct mcp_counters *counters,
                           struct mcp_group *group, const struct mcp_collective_part *part)
{
    struct mcp_message message;
    if (!mcp_group_answer(group, part->node, part->slot, part->epoch, &message)) {
        return;
    }
    counters->later += MCP_LATER == message.header.type;
    counters->answered += MCP_LATER != message.header.type;
    send_group_message(board, group, &message);
}

enum mcp_recorded mcp_collective_fail(struct mcp_collective *c, struct mcp_board *board,
                                      struct mcp_counters *counters, struct mcp_group *group,
                                      uint32_t missing)
{
    struct mcp_message message;
    const enum mcp_recorded recorded = mcp_group_fail(group, missing);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    ++counters->failed;
    deactivate_group(c, board, group);
    group->backoff.ends_ns = 0;
    group->asked = 0;
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        mcp_group_failure(group, p, &message);
        send_group_message(board, group, &message);
    }
    board->ops.wake(board, &group->done);
    return MCP_RECORDED;
}

static enum mcp_recorded record_liveness(struct mcp_board *board, struct mcp_group *group,
                                         const struct mcp_collective_part *part)
{
    return mcp_group_hear(group, part->node, part->slot, part->epoch,
                          (uint32_t)(board->ops.now_ns(board) / 1000000));
}

static enum mcp_recorded perform_action(struct mcp_collective *c, struct mcp_board *board,
                                        struct mcp_counters *counters, struct mcp_group *group,
                                        enum mcp_action action, const struct mcp_header *header,
                                        const void *payload)
{
    const struct mcp_collective_part *part = &header->collective;
    switch (action) {
    case MCP_ACTION_RECORD:
        return record_arrival(group, part, payload, header->payload_bytes);
    case MCP_ACTION_RELEASE:
        return mcp_group_release(group, part->epoch);
    case MCP_ACTION_ANSWER:
        answer_request(board, counters, group, part);
        return MCP_RECORDED;
    case MCP_ACTION_HEAR:
        return record_liveness(board, group, part);
    case MCP_ACTION_GIVE_UP:
        return mcp_collective_fail(c, board, counters, group, part->node);
    case MCP_ACTION_TAKE_BLOCK:
        return mcp_collective_take_block(board, counters, group, part->slot, part->epoch, payload,
                                         header->payload_bytes);
    case MCP_ACTION_ANSWER_BCAST:
        mcp_collective_answer_bcast(board, counters, group, part);
        return MCP_RECORDED;
    case MCP_ACTION_HEAR_BCAST:
        return mcp_collective_hear_bcast(board, group, part);
    case MCP_ACTION_PASS_OVER:
        return MCP_KNOWN;
    default:
        return MCP_IMPLAUSIBLE;
    }
}

void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload)
{
    if (0 == header->key) { /* no group has key 0; the tables use it for free entries */
        ++counters->dropped_foreign;
        return;
    }
    struct mcp_group *group = find_group(c, board, header->key);
    if (NULL == group) {
        receive_foreign(c, board, counters, header, payload);
        return;
    }
    if (!mcp_genuine(header, &group->secret, payload)) {
        ++counters->dropped_forged;
        return;
    }
    const enum mcp_action action = mcp_action_on(group, header, 0 != group->closing);
    const enum mcp_recorded recorded =
        perform_action(c, board, counters, group, action, header, payload);
    mcp_count(counters, group, action, recorded);
    if (mcp_continues(action, recorded)) {
        resume_group(c, board, counters, group);
    }
}
