/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which hosts have a myrd --kernel? The kernel's NIC sends to those alone: else a user could have
 * it send to any host's port. The daemons ask each other, from and to the NICs' UDP port. Called by
 * kernel_server.c, and by kernel_meeting.c for each peer of a group to be opened.
 *
 * Invariants: only who got the question can answer it, as it carries a random number. An answer is
 * as long as the question, and goes to the NICs' port, so nobody can have much sent to others. Both
 * have another length than a NIC's packets, so the NIC's program lets them pass. Nothing in here
 * waits.
 */
#ifndef MYRD_KERNEL_HOSTS_H
#define MYRD_KERNEL_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/ip.h"

enum { MYRD_HOSTS_MAGIC = 0x4d48, MYRD_HOSTS_VERSION = 1 };

/* On the wire, in the sender's byte order; the magic shows it. */
enum myrd_hosts_kind { MYRD_HOSTS_QUESTION = 1, MYRD_HOSTS_ANSWER };
struct myrd_hosts_words {
    uint16_t magic;
    uint8_t version;
    uint8_t kind; /* enum myrd_hosts_kind */
    uint32_t zero;
    uint64_t number; /* random; the answer has the question's */
};

enum {
    MYRD_HOSTS_KNOWN = 1024, /* answers that are remembered, one for each remainder of an address */
    MYRD_HOSTS_FRESH_MS = 10000, /* so long does an answer hold */
};

struct myrd_hosts {
    int socket;    /* has the NIC's port; the caller's */
    uint16_t port; /* network byte order */
    struct {
        struct mcp_ip ip;
        uint64_t until_ms;
    } known[MYRD_HOSTS_KNOWN];
};

/* Have the socket take such words, and nothing else: all others would fill its queue. False, with
 * errno, if the system refuses. */
bool myrd_hosts_filter(int socket);

/* Has the host answered lately? */
bool myrd_hosts_know(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

/* Ask it. The answer will have this number, if one comes. */
void myrd_hosts_ask(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t number);

/* Take what has come, and answer questions. True with an answer of this host; call it again then.
 * False when nothing is left, or after some questions: others must have their turn. Whoever knows
 * that the number is right tells by myrd_hosts_believe(). */
bool myrd_hosts_receive(const struct myrd_hosts *hosts, struct mcp_ip *ip, uint64_t *number);
void myrd_hosts_believe(struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

#endif
