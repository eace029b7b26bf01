/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has a myrd --kernel; see kernel_hosts.h. */
#include "myrd/kernel_hosts.h"

#include <linux/filter.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "firmware/wire.h"

enum { QUESTIONS_A_TURN = 32 };

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

static uint32_t place_of(uint32_t ip)
{
    return ntohl(ip) % MYRD_HOSTS_KNOWN;
}

bool myrd_hosts_know(const struct myrd_hosts *hosts, uint32_t ip, uint64_t now_ms)
{
    return ip == hosts->known[place_of(ip)].ip && now_ms < hosts->known[place_of(ip)].until_ms;
}

void myrd_hosts_believe(struct myrd_hosts *hosts, uint32_t ip, uint64_t now_ms)
{
    hosts->known[place_of(ip)].ip = ip;
    hosts->known[place_of(ip)].until_ms = now_ms + MYRD_HOSTS_FRESH_MS;
}

static void say(const struct myrd_hosts *hosts, uint32_t ip, enum myrd_hosts_kind kind,
                uint64_t number)
{
    const struct myrd_hosts_words words = {
        .magic = MYRD_HOSTS_MAGIC,
        .version = MYRD_HOSTS_VERSION,
        .kind = (uint8_t)kind,
        .number = number,
    };
    const struct sockaddr_in there = {
        .sin_family = AF_INET, .sin_addr = {ip}, .sin_port = hosts->port};
    (void)!sendto(hosts->socket, &words, sizeof(words), MSG_DONTWAIT,
                  (const struct sockaddr *)&there, sizeof(there));
}

void myrd_hosts_ask(const struct myrd_hosts *hosts, uint32_t ip, uint64_t number)
{
    say(hosts, ip, MYRD_HOSTS_QUESTION, number);
}

bool myrd_hosts_hear(const struct myrd_hosts *hosts, uint32_t *ip, uint64_t *number)
{
    for (int heard = 0; heard < QUESTIONS_A_TURN; ++heard) {
        struct myrd_hosts_words words;
        struct sockaddr_in from = {.sin_port = 0};
        socklen_t bytes = sizeof(from);
        const ssize_t got = recvfrom(hosts->socket, &words, sizeof(words), MSG_DONTWAIT,
                                     (struct sockaddr *)&from, &bytes);
        if (got < 0) {
            return false;
        }
        if (sizeof(words) != got || MYRD_HOSTS_MAGIC != words.magic ||
            MYRD_HOSTS_VERSION != words.version || hosts->port != from.sin_port) {
            continue;
        }
        if (MYRD_HOSTS_QUESTION == words.kind) {
            say(hosts, from.sin_addr.s_addr, MYRD_HOSTS_ANSWER, words.number);
        } else if (MYRD_HOSTS_ANSWER == words.kind) {
            *ip = from.sin_addr.s_addr;
            *number = words.number;
            return true;
        }
    }
    return false;
}
