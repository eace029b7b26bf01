/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts that run myrd --kernel. The kernel's NIC sends to those only, since otherwise a user
 * could make it send to any host's port. The daemons query each other, from and to the NICs' UDP
 * port. Called by kernel_server.c, and by kernel_meeting.c for each peer of a group to be opened.
 *
 * Invariants: only the recipient of a query can answer it, as it contains a random number. An
 * answer is as long as the query and goes to the NICs' port, which rules out amplification attacks.
 * Neither has the length of a NIC's packet, so the NIC's program passes them on. No function here
 * blocks.
 */
#ifndef MYRD_KERNEL_HOSTS_H
#define MYRD_KERNEL_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/ip.h"

enum { MYRD_HOSTS_MAGIC = 0x4d48, MYRD_HOSTS_VERSION = 1 };

/* On the wire, in the sender's byte order, which the magic reveals. */
enum myrd_hosts_kind { MYRD_HOSTS_QUESTION = 1, MYRD_HOSTS_ANSWER };
struct myrd_hosts_words {
    uint16_t magic;
    uint8_t version;
    uint8_t kind; /* enum myrd_hosts_kind */
    uint32_t zero;
    uint64_t number; /* random; copied from the query to the answer */
};

enum {
    MYRD_HOSTS_KNOWN = 1024,     /* answers cached, one per hash of an address */
    MYRD_HOSTS_FRESH_MS = 10000, /* an answer's time to live */
};

struct myrd_hosts {
    int socket;    /* bound to the NIC's port; owned by the caller */
    uint16_t port; /* network byte order */
    struct {
        struct mcp_ip ip;
        uint64_t until_ms;
    } known[MYRD_HOSTS_KNOWN];
};

/* Attach a filter to the socket that accepts only these messages, since others would fill its
 * queue. Returns false with errno on failure. */
bool myrd_hosts_filter(int socket);

/* True if the host has answered recently. */
bool myrd_hosts_know(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

/* Send a query. The answer, if any, will have this number. */
void myrd_hosts_ask(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t number);

/* Receive messages, and answer queries. Returns true when host `ip` has answered; then call it
 * again. Returns false when no message is left, or, for fairness, after some queries. A caller that
 * recognises the number confirms the host by myrd_hosts_believe(). */
bool myrd_hosts_receive(const struct myrd_hosts *hosts, struct mcp_ip *ip, uint64_t *number);
void myrd_hosts_believe(struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

#endif
