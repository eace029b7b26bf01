/* The collective engine; see engine.h. */
#include "firmware/engine.h"

size_t mcp_group_bytes(uint32_t nsteps, uint32_t nsends, uint32_t nwaits)
{
    const size_t bytes = sizeof(struct mcp_group) + nsteps * sizeof(struct mcp_step) +
                         ((size_t)nsends + nwaits) * sizeof(struct mcp_peer) +
                         nwaits * sizeof(uint32_t);
    return (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE;
}

/* Only the NIC writes `done`, one thread of it at a time. */
static uint32_t done(const struct mcp_group *group)
{
    return atomic_load_explicit(&group->done, memory_order_relaxed);
}

void mcp_group_init(struct mcp_group *group, uint64_t key, uint32_t node, uint32_t nsteps,
                    uint32_t nsends, uint32_t nwaits, uint32_t epoch)
{
    *group = (struct mcp_group){
        .key = key,
        .started = epoch,
        .nsteps = nsteps,
        .nsends = nsends,
        .nwaits = nwaits,
        .node = node,
    };
    for (uint32_t w = 0; w < nwaits; ++w) {
        mcp_group_arrivals(group)[w] = epoch;
    }
    myr_publish(&group->done, epoch);
}

void mcp_group_start(struct mcp_group *group, uint32_t epoch)
{
    if (!myr_epoch_reached(group->started, epoch)) {
        group->started = epoch;
    }
}

enum mcp_recorded mcp_group_record(struct mcp_group *group, uint32_t slot, uint32_t epoch)
{
    /* No peer gets beyond an epoch that we have not entered, and none sends for an epoch before it
     * is through with the one before. */
    const uint32_t furthest = done(group) + (mcp_group_waits_now(group) ? 2 : 1);
    if (slot >= group->nwaits || !myr_epoch_reached(furthest, epoch)) {
        return MCP_IMPLAUSIBLE;
    }
    uint32_t *arrival = &mcp_group_arrivals(group)[slot];
    if (myr_epoch_reached(*arrival, epoch)) {
        return MCP_KNOWN;
    }
    *arrival = epoch;
    return myr_epoch_reached(group->started, epoch) ? MCP_RECORDED : MCP_UNEXPECTED;
}

enum mcp_recorded mcp_group_release(struct mcp_group *group, uint32_t epoch)
{
    if (myr_epoch_reached(done(group), epoch)) {
        return MCP_KNOWN;
    }
    if (!myr_epoch_reached(group->started, epoch) || done(group) + 1 != epoch) {
        return MCP_IMPLAUSIBLE; /* we have not entered it */
    }
    for (uint32_t w = 0; w < group->nwaits; ++w) {
        uint32_t *arrival = &mcp_group_arrivals(group)[w];
        if (!myr_epoch_reached(*arrival, epoch)) {
            *arrival = epoch;
        }
    }
    return MCP_RECORDED;
}

static bool all_here(struct mcp_group *group, uint32_t waits, uint32_t epoch)
{
    const uint32_t *arrival = &mcp_group_arrivals(group)[group->first_wait];
    for (uint32_t w = 0; w < waits; ++w) {
        if (!myr_epoch_reached(arrival[w], epoch)) {
            return false;
        }
    }
    return true;
}

static void address_message(struct mcp_group *group, struct mcp_message *message,
                            const struct mcp_peer *to, uint8_t type, uint32_t slot, uint32_t epoch)
{
    *message = (struct mcp_message){
        .to = to->address,
        .header = {.type = type, .key = group->key},
    };
    message->header.collective =
        (struct mcp_collective_part){epoch, (uint16_t)slot, (uint16_t)group->node};
}

static void next_epoch(struct mcp_group *group)
{
    group->step = group->sent = group->first_send = group->first_wait = 0;
    myr_publish(&group->done, done(group) + 1);
}

bool mcp_group_next(struct mcp_group *group, struct mcp_message *message)
{
    while (mcp_group_waits_now(group)) {
        const uint32_t epoch = done(group) + 1;
        if (group->step == group->nsteps) {
            next_epoch(group);
            continue;
        }
        const struct mcp_step *step = &mcp_group_steps(group)[group->step];
        if (group->sent < step->sends) {
            const struct mcp_peer *to = &mcp_group_sends(group)[group->first_send + group->sent++];
            address_message(group, message, to, MCP_ARRIVE, to->slot, epoch);
            return true;
        }
        if (!all_here(group, step->waits, epoch)) {
            return false;
        }
        group->first_send += step->sends;
        group->first_wait += step->waits;
        group->sent = 0;
        ++group->step;
    }
    return false;
}

bool mcp_group_missing(struct mcp_group *group, uint32_t *cursor, struct mcp_message *message)
{
    if (!mcp_group_waits_now(group) || group->step == group->nsteps) {
        return false;
    }
    const uint32_t epoch = done(group) + 1;
    while (*cursor < mcp_group_steps(group)[group->step].waits) {
        const uint32_t slot = group->first_wait + (*cursor)++;
        if (!myr_epoch_reached(mcp_group_arrivals(group)[slot], epoch)) {
            address_message(group, message, &mcp_group_waits(group)[slot], MCP_ASK, slot, epoch);
            return true;
        }
    }
    return false;
}

/* The last epoch for which the message at this place of the table of sends has been sent. */
static uint32_t last_sent(const struct mcp_group *group, uint32_t place)
{
    return done(group) + (place < group->first_send + group->sent);
}

bool mcp_group_answer(struct mcp_group *group, uint32_t node, uint32_t slot, uint32_t epoch,
                      struct mcp_message *message)
{
    for (uint32_t s = 0; s < group->nsends; ++s) {
        const struct mcp_peer *to = &mcp_group_sends(group)[s];
        if (to->node == node && to->slot == slot) {
            const uint32_t last = last_sent(group, s);
            address_message(group, message, to, MCP_ARRIVE, slot, last);
            return myr_epoch_reached(last, epoch);
        }
    }
    return false;
}
