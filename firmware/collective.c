/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a whole NIC; see collective.h. */
#include "firmware/collective.h"

#include "firmware/collective_inside.h"

/* What a message carries; NULL: nothing. It stays there as long as anybody may miss it. */
static const void *payload_of(struct mcp_group *group, const struct mcp_message *message)
{
    return 0 == message->bytes ? NULL : mcp_group_buffer(group, message->header.collective.epoch);
}

static void send(struct mcp_board *board, struct mcp_group *group, struct mcp_message *message)
{
    mcp_collective_send(board, group, message, payload_of(group, message));
}

static mcp_offset *bucket_of(struct mcp_collective *c, uint64_t key)
{
    return &c->bucket[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56 & (MCP_BUCKETS - 1)];
}

static struct mcp_group *find(struct mcp_collective *c, const struct mcp_board *board, uint64_t key)
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

/* ---- who waits, and since when ---- */

/* So often a farewell asks like everybody, which takes some seconds; then once a minute. */
enum { FAREWELL_ASKS = 64 };
#define FAREWELL_REST_NS UINT64_C(60000000000)

/* The timer is due when the first of all groups' patience ends. */
static void heed(struct mcp_collective *c, const struct mcp_group *group)
{
    if (0 == c->deadline_ns || group->patience.ends_ns < c->deadline_ns) {
        c->deadline_ns = group->patience.ends_ns;
    }
}

static void activate(struct mcp_collective *c, const struct mcp_board *board,
                     struct mcp_group *group)
{
    if (!group->active) {
        group->active = 1;
        group->next_active = c->active;
        c->active = mcp_offset_of(board, group);
    }
}

static void deactivate(struct mcp_collective *c, const struct mcp_board *board,
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

/* From `now_ns` on it waits for a message. */
static void wait_from(struct mcp_collective *c, struct mcp_group *group, uint64_t now_ns)
{
    mcp_patience_begin(&group->patience, mcp_patience_first(group->usual_ns), now_ns);
    heed(c, group);
}

/* The epoch is complete: learn how long that takes. */
static void learn(struct mcp_group *group, uint64_t now_ns)
{
    if (!group->asked) {
        group->usual_ns = mcp_patience_learn(group->usual_ns, now_ns - group->began_ns);
    }
    group->patience.ends_ns = 0;
    group->asked = 0;
}

/* Have an ARRIVE come to its peer. */
static inline void arrive(struct mcp_board *board, struct mcp_group *group,
                          struct mcp_message *message)
{
    if (NULL != board->ops.put) {
        board->ops.put(board, group, message, payload_of(group, message), message->bytes);
    } else {
        send(board, group, message);
    }
}

/* Play on after a change. A waiting group stays in the list of the active when it is done, as it
 * will soon wait again. The timer removes those that do not. */
static void play(struct mcp_collective *c, struct mcp_board *board, struct mcp_counters *counters,
                 struct mcp_group *group)
{
    const uint32_t before = myr_load_relaxed(&group->done);
    struct mcp_message message;
    while (mcp_group_next(group, &message)) {
        arrive(board, group, &message);
    }
    const uint32_t now = myr_load_relaxed(&group->done);
    if (now != before) {
        counters->barriers += now - before;
        if (0 != group->patience.ends_ns) {
            learn(group, board->ops.now_ns(board));
        }
        board->ops.wake(board, &group->done);
    }
    if (mcp_group_waits_now(group) && 0 == group->patience.ends_ns) {
        activate(c, board, group);
        group->began_ns = board->ops.now_ns(board);
        wait_from(c, group, group->began_ns);
    }
}

/* A missing message is here: play on. If it was asked for, it may be the answer. The next message
 * gets a time of its own. */
static void play_on(struct mcp_collective *c, struct mcp_board *board,
                    struct mcp_counters *counters, struct mcp_group *group)
{
    if (group->asked) {
        wait_from(c, group, board->ops.now_ns(board));
    }
    play(c, board, counters, group);
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
        if (mcp_patience_ended(&group->patience, now_ns)) {
            struct mcp_message message;
            if (FAREWELL_ASKS == group->farewell) {
                mcp_patience_begin(&group->patience, FAREWELL_REST_NS, now_ns);
            } else {
                group->farewell += 0 != group->farewell;
            }
            for (uint32_t cursor = 0; mcp_group_missing(group, &cursor, &message);) {
                ++counters->asked;
                send(board, group, &message);
            }
            group->asked = 1;
        }
        heed(c, group);
    }
}

