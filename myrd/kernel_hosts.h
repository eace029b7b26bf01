/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovers which hosts run myrd --kernel. The kernel NIC sends only to these hosts; otherwise a
 * user could make it send packets to any host. The daemons query each other, from and to the UDP
 * port of their NICs. Called by kernel_server.c, and by kernel_meeting.c for each peer of a group
 * that is to be opened.
 *
 * - A query contains a random number, so only its recipient can reply.
 * - A reply is as long as the query and is sent to the port of the NICs, which rules out
 *   amplification attacks.
 * - The lengths of queries and replies differ from the lengths of the NIC's packets, so the program
 *   of the NIC passes them on to the socket.
 * - No function here blocks. */
#ifndef MYRD_KERNEL_HOSTS_H
#define MYRD_KERNEL_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/ip.h"

enum { MYRD_HOSTS_MAGIC = 0x4d48, MYRD_HOSTS_VERSION = 1 };

/* A message on the wire, in the byte order of the sender, which the receiver recognizes by the
 * magic number. */
enum myrd_hosts_kind { MYRD_HOSTS_QUESTION = 1, MYRD_HOSTS_ANSWER };
struct myrd_hosts_words {
    uint16_t magic;
    uint8_t version;
    uint8_t kind; /* enum myrd_hosts_kind */
    uint32_t zero;
    uint64_t number; /* random; copied from the query to the answer */
};

enum {
    MYRD_HOSTS_KNOWN = 1024,     /* cached replies, one per hash of an address */
    MYRD_HOSTS_FRESH_MS = 10000, /* time to live of a reply */
};

struct myrd_hosts {
    int socket;    /* bound to the NIC's port; owned by the caller */
    uint16_t port; /* network byte order */
    struct {
        struct mcp_ip ip;
        uint64_t until_ms;
    } known[MYRD_HOSTS_KNOWN];
};

/* Attaches a filter to the socket that accepts only these messages, because other packets could
 * fill its queue. Returns false with errno on failure. */
bool myrd_hosts_filter(int socket);

/* Returns whether the host has replied recently. */
bool myrd_hosts_know(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

/* Sends a query. The reply, if there is one, will contain this number. */
void myrd_hosts_ask(const struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t number);

/* myrd_hosts_receive() replies to the queries of other hosts. When it has received a reply, it
 * returns true, with the address of the replying host and the number in the reply. If this is the
 * number of one of its own queries, the caller confirms the host by myrd_hosts_believe(). The
 * caller repeats this until the function returns false, because no message is left or, for
 * fairness, because it has replied to several queries. */
bool myrd_hosts_receive(const struct myrd_hosts *hosts, struct mcp_ip *ip, uint64_t *number);
void myrd_hosts_believe(struct myrd_hosts *hosts, const struct mcp_ip *ip, uint64_t now_ms);

#endif
