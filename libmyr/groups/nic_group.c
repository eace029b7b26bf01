/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups across nodes, whatever plays them; see nic_group.h.
 *
 * Waiting is in the three phases of waiting.h. The player knows where to sleep.
 */
#include "libmyr/groups/nic_group.h"

#include <stdlib.h>
#include <string.h>

#include "libmyr/groups/group_player.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "os/calls.h"
#include "os/clock.h"

/* ---- from a schedule to the NIC's tables ---- */

struct myr_lengths myr_schedule_lengths(const struct myr_schedule *schedule)
{
    struct myr_lengths lengths = {.steps = schedule->nsteps};
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        lengths.sends += schedule->steps[s].sends;
        lengths.waits += schedule->steps[s].waits;
    }
    return lengths;
}

bool myr_fill_tables(const struct myr_schedule *schedule, uint32_t node,
                     myr_schedule_fn schedule_of, const void *context,
                     const struct myr_nic_data *data, const struct myr_nic_bcast *bcast,
                     struct mcp_step *steps, struct mcp_peer *peers)
{
    uint32_t *slots = myr_schedule_slots(schedule, node, schedule_of, context);
    struct mcp_peer *sends = peers, *waits = peers + myr_schedule_lengths(schedule).sends;
    uint32_t place = 0;
    if (NULL == slots) {
        return false;
    }
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        steps[s] = schedule->steps[s];
        for (uint32_t i = 0; i < steps[s].sends + steps[s].waits; ++i, ++place) {
            struct mcp_peer **peer = i < steps[s].sends ? &sends : &waits;
            *(*peer)++ = (struct mcp_peer){
                .node = (uint16_t)schedule->peers[place],
                .slot = (uint16_t)slots[place],
                .blocks = NULL == data ? 0 : data->carry.blocks[place],
                .at = NULL != data    ? data->carry.at[place]
                      : NULL != bcast ? bcast->spread.reach[place]
                                      : 0,
            };
        }
    }
    free(slots);
    return true;
}

bool myr_group_fill(const struct myr_nic_group *group, struct mcp_group *mcp,
                    const struct myr_nic_members *members, const struct myr_schedule *schedule,
                    myr_schedule_fn schedule_of, const void *context)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    mcp_group_init(mcp, members->key, members->nodes, members->node, lengths.steps, lengths.sends,
                   lengths.waits, 0);
    mcp->secret = members->secret;
    if (NULL != group->data) {
        mcp->places = group->data->carry.places;
        mcp->unit_most = group->data->unit_most;
    }
    if (NULL != group->bcast) {
        mcp->window = group->bcast->window;
        mcp->slot_bytes = group->bcast->slot_bytes;
        memset(mcp_group_window(mcp), 0, (size_t)mcp->window * mcp->slot_bytes);
    }
    return myr_fill_tables(schedule, members->node, schedule_of, context, group->data, group->bcast,
                           mcp_group_steps(mcp), mcp_group_sends(mcp));
}

/* ---- what lies behind the engine's group ---- */

static size_t buffer_bytes(const struct myr_nic_data *data)
{
    return (size_t)data->carry.places * data->unit_most;
}

size_t myr_group_behind_bytes(const struct myr_nic_group *group)
{
    const struct myr_nic_data *data = group->data;
    if (NULL != data) {
        return myr_whole_lines(2 * buffer_bytes(data)) +
               myr_nic_data_bytes(group->locals, data->unit_most);
    }
    return NULL == group->bcast ? 0 : (size_t)group->bcast->window * group->bcast->slot_bytes;
}

void myr_group_take_behind(const struct myr_nic_group *group, uint8_t *behind)
{
    struct myr_nic_data *data = group->data;
    if (NULL != data) {
        data->buffers[0] = behind;
        data->buffers[1] = behind + buffer_bytes(data);
        data->shared = (struct myr_node_data *)(behind + myr_whole_lines(2 * buffer_bytes(data)));
    }
    if (NULL != group->bcast) {
        group->bcast->slots = behind;
    }
}

/* ---- barriers ---- */

/* Of two processes that arrive at once, at least one sees the other's word, as both write before
 * they read. If both do, the NIC is told twice; that makes no difference. */
bool myr_group_all_arrived(const struct myr_nic_group *group, uint32_t epoch)
{
    for (uint32_t i = 1; i < group->locals; ++i) {
        uint32_t other = group->local + i;
        other = other < group->locals ? other : other - group->locals;
        if (!myr_epoch_reached(atomic_load(&group->arrivals[other]), epoch)) {
            return false;
        }
    }
    return true;
}

uint32_t myr_group_arrived(const struct myr_nic_group *group)
{
    uint32_t epoch = group->epoch;
    for (uint32_t i = 0; group->locals > 1 && i < group->locals; ++i) {
        const uint32_t other = myr_observe(&group->arrivals[i]);
        epoch = myr_epoch_reached(other, epoch) ? epoch : other;
    }
    return epoch;
}

uint32_t myr_nic_group_arrive(struct myr_nic_group *group)
{
    if (NULL != group->data) {
        return myr_nic_data_arrive(group, 0, NULL, NULL);
    }
    if (NULL != group->bcast) {
        myr_nic_bcast_leave_half(group);
    }
    return myr_group_arrive_next(group);
}

