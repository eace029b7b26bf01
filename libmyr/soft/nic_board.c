/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of the soft NIC's control program (firmware/board.h): UDP packets, the clock, wake-ups,
 * and links to other NICs. Its functions are called with the NIC locked, by the control program and
 * by the code that opens groups and ports. */
#include "libmyr/soft/nic_parts.h"

#include "os/clock.h"
#include "os/futex.h"

static uint64_t now_ns(struct mcp_board *board)
{
    (void)board;
    return os_now_ns();
}

static void send_packet(struct mcp_board *board, mcp_link link, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    struct myr_soft_nic *nic = (struct myr_soft_nic *)board;
    const struct mcp_address *to =
        MCP_LINK_SENDER == link ? nic->sender : &nic->shared->links.address[link];
    if (mcp_udp_full(&nic->udp)) {
        nic->failed += mcp_udp_flush(&nic->udp);
    }
    ++nic->shared->mcp.counters.packets_sent;
    mcp_udp_gather(&nic->udp, to, header, payload, payload_bytes);
}

static mcp_link hold_sender(struct mcp_board *board)
{
    struct myr_soft_nic *nic = (struct myr_soft_nic *)board;
    return myr_soft_links_hold(&nic->shared->links, nic->sender);
}

static void drop_link(struct mcp_board *board, mcp_link link)
{
    myr_soft_links_drop(&((struct myr_soft_nic *)board)->shared->links, link);
}

static void wake_sleepers(struct mcp_board *board, myr_word *word)
{
    (void)board;
    /* The word after the release of a group counts the processes that sleep on the release. */
    if (0 != atomic_load_explicit(word + 1, memory_order_relaxed)) {
        os_futex_wake((const void *)word);
    }
}

static bool has_ended(struct mcp_board *board, uint32_t process)
{
    return myr_soft_ended((struct myr_soft_nic *)board, process);
}

void myr_soft_make_board(struct myr_soft_nic *nic)
{
    nic->board = (struct mcp_board){
        .ops = {.send = send_packet,
                .hold_sender = hold_sender,
                .drop = drop_link,
                .now_ns = now_ns,
                .wake = wake_sleepers,
                .has_ended = has_ended},
        .memory = myr_segment_base(nic->segment),
        .memory_bytes = (uint32_t)myr_segment_size(nic->segment),
    };
}

/* ---- links ---- */

static bool is_own_address(const struct myr_nic_name *own, const struct mcp_ip *ip)
{
    bool found = false;
    for (uint32_t a = 0; a < own->count; ++a) {
        found |= mcp_same_ip(&own->address[a].ip, ip);
    }
    return found;
}

/* Returns the address through which to reach the peer. An address of the peer that this host also
 * has is the last resort, because container bridges often have the same address on all hosts. */
uint32_t myr_soft_route(const struct myr_soft_nic *nic, const struct myr_nic_name *name)
{
    const struct myr_nic_name *own = &nic->shared->name;
    uint32_t near = MYR_NIC_ADDRESSES, far = MYR_NIC_ADDRESSES, same = MYR_NIC_ADDRESSES;
    if (name->count > MYR_NIC_ADDRESSES) {
        return MYR_NIC_ADDRESSES;
    }
    /* Backwards, because the first address of this NIC has priority. */
    for (uint32_t mine = own->count; mine > 0; --mine) {
        const struct mcp_ip *here = &own->address[mine - 1].ip;
        for (uint32_t theirs = name->count; theirs > 0; --theirs) {
            const struct mcp_ip *there = &name->address[theirs - 1].ip;
            if (is_own_address(own, there)) {
                same = theirs - 1;
            } else if (mcp_same_network(here, there, own->address[mine - 1].prefix)) {
                near = theirs - 1;
            } else if (mcp_ip_is_4(here) == mcp_ip_is_4(there) && theirs - 1 < far) {
                far = theirs - 1;
            }
        }
    }
    return near < MYR_NIC_ADDRESSES ? near : far < MYR_NIC_ADDRESSES ? far : same;
}

mcp_link myr_soft_link(struct myr_soft_nic *nic, const struct myr_nic_name *name)
{
    const uint32_t way = myr_soft_route(nic, name);
    if (MYR_NIC_ADDRESSES == way) {
        return MCP_LINK_SENDER;
    }
    const struct mcp_address address =
        mcp_address_for(nic->udp.family, &name->address[way].ip, name->address[way].port);
    return myr_soft_links_hold(&nic->shared->links, &address);
}

uint32_t myr_soft_mtu(const struct myr_soft_nic *nic, const struct myr_nic_name *name)
{
    const uint32_t way = myr_soft_route(nic, name);
    return MYR_NIC_ADDRESSES == way ? 0 : mcp_udp_mtu(&name->address[way].ip);
}
