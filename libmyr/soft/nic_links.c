/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft NIC's table of links to peers; see nic_links.h. */
#include "libmyr/soft/nic_links.h"

static uint16_t *bucket_of(struct myr_soft_links *links, const struct mcp_address *address)
{
    const struct mcp_ip ip = mcp_address_ip(address);
    uint64_t hash = mcp_address_port(address);
    for (int w = 0; w < 4; ++w) {
        hash = (hash + ip.word[w]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return &links->bucket[hash % MYR_SOFT_LINK_BUCKETS];
}

static uint32_t take_entry(struct myr_soft_links *links)
{
    const uint32_t entry = links->free;
    if (0 != entry) {
        links->free = links->next[entry];
        return entry;
    }
    return links->fresh + 1 < MYR_SOFT_LINKS ? ++links->fresh : 0;
}

mcp_link myr_soft_links_hold(struct myr_soft_links *links, const struct mcp_address *address)
{
    uint16_t *bucket = bucket_of(links, address);
    uint32_t entry = *bucket;
    while (0 != entry && !mcp_same_address(address, &links->address[entry])) {
        entry = links->next[entry];
    }
    if (0 == entry) {
        entry = take_entry(links);
        if (0 == entry) {
            return MCP_LINK_SENDER;
        }
        links->address[entry] = *address;
        links->next[entry] = *bucket;
        *bucket = (uint16_t)entry;
    }
    ++links->holders[entry];
    return entry;
}

void myr_soft_links_drop(struct myr_soft_links *links, mcp_link link)
{
    if (MCP_LINK_SENDER == link || 0 != --links->holders[link]) {
        return;
    }
    uint16_t *previous = bucket_of(links, &links->address[link]);
    while (link != *previous) {
        previous = &links->next[*previous];
    }
    *previous = links->next[link];
    links->next[link] = (uint16_t)links->free;
    links->free = link;
}

uint32_t myr_soft_links_count(const struct myr_soft_links *links)
{
    uint32_t count = links->fresh;
    for (uint32_t entry = links->free; 0 != entry; entry = links->next[entry]) {
        --count;
    }
    return count;
}