uint32_t myr_group_arrive_next(struct myr_nic_group *group)
{
    const uint32_t epoch = ++group->epoch;
    if (group->locals > 1) {
        atomic_store(&group->arrivals[group->local], epoch);
    }
    if (myr_group_all_arrived(group, epoch)) {
        group->player->start(group, epoch, NULL, 0);
    }
    return epoch;
}

bool myr_nic_group_over(const struct myr_nic_group *group)
{
    return 0 != group->given_up || group->player->over(group);
}

bool myr_nic_group_failed(const struct myr_nic_group *group, uint32_t *node)
{
    const uint32_t failed = 0 != group->given_up            ? group->given_up
                            : NULL == group->player->failed ? 0
                                                            : group->player->failed(group);
    *node = failed - 1;
    return 0 != failed;
}

uint32_t myr_nic_group_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    /* (Who waits for a block may wait for an epoch without knowing it. Until that is complete, this
     * node takes no part in the next, and the root waits for that.) */
    const bool block = group->watched != group->done;
    const uint32_t blocks = block && most > 0 && myr_nic_bcast_missing(group, list) ? 1 : 0;
    const uint32_t all = NULL == group->player->missing
                             ? blocks
                             : blocks + group->player->missing(group, list + blocks, most - blocks);
    uint32_t count = blocks;
    for (uint32_t m = blocks; m < all; ++m) {
        if (0 == blocks || list[m].node != list[0].node) { /* each once */
            list[count++] = list[m];
        }
    }
    return count;
}

/* (The NIC may not notice: a packet rings the kernel's NIC, and its cable may be unplugged.) */
void myr_nic_group_fail(struct myr_nic_group *group, uint32_t node)
{
    group->given_up = node + 1;
    if (NULL != group->player->fail) {
        group->player->fail(group, node);
    }
}

void myr_nic_group_remind(struct myr_nic_group *group)
{
    group->watched = group->done;
    group->player->remind(group, os_now_us());
}

void myr_nic_group_leave(struct myr_nic_group *group)
{
    group->player->leave(group);
    myr_nic_data_free(group->data);
    myr_nic_bcast_free(group->bcast);
    group->data = NULL;
    group->bcast = NULL;
    group->player = NULL;
    group->record = NULL;
}

/* ---- waiting ---- */

/* (An epoch comes after others, and may be over. A block's slot may have held any number.) */
static bool has_come(const struct myr_nic_group *group, uint32_t value)
{
    const uint32_t seen = myr_observe(group->watched);
    return group->watched == group->done ? myr_epoch_reached(seen, value) : seen == value;
}

static void remind(struct myr_nic_group *group, uint64_t now_us)
{
    group->player->remind(group, now_us);
    if (group->watched != group->done) {
        myr_nic_bcast_remind_at(group, now_us);
    }
}

/* Look and yield some times; true if it has come. */
static bool some_looks(struct myr_nic_group *group, uint32_t value)
{
    for (uint32_t look = 0; look < MYR_NIC_PROGRESS; ++look) {
        const uint32_t taken = group->player->poll(group);
        if (has_come(group, value)) {
            return true;
        }
        if (0 == taken) {
            os_give_way();
            if (has_come(group, value)) {
                return true;
            }
        }
    }
    return false;
}

/* Look and yield until patience ends; true if it has come. */
static bool look_for(struct myr_nic_group *group, uint32_t value, uint64_t start_us,
                     uint64_t until_us)
{
    const uint64_t patience_us = myr_patience_end(&group->waiter->patience, start_us);
    const uint64_t end_us = patience_us < until_us ? patience_us : until_us;
    for (uint64_t now = start_us; now < end_us && !myr_nic_group_over(group); now = os_now_us()) {
        remind(group, now);
        group->waiter->progress();
        if (some_looks(group, value)) {
            return true;
        }
    }
    return false;
}

bool myr_group_await(struct myr_nic_group *group, const myr_word *word, uint32_t value,
                     uint32_t timeout_us)
{
    group->watched = word;
    /* (Most waits are over before we would have to look at the clock.) */
    if (has_come(group, value) || some_looks(group, value)) {
        return true;
    }
    const struct myr_waiter *waiter = group->waiter;
    const uint64_t start_us = os_now_us();
    const uint64_t until_us = 0 == timeout_us ? UINT64_MAX : start_us + timeout_us;
    if (look_for(group, value, start_us, until_us)) {
        return true;
    }
    struct myr_slices slices = myr_slices_begin(&waiter->patience);
    for (uint64_t now = os_now_us(); now < until_us && !myr_nic_group_over(group);
         now = os_now_us()) {
        const uint32_t seen = myr_observe(word);
        if (has_come(group, value)) {
            return true;
        }
        group->player->sleep(group, seen, myr_slices_take(&slices));
        (void)group->player->poll(group);
        remind(group, now);
        waiter->progress();
    }
    return has_come(group, value);
}

bool myr_nic_group_wait(struct myr_nic_group *group, uint32_t epoch, uint32_t timeout_us)
{
    return myr_group_await(group, group->done, epoch, timeout_us);
}
