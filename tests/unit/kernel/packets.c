/* SPDX-License-Identifier: BSD-3-Clause */
/* See packets.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"

struct mcp_doorbell make_doorbell(uint64_t key, uint8_t what, uint32_t epoch)
{
    return (struct mcp_doorbell){
        .magic = MCP_DOORBELL_MAGIC,
        .version = MCP_DOORBELL_VERSION,
        .ring = what,
        .epoch = epoch,
        .key = key,
    };
}

void ring_with(int bell, uint64_t key, uint8_t what, uint32_t epoch, uint32_t bytes)
{
    uint8_t packet[sizeof(struct mcp_doorbell) + MCP_PAYLOAD_MOST];
    const struct mcp_doorbell doorbell = make_doorbell(key, what, epoch);
    const size_t all = sizeof(doorbell) + bytes;
    memcpy(packet, &doorbell, sizeof(doorbell));
    memcpy(packet + sizeof(doorbell), carried, bytes);
    CREW_CHECK((ssize_t)all == send(bell, packet, all, 0), "%s", strerror(errno));
}

void ring(int bell, uint64_t key, uint8_t what, uint32_t epoch)
{
    ring_with(bell, key, what, epoch, 0);
}

struct mcp_header make_header(const struct pair *pair, uint8_t type, uint32_t epoch, uint32_t slot,
                              uint32_t node)
{
    const uint32_t named = MCP_ARRIVE == type ? pair->plan.node : node;
    struct mcp_header header = {.type = type, .key = pair->key};
    header.collective = (struct mcp_collective_part){epoch, (uint16_t)slot, (uint16_t)named};
    mcp_seal(&header, &pair->plan.secret, NULL, 0);
    return header;
}

void fill_carried(uint32_t bytes, uint64_t *random)
{
    for (uint32_t b = 0; b < bytes; ++b) {
        carried[b] = (uint8_t)crew_random(random);
    }
}

uint32_t some_bytes(uint64_t *random)
{
    return MCP_BLOCK_UNIT * crew_below(random, MCP_PAYLOAD_MOST / MCP_BLOCK_UNIT + 1);
}

/* Returns an arrival for this node or, if `wrong` is 1, for another one. If the group carries data,
 * it has data: usually as many blocks as the slot expects, of this epoch's length. */
static struct mcp_header make_arrival(const struct pair *pair, uint32_t epoch, uint32_t slot,
                                      uint32_t wrong, uint64_t *random)
{
    const bool data = 0 != pair->plan.buffer_blocks;
    const bool usual = slot < pair->plan.nwaits && 0 != crew_below(random, 8);
    const uint32_t bytes =
        !data   ? 0
        : usual ? pair->plan.peers[pair->plan.nsends + slot].blocks * pair->group->unit[epoch % 2]
                : some_bytes(random);
    struct mcp_header header = make_header(pair, MCP_ARRIVE, epoch, slot, 0);
    header.collective.node = (uint16_t)(header.collective.node + wrong);
    fill_carried(bytes, random);
    mcp_seal(&header, &pair->plan.secret, carried, bytes);
    return header;
}

uint32_t some_epoch(const struct pair *pair, uint64_t *random)
{
    return done(pair) + crew_below(random, 5) - 1;
}

struct mcp_header some_arrival(const struct pair *pair, uint64_t *random)
{
    const uint32_t nwaits = pair->plan.nwaits;
    const bool likely = 0 != crew_below(random, 4);
    const uint32_t slot = crew_below(random, nwaits + (likely ? 0 : 2));
    const uint32_t epoch = likely ? done(pair) + 1 : some_epoch(pair, random);
    return make_arrival(pair, epoch, slot, 0 == crew_below(random, 16), random);
}

struct mcp_header missing_arrival(const struct pair *pair, uint64_t *random)
{
    const uint32_t epoch = done(pair) + 1, *arrivals = mcp_group_arrivals(pair->group);
    uint32_t slot = 0;
    while (slot + 1 < pair->plan.nwaits && myr_epoch_reached(arrivals[slot], epoch)) {
        ++slot;
    }
    return make_arrival(pair, epoch, slot, 0, random);
}

struct mcp_header some_ask(const struct pair *pair, uint64_t *random)
{
    const struct mcp_kernel_peer *to = &pair->plan.peers[crew_below(random, pair->plan.nsends)];
    const uint32_t wrong = 0 == crew_below(random, 5);
    return make_header(pair, MCP_ASK, some_epoch(pair, random), to->slot + wrong, to->node);
}

struct mcp_header some_later(const struct pair *pair, uint64_t *random)
{
    const uint32_t slot = crew_below(random, pair->plan.nwaits + 1);
    const struct mcp_kernel_peer *from = &pair->plan.peers[pair->plan.nsends + slot];
    return make_header(pair, MCP_LATER, done(pair) + crew_below(random, 3), slot,
                       0 == crew_below(random, 5) ? MOST_NODES : from->node);
}

uint32_t some_number(const struct pair *pair, uint64_t *random)
{
    switch (crew_below(random, 8)) {
    case 0:
        return pair->last - crew_below(random, 2 * MCP_BCAST_SLOTS);
    case 1:
        return pair->last + crew_below(random, 4);
    case 2:
        return mcp_bcast_credit(pair->plan.window, pair->group->started) + crew_below(random, 3);
    case 3:
        return 0 == crew_below(random, 4) ? (uint32_t)crew_random(random) : pair->last;
    default:
        return pair->last + 1;
    }
}

uint32_t some_root(const struct pair *pair, uint64_t *random)
{
    return crew_below(random, pair->plan.nodes + (0 == crew_below(random, 8) ? 2 : 0));
}

uint32_t fill_block(const struct pair *pair, uint64_t *random)
{
    const uint32_t most = broadcasts(pair) && 0 != crew_below(random, 8)
                              ? pair->plan.slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot)
                              : MCP_PAYLOAD_MOST;
    const uint32_t bytes = MCP_BLOCK_UNIT * (1 + crew_below(random, most / MCP_BLOCK_UNIT));
    fill_carried(bytes, random);
    return bytes;
}

struct mcp_header some_bcast(const struct pair *pair, uint64_t *random)
{
    const uint32_t kind = crew_below(random, has_buffer(pair) ? 8 : 2);
    const bool asks = 0 == kind;
    const struct mcp_kernel_peer *peer =
        &pair->plan.peers[asks ? crew_below(random, pair->plan.nsends)
                               : pair->plan.nsends + crew_below(random, pair->plan.nwaits)];
    const uint32_t node = 0 == crew_below(random, 8) ? MOST_NODES : peer->node;
    struct mcp_header header =
        make_header(pair, asks ? MCP_BCAST_ASK : MCP_BCAST_LATER, some_number(pair, random),
                    some_root(pair, random), node);
    if (kind > 2) {
        header.type = MCP_BCAST;
        mcp_seal(&header, &pair->plan.secret, carried, fill_block(pair, random));
    }
    return header;
}
