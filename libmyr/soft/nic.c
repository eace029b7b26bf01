/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries about the soft NIC, from its own process or on a copy of its memory; see nic.h. */
#include "libmyr/soft/nic_parts.h"

#include <stdio.h>

enum { NIC_RECORD = 0x6e6963 /* scope of the record's key: "nic" */ };

uint32_t myr_soft_layout(void)
{
    return (uint32_t)MYR_SOFT_LAYOUT << 24 ^ (uint32_t)sizeof(struct myr_shared_nic) << 8 ^
           (uint32_t)sizeof(struct mcp_group);
}

int myr_soft_socket(const struct myr_soft_nic *nic)
{
    return nic->udp.socket;
}

struct myr_key myr_soft_record_key(void)
{
    return (struct myr_key){.scope = NIC_RECORD};
}

size_t myr_soft_shared_bytes(void)
{
    return sizeof(struct myr_shared_nic);
}

const struct mcp_nic *myr_soft_describe(const void *copy, struct myr_soft_view *view)
{
    const struct myr_shared_nic *shared = copy;
    if (0 == shared->layout) {
        *view = (struct myr_soft_view){.why = "it is not ready yet"};
        return &shared->mcp;
    }
    if (myr_soft_layout() != shared->layout) {
        return NULL;
    }
    *view = (struct myr_soft_view){
        .there = MYR_SOFT_OPEN == shared->state,
        .broken = 0 != (shared->lock & MYR_SOFT_BROKEN),
        .runs_as = 0 == shared->runner ? MYR_SOFT_POLLED : (enum myr_soft_runner)shared->runs_as,
        .runner = 0 == shared->runner ? 0 : shared->runner_pid,
        .name = shared->name,
        .counters = shared->mcp.counters,
        .peers = shared->mcp.messages.peers,
    };
    if (view->name.count > MYR_NIC_ADDRESSES) {
        view->name.count = 0;
    }
    snprintf(view->why, sizeof(view->why), "%.*s", (int)sizeof(shared->why) - 1, shared->why);
    return &shared->mcp;
}

struct mcp_ip myr_soft_ip_of(const void *copy, mcp_link link)
{
    const struct myr_shared_nic *shared = copy;
    return MCP_LINK_SENDER == link || link >= MYR_SOFT_LINKS
               ? mcp_ip_none()
               : mcp_address_ip(&shared->links.address[link]);
}

void myr_soft_address_of(const struct myr_soft_nic *nic, mcp_link link, char text[MCP_ADDRESS_TEXT])
{
    const struct mcp_ip ip = myr_soft_ip_of(nic->shared, link);
    const bool known = !mcp_ip_is_none(&ip);
    (void)mcp_address_text(&ip, known ? mcp_address_port(&nic->shared->links.address[link]) : 0,
                           text);
}

void myr_soft_get_name(const struct myr_soft_nic *nic, struct myr_nic_name *name)
{
    *name = nic->shared->name;
}

struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic)
{
    return nic->segment;
}

struct myr_soft_lingering *myr_soft_lingering(struct myr_soft_nic *nic)
{
    return &nic->shared->lingering;
}

bool myr_soft_knocked(const struct myr_soft_nic *nic)
{
    return 0 != myr_load_relaxed(&nic->shared->mcp.messages.knocked);
}

void myr_soft_count(const struct myr_soft_nic *nic, struct mcp_counters *counters)
{
    *counters = nic->shared->mcp.counters;
}
