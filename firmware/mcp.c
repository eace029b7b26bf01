/* SPDX-License-Identifier: BSD-3-Clause */
/* The control program's entry points; see mcp.h. */
#include "firmware/mcp.h"

size_t mcp_nic_bytes(uint32_t ports, uint32_t connections)
{
    return sizeof(struct mcp_nic) + mcp_messages_bytes(ports, connections);
}

void mcp_init(struct mcp_nic *nic, uint64_t key, uint32_t ports, uint32_t connections)
{
    nic->key = key;
    nic->messages.nports = ports;
    nic->messages.nconnections = connections;
}

void mcp_receive(struct mcp_nic *nic, struct mcp_board *board, const void *packet, size_t bytes)
{
    struct mcp_header header;
    ++nic->counters.packets_received;
    if (!mcp_parse(packet, bytes, &header)) {
        ++nic->counters.dropped_damaged;
        return;
    }
    const void *payload = (const uint8_t *)packet + mcp_header_bytes(header.type);
    if (mcp_is_collective(header.type)) {
        mcp_collective_receive(&nic->collective, board, &nic->counters, &header, payload);
    } else if (nic->key == header.key) {
        mcp_messages_receive(nic, board, &header, payload);
    } else {
        ++nic->counters.dropped_foreign;
    }
}

void mcp_timer(struct mcp_nic *nic, struct mcp_board *board)
{
    mcp_collective_timer(&nic->collective, board, &nic->counters);
    mcp_messages_timer(nic, board);
}

uint64_t mcp_deadline_ns(const struct mcp_nic *nic)
{
    const uint64_t collective = nic->collective.deadline_ns, messages = nic->messages.deadline_ns;
    if (0 == collective || 0 == messages) {
        return collective + messages;
    }
    return collective < messages ? collective : messages;
}
