/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups across nodes, independent of the kind of NIC; see nic_group.h.
 *
 * Waiting has the three phases of waiting.h. Each kind of NIC implements sleeping. */
#include "libmyr/groups/nic_group.h"

#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "os/calls.h"
#include "os/clock.h"

/* ---- barriers ---- */

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

bool myr_nic_group_over(const struct myr_nic_group *group)
{
    return 0 != group->given_up || group->ops->over(group);
}

bool myr_nic_group_failed(const struct myr_nic_group *group, uint32_t *node)
{
    const uint32_t failed = 0 != group->given_up         ? group->given_up
                            : NULL == group->ops->failed ? 0
                                                         : group->ops->failed(group);
    *node = failed - 1;
    return 0 != failed;
}

uint32_t myr_nic_group_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    /* A process that waits for the block of a broadcast may indirectly wait for other nodes, too.
     * If the window is full, the root does not send the block until a further epoch is complete.
     * This node cannot enter that epoch before its present epoch is complete, so the nodes for
     * which the present epoch waits are listed as well. */
    const bool block = group->watched != group->done;
    const uint32_t blocks = block && most > 0 && myr_nic_bcast_missing(group, list) ? 1 : 0;
    const uint32_t all = NULL == group->ops->missing
                             ? blocks
                             : blocks + group->ops->missing(group, list + blocks, most - blocks);
    uint32_t count = blocks;
    for (uint32_t m = blocks; m < all; ++m) {
        /* Skip the node that the broadcast waits for. */
        if (0 == blocks || list[m].node != list[0].node) {
            list[count++] = list[m];
        }
    }
    return count;
}

/* The failure is also recorded here, in `given_up`, because the NIC may not learn of it: the kernel
 * NIC, for example, is notified by a packet, which is not delivered if the cable is unplugged. */
void myr_nic_group_fail(struct myr_nic_group *group, uint32_t node)
{
    group->given_up = node + 1;
    if (NULL != group->ops->fail) {
        group->ops->fail(group, node);
    }
}

void myr_nic_group_remind(struct myr_nic_group *group)
{
    group->watched = group->done;
    group->ops->remind(group, os_now_us());
}

void myr_nic_group_leave(struct myr_nic_group *group)
{
    group->ops->leave(group);
    myr_nic_data_free(group->data);
    myr_nic_bcast_free(group->bcast);
    group->data = NULL;
    group->bcast = NULL;
    group->ops = NULL;
    group->record = NULL;
}

/* ---- waiting ---- */

/* Returns whether the watched word has reached the value for which this process waits. If this is
 * the release word, any later epoch is sufficient, because epochs complete in order. The word of a
 * broadcast's slot, in contrast, may still contain the number of an earlier broadcast, so it must
 * be equal to the value. */
static bool has_reached(const struct myr_nic_group *group, uint32_t value)
{
    const uint32_t seen = myr_load_acquire(group->watched);
    return group->watched == group->done ? myr_epoch_reached(seen, value) : seen == value;
}

static void remind_nic(struct myr_nic_group *group, uint64_t now_us)
{
    group->ops->remind(group, now_us);
    if (group->watched != group->done) {
        myr_nic_bcast_remind_at(group, now_us);
    }
}

/* Polls and yields a few times. Returns true if the value was reached. */
static bool poll_briefly(struct myr_nic_group *group, uint32_t value)
{
    for (uint32_t attempt = 0; attempt < MYR_NIC_PROGRESS; ++attempt) {
        const uint32_t taken = group->ops->poll(group);
        if (has_reached(group, value)) {
            return true;
        }
        if (0 == taken) {
            os_yield();
            if (has_reached(group, value)) {
                return true;
            }
        }
    }
    return false;
}

/* Polls and yields until it is time to sleep, or the wait times out. Returns true if the value was
 * reached. */
static bool poll_until(struct myr_nic_group *group, uint32_t value, uint64_t start_us,
                       uint64_t until_us)
{
    const uint64_t sleep_at_us = myr_wait_policy_sleep_at(&group->waiter->policy, start_us);
    const uint64_t end_us = sleep_at_us < until_us ? sleep_at_us : until_us;
    for (uint64_t now = start_us; now < end_us && !myr_nic_group_over(group); now = os_now_us()) {
        remind_nic(group, now);
        group->waiter->progress();
        if (poll_briefly(group, value)) {
            return true;
        }
    }
    return false;
}

static bool await_word(struct myr_nic_group *group, const myr_word *word, uint32_t value,
                       uint32_t timeout_us)
{
    group->watched = word;
    /* Most waits end here, before the clock has to be read. */
    if (has_reached(group, value) || poll_briefly(group, value)) {
        return true;
    }
    const struct myr_waiter *waiter = group->waiter;
    const uint64_t start_us = os_now_us();
    const uint64_t until_us = 0 == timeout_us ? UINT64_MAX : start_us + timeout_us;
    if (poll_until(group, value, start_us, until_us)) {
        return true;
    }
    struct myr_slices slices = myr_slices_begin(&waiter->policy);
    for (uint64_t now = os_now_us(); now < until_us && !myr_nic_group_over(group);
         now = os_now_us()) {
        const uint32_t seen = myr_load_acquire(word);
        if (has_reached(group, value)) {
            return true;
        }
        group->ops->sleep(group, seen, myr_slices_take(&slices));
        (void)group->ops->poll(group);
        remind_nic(group, now);
        waiter->progress();
    }
    return has_reached(group, value);
}

bool myr_nic_group_wait(struct myr_nic_group *group, uint32_t epoch, uint32_t timeout_us)
{
    return await_word(group, group->done, epoch, timeout_us);
}

bool myr_nic_group_wait_bcast(struct myr_nic_group *group, uint32_t timeout_us)
{
    return await_word(group, myr_nic_bcast_word(group), group->bcast->number, timeout_us);
}