/* ---- groups come and go ---- */

/* A peer's message has come: keep what it carries, and record it. */
static enum mcp_recorded take_arrival(struct mcp_group *group,
                                      const struct mcp_collective_part *part, const void *payload,
                                      uint32_t bytes)
{
    if (0 != group->places) {
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

/* Only an ARRIVE without payload is kept. */
static void take_early(struct mcp_collective *c, struct mcp_counters *counters,
                       struct mcp_group *group, uint32_t place)
{
    struct mcp_header header = {.magic = MCP_MAGIC,
                                .version = MCP_WIRE_VERSION,
                                .type = MCP_ARRIVE,
                                .key = group->key,
                                .check = c->early[place].check,
                                .collective = c->early[place].part};
    c->early[place].key = 0;
    if (!mcp_genuine(&header, &group->secret, NULL)) {
        ++counters->dropped_forged;
    } else if (MCP_IMPLAUSIBLE == take_arrival(group, &header.collective, NULL, 0)) {
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
            take_early(c, counters, group, i);
        }
    }
}

/* Remember how a group has ended. Data go with it: a peer that still misses those of the last epoch
 * must not hear that this is done. (Everybody has had those of the epoch before.) Likewise blocks,
 * unless all nodes have said farewell. */
static void remember(struct mcp_collective *c, const struct mcp_group *group)
{
    const uint32_t place = c->next_late++ % MCP_LATE;
    const uint32_t done = myr_load_relaxed(&group->done), failed = myr_load_relaxed(&group->failed);
    const bool data = 0 != group->unit[done % 2];
    const bool lost = data || (0 != group->window && mcp_group_waits_now(group));
    c->late[place].key = group->key;
    c->late[place].epoch = data ? done - 1 : done;
    c->late[place].failed = lost && 0 == failed ? group->node + 1U : failed;
    c->late_secret[place] = group->secret;
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
    deactivate(c, board, group);
    remember(c, group);
    group->key = 0;
    group->secret = (struct mcp_secret){{0, 0}};
}

void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch)
{
    mcp_group_start(group, epoch);
    play(c, board, counters, group);
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

bool mcp_collective_farewell(struct mcp_collective *c, struct mcp_board *board,
                             struct mcp_counters *counters, struct mcp_group *group)
{
    const uint32_t done = myr_load_relaxed(&group->done);
    if (0 != myr_load_relaxed(&group->failed)) {
        return false;
    }
    if (0 != group->window) {
        group->farewell = 1;
        mcp_collective_start(c, board, counters, group, group->started + 1);
        return mcp_group_waits_now(group);
    }
    if (0 == group->unit[done % 2] || mcp_group_waits_now(group)) {
        return false;
    }
    group->farewell = 1;
    return mcp_collective_offer(c, board, counters, group, done + 1, NULL, 0);
}

/* ---- packets ---- */

static void receive_stranger(struct mcp_collective *c, struct mcp_board *board,
                             struct mcp_counters *counters, const struct mcp_header *header,
                             const void *payload)
{
    const struct mcp_collective_part *part = &header->collective;
    uint32_t i = 0;
    while (i < MCP_LATE && header->key != c->late[i].key) {
        ++i;
    }
    if (i < MCP_LATE && !mcp_genuine(header, &c->late_secret[i], payload)) {
        ++counters->dropped_forged;
    } else if (i < MCP_LATE) {
        struct mcp_header answer = {.type = MCP_DONE, .key = header->key};
        answer.collective = *part;
        /* (Whoever misses a block misses it for ever. Where nothing has failed, nobody does.) */
        if (MCP_BCAST_ASK == header->type || !myr_epoch_reached(c->late[i].epoch, part->epoch)) {
            answer.type = MCP_FAIL;
            answer.collective.node = (uint16_t)(c->late[i].failed - 1);
        }
        if ((MCP_ASK == header->type || MCP_BCAST_ASK == header->type) &&
            (MCP_DONE == answer.type || 0 != c->late[i].failed)) {
            ++counters->answered;
            mcp_seal(&answer, &c->late_secret[i], NULL, 0);
            board->ops.send(board, MCP_LINK_SENDER, &answer, NULL, 0);
        } else {
            ++counters->duplicates;
        }
    } else if (MCP_ARRIVE == header->type && 0 != header->payload_bytes) {
        ++counters->early; /* it will be asked for */
    } else if (MCP_ARRIVE == header->type) {
        const uint32_t place = c->next_early++ % MCP_EARLY;
        c->early[place].key = header->key;
        c->early[place].check = header->check;
        c->early[place].part = *part;
        ++counters->early;
    } else {
        ++counters->dropped_foreign;
    }
}

static void answer(struct mcp_board *board, struct mcp_counters *counters, struct mcp_group *group,
                   const struct mcp_collective_part *part)
{
    struct mcp_message message;
    if (!mcp_group_answer(group, part->node, part->slot, part->epoch, &message)) {
        return;
    }
    counters->later += MCP_LATER == message.header.type;
    counters->answered += MCP_LATER != message.header.type;
    if (MCP_ARRIVE == message.header.type) {
        arrive(board, group, &message);
    } else {
        send(board, group, &message);
    }
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
    deactivate(c, board, group);
    group->patience.ends_ns = 0;
    group->asked = 0;
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        mcp_group_failure(group, p, &message);
        send(board, group, &message);
    }
    board->ops.wake(board, &group->done);
    return MCP_RECORDED;
}

