/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of neighbours, which are the hosts that groups of the kernel NIC send to, with their
 * hardware addresses. */
#include "firmware/kernel/owner_inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "firmware/soft/addresses.h"
#include "os/netlink.h"

uint32_t mcp_kernel_find_neighbour(const struct mcp_kernel *kernel, const struct mcp_ip *ip)
{
    uint32_t n = kernel->neighbours;
    while (n > 0 && !mcp_same_ip(ip, &kernel->neighbour[n].ip)) {
        --n;
    }
    return n;
}

/* Returns the index of an entry that can be used for another host. If no entry is unused, takes the
 * one that was resolved least recently, among the hosts that no group needs. Returns 0 if groups
 * need all of them. */
static uint32_t find_free_entry(struct mcp_kernel *kernel)
{
    if (kernel->neighbours < MCP_KERNEL_NEIGHBOURS - 1) {
        return ++kernel->neighbours;
    }
    uint32_t oldest = 0;
    for (uint32_t n = 1; n <= kernel->neighbours; ++n) {
        if (0 == kernel->neighbour[n].groups &&
            (0 == oldest || kernel->neighbour[n].met < kernel->neighbour[oldest].met)) {
            oldest = n;
        }
    }
    return oldest;
}

void mcp_kernel_need_peers(struct mcp_kernel *kernel, const struct mcp_kernel_group *group,
                           uint32_t more)
{
    for (uint32_t p = 0; p < group->group.nsends + group->group.nwaits; ++p) {
        kernel->neighbour[group->peers[p].link].groups += more;
    }
}

/* States in which the kernel considers the hardware address of a neighbour entry valid. */
enum {
    KNOWN = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE,
};

/* Looks the host up in the kernel's neighbour table, which does not block (rtnetlink(7)). */
static bool query_system(const struct mcp_kernel *kernel, const struct mcp_ip *ip, uint8_t mac[6])
{
    enum { ANSWER = 1024 }; /* bytes; exceeds the size of the reply about one neighbour */
    const struct mcp_address peer = mcp_address_of(ip, 0);
    const bool is_4 = AF_INET == peer.at.any.sa_family;
    struct {
        struct nlmsghdr header;
        struct ndmsg about;
        struct rtattr attribute;
        struct mcp_ip ip;
    } words = {
        .header = {.nlmsg_type = RTM_GETNEIGH, .nlmsg_flags = NLM_F_REQUEST},
        .about = {.ndm_family = (uint8_t)peer.at.any.sa_family,
                  .ndm_ifindex = (int)kernel->address.interface},
        .attribute = {.rta_len = RTA_LENGTH(is_4 ? sizeof(uint32_t) : sizeof(*ip)),
                      .rta_type = NDA_DST},
        .ip = *ip,
    };
    _Alignas(struct nlmsghdr) char answer[ANSWER];
    words.ip.word[0] = is_4 ? ip->word[3] : ip->word[0];
    words.header.nlmsg_len = NLMSG_LENGTH(sizeof(words.about)) + words.attribute.rta_len;
    if (words.header.nlmsg_len != send(kernel->asking, &words, words.header.nlmsg_len, 0)) {
        return false;
    }
    const ssize_t bytes = recv(kernel->asking, answer, sizeof(answer), MSG_DONTWAIT);
    const struct nlmsghdr *reply = (const void *)answer;
    if (bytes < (ssize_t)NLMSG_SPACE(sizeof(struct ndmsg)) || RTM_NEWNEIGH != reply->nlmsg_type) {
        return false;
    }
    const struct ndmsg *about = NLMSG_DATA(reply);
    const struct rtattr *hardware =
        os_find_attribute((const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about))),
                          (size_t)bytes - NLMSG_SPACE(sizeof(*about)), NDA_LLADDR);
    if (0 == (about->ndm_state & KNOWN) || NULL == hardware || 6 != RTA_PAYLOAD(hardware)) {
        return false;
    }
    memcpy(mac, RTA_DATA(hardware), 6);
    return true;
}

/* Makes the kernel resolve the address of the host, by sending a packet to its discard port. (Any
 * packet would have this effect.) */
static void trigger_resolution(const struct mcp_kernel *kernel, const struct mcp_ip *ip)
{
    const struct mcp_address there = mcp_address_of(ip, htons(9));
    (void)!sendto(kernel->bell.socket, "", 1, MSG_DONTWAIT, &there.at.any,
                  mcp_address_bytes(&there));
}

int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY])
{
    struct mcp_kernel_neighbour neighbour = {.ip = *ip, .known = 1};
    char text[MCP_IP_TEXT];
    uint32_t index = mcp_kernel_find_neighbour(kernel, ip);
    if (!query_system(kernel, ip, neighbour.mac)) {
        trigger_resolution(kernel, ip);
        return mcp_kernel_refuse(why, "host %s does not answer on interface %s",
                                 mcp_ip_text(ip, text), kernel->interface);
    }
    if (0 == index) {
        index = find_free_entry(kernel);
        if (0 == index) {
            return mcp_kernel_refuse(why, "the kernel NIC has its maximum number of hosts already");
        }
        kernel->neighbour[index].ip = *ip;
    }
    kernel->neighbour[index].met = ++kernel->meetings;
    return bpf_map__update_elem(kernel->program->maps.neighbours, &index, sizeof(index), &neighbour,
                                sizeof(neighbour), BPF_ANY) < 0
               ? mcp_kernel_refuse(why, "cannot add a host to the kernel NIC: %s", strerror(errno))
               : 0;
}
