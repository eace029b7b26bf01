/* The control program's entry points; see mcp.h. */
#include "firmware/mcp.h"

void mcp_init(struct mcp_nic *nic, uint64_t key)
{
    nic->key = key;
}

void mcp_receive(struct mcp_nic *nic, struct mcp_board *board, const struct mcp_address *from,
                 const void *packet, size_t bytes)
{
    struct mcp_header header;
    ++nic->counters.packets_received;
    if (!mcp_parse(packet, bytes, &header)) {
        ++nic->counters.dropped_damaged;
    } else if (header.type <= MCP_DONE) {
        mcp_collective_receive(&nic->collective, board, &nic->counters, from, &header);
    } else {
        ++nic->counters.dropped_foreign;
    }
}

void mcp_timer(struct mcp_nic *nic, struct mcp_board *board)
{
    mcp_collective_timer(&nic->collective, board, &nic->counters);
}

uint64_t mcp_deadline_ns(const struct mcp_nic *nic)
{
    return nic->collective.deadline_ns;
}