/* A packet that moves no group forward: it tells of a peer, or is of a broadcast. */
static enum mcp_recorded take_note(struct mcp_collective *c, struct mcp_board *board,
                                   struct mcp_counters *counters, struct mcp_group *group,
                                   const struct mcp_header *header, const void *payload)
{
    const struct mcp_collective_part *part = &header->collective;
    if (mcp_is_bcast(header->type)) {
        return mcp_collective_receive_bcast(board, counters, group, header, payload);
    }
    if (MCP_LATER == header->type) {
        const enum mcp_recorded heard =
            mcp_group_hear(group, part->node, part->slot, part->epoch,
                           (uint32_t)(board->ops.now_ns(board) / 1000000));
        counters->heard += MCP_RECORDED == heard;
        return heard;
    }
    if (0 != group->farewell) {
        return MCP_KNOWN; /* it has no hosts, but data that somebody may miss */
    }
    return mcp_collective_fail(c, board, counters, group, part->node);
}

void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload)
{
    const struct mcp_collective_part *part = &header->collective;
    if (0 == header->key) { /* nobody's: the tables use it for "nothing" */
        ++counters->dropped_foreign;
        return;
    }
    struct mcp_group *group = find(c, board, header->key);
    if (NULL == group) {
        receive_stranger(c, board, counters, header, payload);
        return;
    }
    if (!mcp_genuine(header, &group->secret, payload)) {
        ++counters->dropped_forged;
        return;
    }
    if (MCP_ASK == header->type) {
        answer(board, counters, group, part);
        return;
    }
    const enum mcp_recorded recorded =
        MCP_ARRIVE == header->type ? take_arrival(group, part, payload, header->payload_bytes)
        : MCP_DONE == header->type ? mcp_group_release(group, part->epoch)
                                   : take_note(c, board, counters, group, header, payload);
    switch (recorded) {
    case MCP_UNEXPECTED:
        /* An answer tells the last epoch that its sender is in. This may be the epoch after that of
         * the lost message; it then stands for both. */
        ++counters->unexpected;
        play_on(c, board, counters, group);
        break;
    case MCP_RECORDED:
        if (header->type <= MCP_DONE) { /* the others move nothing */
            play_on(c, board, counters, group);
        }
        break;
    case MCP_KNOWN:
        ++counters->duplicates;
        break;
    case MCP_TOO_SOON:
        ++counters->early;
        break;
    case MCP_IMPLAUSIBLE: /* when a group has failed, peers may be ahead by any number of epochs */
        counters->dropped_implausible += 0 == myr_load_relaxed(&group->failed);
        break;
    }
}
