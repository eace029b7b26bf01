/* SPDX-License-Identifier: BSD-3-Clause */
/* See doorbells.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/doorbells.h"
#include "tests/unit/kernel/frames.h"

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
