/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of hosts that run myrd --kernel; see kernel_hosts.h. */
#include "myrd/kernel_hosts.h"

#include <linux/filter.h>
#include <linux/udp.h>
#include <sys/socket.h>

#include "firmware/soft/addresses.h"
#include "firmware/wire.h"

enum { REQUESTS_PER_ITERATION = 32 };

_Static_assert(sizeof(struct myrd_hosts_words) != MCP_COLLECTIVE_BYTES,
               "the NIC's program must not look at them");

bool myrd_hosts_filter(int socket)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sizeof(struct udphdr) + sizeof(struct myrd_hosts_words),
                 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
    return 0 == setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

/* Hashes an address. Both halves of the last 64 bits are used, because the interface number of an
 * IPv6 address may be in either half. */
static uint32_t bucket_of(const struct mcp_ip *ip)
{
    return (ntohl(ip->word[3]) ^ (mcp_ip_is_4(ip) ? 0 : ntohl(ip->word[2]))) % MYRD_HOSTS_KNOWN;
}

bool myrd_hosts_know(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms)
{
    return mcp_same_ip(ip, &hosts->known[bucket_of(ip)].ip) &&
           now_ms < hosts->known[bucket_of(ip)].until_ms;
}

void myrd_hosts_believe(struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms)
{
    hosts->known[bucket_of(ip)].ip = *ip;
    hosts->known[bucket_of(ip)].until_ms = now_ms + MYRD_HOSTS_FRESH_MS;
}

static void send_words(const struct myrd_hosts *hosts, const struct mcp_address *there,
                       enum myrd_hosts_kind kind, uint64_t number)
{
    const struct myrd_hosts_words words = {
        .magic = MYRD_HOSTS_MAGIC,
        .version = MYRD_HOSTS_VERSION,
        .kind = (uint8_t)kind,
        .number = number,
    };
    (void)!sendto(hosts->socket, &words, sizeof(words), MSG_DONTWAIT, &there->at.any,
                  mcp_address_bytes(there));
}

void myrd_hosts_ask(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t number)
{
    const struct mcp_address there = mcp_address_of(ip, hosts->port);
    send_words(hosts, &there, MYRD_HOSTS_QUESTION, number);
}

bool myrd_hosts_receive(const struct myrd_hosts *hosts, struct mcp_ip *ip, uint64_t *number)
{
    for (int heard = 0; heard < REQUESTS_PER_ITERATION; ++heard) {
        struct myrd_hosts_words words;
        struct mcp_address from = {.at.ip6 = {.sin6_family = AF_UNSPEC}};
        socklen_t bytes = sizeof(from);
        const ssize_t got =
            recvfrom(hosts->socket, &words, sizeof(words), MSG_DONTWAIT, &from.at.any, &bytes);
        if (got < 0) {
            return false;
        }
        if (sizeof(words) != got || MYRD_HOSTS_MAGIC != words.magic ||
            MYRD_HOSTS_VERSION != words.version || hosts->port != mcp_address_port(&from)) {
            continue;
        }
        if (MYRD_HOSTS_QUESTION == words.kind) {
            send_words(hosts, &from, MYRD_HOSTS_ANSWER, words.number);
        } else if (MYRD_HOSTS_ANSWER == words.kind) {
            *ip = mcp_address_ip(&from);
            *number = words.number;
            return true;
        }
    }
    return false;
}
