/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP sockets of the soft NIC; see udp.h.
 *
 * Packets of equal size to one destination are sent as a chain (UDP_SEGMENT). If the caller enables
 * it, they are also received as a chain (UDP_GRO). A long message thus traverses the network stack
 * once per chain instead of once per packet. */
#include "firmware/soft/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/calls.h"

enum {
    SOCKET_BUFFER = 4 << 20, /* bytes; the system may allow less */
    CHAIN_PACKETS = 44,      /* 64 KiB in packets of 1500 bytes */
    ANY_PORT = 9,            /* for connect() alone; no packet is sent */
};

/* Binds the socket to the address if there is only one, otherwise to the wildcard address. */
static bool bind_socket(int s, int family, const struct mcp_local_address *addresses,
                        uint32_t count, uint16_t port)
{
    int only_6 = 1;
    for (uint32_t a = 0; a < count; ++a) {
        only_6 = only_6 && !mcp_ip_is_4(&addresses[a].ip);
    }
    const struct mcp_ip any = AF_INET6 == family ? mcp_ip_none() : mcp_ip_of_4(INADDR_ANY);
    const struct mcp_address address =
        mcp_address_for(family, 1 == count ? &addresses[0].ip : &any, htons(port));
    return (AF_INET6 != family ||
            0 == setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &only_6, sizeof(only_6))) &&
           0 == bind(s, &address.at.any, mcp_address_bytes(&address));
}

int mcp_udp_socket(const struct mcp_local_address *addresses, uint32_t count, uint16_t port)
{
    const int buffer = SOCKET_BUFFER;
    int family = AF_INET;
    for (uint32_t a = 0; a < count; ++a) {
        family = mcp_ip_is_4(&addresses[a].ip) ? family : AF_INET6;
    }
    const int s = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0) {
        return -1;
    }
    /* Buffer sizes are best effort. */
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) < 0) {
        (void)setsockopt(s, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
    (void)setsockopt(s, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    if (!bind_socket(s, family, addresses, count, port)) {
        const int err = errno;
        close(s);
        errno = err;
        return -1;
    }
    return s;
}

/* Returns the address to which the UDP socket is bound; the family is AF_UNSPEC if it is not a UDP
 * socket. */
static struct mcp_address bound_address(int socket)
{
    struct mcp_address address = {.at.any.sa_family = AF_UNSPEC};
    socklen_t bytes = sizeof(address);
    int type = 0;
    socklen_t type_bytes = sizeof(type);
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &type_bytes) < 0 || SOCK_DGRAM != type ||
        getsockname(socket, &address.at.any, &bytes) < 0 ||
        (AF_INET != address.at.any.sa_family && AF_INET6 != address.at.any.sa_family)) {
        address.at.any.sa_family = AF_UNSPEC;
    }
    return address;
}

uint16_t mcp_udp_port(int socket)
{
    const struct mcp_address address = bound_address(socket);
    return AF_UNSPEC == address.at.any.sa_family ? 0 : mcp_address_port(&address);
}

void mcp_udp_want_chains(int socket)
{
    const int one = 1;
    (void)setsockopt(socket, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
}

uint32_t mcp_udp_mtu(const struct mcp_ip *to)
{
    enum { LONGER = 20 }; /* difference between the sizes of the IPv6 and IPv4 headers */
    const bool is_4 = mcp_ip_is_4(to);
    const struct mcp_address address =
        mcp_address_for(is_4 ? AF_INET : AF_INET6, to, htons(ANY_PORT));
    int mtu = 0;
    socklen_t bytes = sizeof(mtu);
    const int s = socket(address.at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s >= 0) {
        if (connect(s, &address.at.any, mcp_address_bytes(&address)) < 0 ||
            getsockopt(s, is_4 ? IPPROTO_IP : IPPROTO_IPV6, is_4 ? IP_MTU : IPV6_MTU, &mtu,
                       &bytes) < 0) {
            mtu = 0;
        }
        close(s);
    }
    mtu -= is_4 ? 0 : LONGER;
    return mtu > 0 ? (uint32_t)mtu : 0;
}

/* The arguments of one sendmmsg() call. */
struct mcp_udp_batch {
    unsigned int count;
    uint32_t packets[MCP_UDP_OUTBOX];  /* per message */
    size_t head_bytes[MCP_UDP_OUTBOX]; /* of each message's first packet */
    struct mmsghdr messages[MCP_UDP_OUTBOX];
    uint32_t nparts;
    struct iovec parts[2 * MCP_UDP_OUTBOX];
    _Alignas(struct cmsghdr) uint8_t control[MCP_UDP_OUTBOX][CMSG_SPACE(sizeof(uint16_t))];
};

static void free_buffers(struct mcp_udp *udp)
{
    free(udp->inbox);
    free(udp->batch);
    udp->inbox = NULL;
    udp->batch = NULL;
}

bool mcp_udp_open(struct mcp_udp *udp, int socket)
{
    udp->socket = socket;
    udp->family = bound_address(socket).at.any.sa_family;
    udp->gathered = 0;
    udp->chains = true;
    udp->inbox = malloc(MCP_UDP_CHAIN_MOST);
    udp->batch = malloc(sizeof(*udp->batch));
    if (NULL == udp->inbox || NULL == udp->batch) {
        free_buffers(udp);
        return false;
    }
    return true;
}

void mcp_udp_close(struct mcp_udp *udp)
{
    close(udp->socket);
    free_buffers(udp);
}

/* ---- sending ---- */

static size_t packet_bytes(const struct mcp_udp_packet *packet)
{
    return mcp_header_bytes(packet->header.type) + packet->payload_bytes;
}

/* Returns the number of packets from `first` on that can form a chain. All but the last are of
 * equal size. */
static uint32_t chain_from(const struct mcp_udp *udp, uint32_t first)
{
    const struct mcp_udp_packet *head = &udp->outbox[first];
    const size_t size = packet_bytes(head);
    size_t sum = size;
    uint32_t count = 1;
    while (udp->chains && first + count < udp->gathered && count < CHAIN_PACKETS) {
        const struct mcp_udp_packet *next = &udp->outbox[first + count];
        const size_t bytes = packet_bytes(next);
        if (!mcp_same_address(&head->to, &next->to) || bytes > size ||
            sum + bytes > MCP_UDP_CHAIN_MOST - 28) {
            break;
        }
        sum += bytes;
        ++count;
        if (bytes < size) {
            break;
        }
    }
    return count;
}

static void add_gso_size(struct msghdr *message, uint8_t *control, uint16_t size)
{
    memset(control, 0, CMSG_SPACE(sizeof(size)));
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(sizeof(size));
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
    cmsg->cmsg_level = IPPROTO_UDP;
    cmsg->cmsg_type = UDP_SEGMENT;
    cmsg->cmsg_len = CMSG_LEN(sizeof(size));
    memcpy(CMSG_DATA(cmsg), &size, sizeof(size));
}

/* Adds `count` packets from `first` on as one message. */
static void add_message(struct mcp_udp *udp, struct mcp_udp_batch *batch, uint32_t first,
                        uint32_t count)
{
    struct mcp_udp_packet *head = &udp->outbox[first];
    const unsigned int m = batch->count++;
    struct iovec *parts = &batch->parts[batch->nparts];
    for (uint32_t i = first; i < first + count; ++i) {
        struct mcp_udp_packet *packet = &udp->outbox[i];
        batch->parts[batch->nparts++] =
            (struct iovec){&packet->header, mcp_header_bytes(packet->header.type)};
        if (0 != packet->payload_bytes) {
            batch->parts[batch->nparts++] =
                (struct iovec){(void *)packet->payload, packet->payload_bytes};
        }
    }
    batch->packets[m] = count;
    batch->head_bytes[m] = packet_bytes(head);
    batch->messages[m].msg_hdr = (struct msghdr){
        .msg_name = &head->to,
        .msg_namelen = mcp_address_bytes(&head->to),
        .msg_iov = parts,
        .msg_iovlen = (size_t)(&batch->parts[batch->nparts] - parts),
    };
    if (count > 1) {
        add_gso_size(&batch->messages[m].msg_hdr, batch->control[m], (uint16_t)packet_bytes(head));
    }
}

/* Sends a single packet without payload. This is the fast path, because a step of a collective
 * usually sends such a packet to one peer. */
static uint32_t send_single_packet(const struct mcp_udp *udp, const struct mcp_udp_packet *packet)
{
    long sent;
    do {
        sent = os_send_to(udp->socket, &packet->header, mcp_header_bytes(packet->header.type),
                          MSG_NOSIGNAL, &packet->to, mcp_address_bytes(&packet->to));
    } while (-EINTR == sent);
    return sent < 0;
}

/* Returns whether an error may be caused by the chain rather than its destination. A kernel or an
 * interface without segmentation offload reports various errors (udp_send_skb(), udp_cmsg_send()),
 * some of which may also mean that there is no route. */
static bool may_mean_chains(int error)
{
    return EIO == error || EINVAL == error || EMSGSIZE == error || EOPNOTSUPP == error ||
           ENOPROTOOPT == error;
}

/* Sends only the first packet of a refused chain, to find out whether the chain or the destination
 * was refused. The other packets are lost. */
static bool send_chain_head(const struct mcp_udp *udp, struct msghdr *chain, size_t head_bytes)
{
    size_t parts = 0;
    for (size_t bytes = 0; bytes < head_bytes; ++parts) {
        bytes += chain->msg_iov[parts].iov_len;
    }
    chain->msg_iovlen = parts;
    chain->msg_control = NULL;
    chain->msg_controllen = 0;
    return sendmsg(udp->socket, chain, MSG_NOSIGNAL) >= 0;
}

/* Sends the batch. Returns the number of packets that the kernel did not accept; they are lost. */
static uint32_t send_batch(struct mcp_udp *udp, struct mcp_udp_batch *batch)
{
    uint32_t failed = 0;
    for (unsigned int first = 0; first < batch->count;) {
        const int sent =
            sendmmsg(udp->socket, &batch->messages[first], batch->count - first, MSG_NOSIGNAL);
        if (sent > 0) {
            first += (unsigned int)sent;
        } else if (EINTR != errno) {
            failed += batch->packets[first];
            if (batch->packets[first] > 1 && may_mean_chains(errno) &&
                send_chain_head(udp, &batch->messages[first].msg_hdr, batch->head_bytes[first])) {
                --failed;
                udp->chains = false;
            }
            ++first;
        }
    }
    return failed;
}

uint32_t mcp_udp_flush(struct mcp_udp *udp)
{
    if (1 == udp->gathered && 0 == udp->outbox[0].payload_bytes) {
        udp->gathered = 0;
        return send_single_packet(udp, &udp->outbox[0]);
    }
    struct mcp_udp_batch *batch = udp->batch;
    batch->count = 0;
    batch->nparts = 0;
    for (uint32_t first = 0; first < udp->gathered;) {
        const uint32_t count = chain_from(udp, first);
        add_message(udp, batch, first, count);
        first += count;
    }
    udp->gathered = 0;
    return send_batch(udp, batch);
}

/* ---- receiving ---- */

/* Returns the packet size of a received chain. */
static size_t chain_packet_bytes(struct msghdr *message, size_t whole)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); NULL != cmsg;
         cmsg = CMSG_NXTHDR(message, cmsg)) {
        if (IPPROTO_UDP == cmsg->cmsg_level && UDP_GRO == cmsg->cmsg_type) {
            int size = 0;
            memcpy(&size, CMSG_DATA(cmsg), sizeof(size));
            return size > 0 ? (size_t)size : whole;
        }
    }
    return whole;
}

/* Receives a datagram or a chain. */
static long receive_chain(struct mcp_udp *udp, struct mcp_address *from, size_t *each_bytes)
{
    struct iovec part = {udp->inbox, MCP_UDP_CHAIN_MOST};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {
        .msg_name = from,
        .msg_namelen = sizeof(*from),
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    const ssize_t taken = recvmsg(udp->socket, &message, MSG_DONTWAIT);
    *each_bytes = taken > 0 ? chain_packet_bytes(&message, (size_t)taken) : 0;
    return taken;
}

static long receive_datagram(struct mcp_udp *udp, struct mcp_address *from, size_t *each_bytes)
{
    const long taken = os_receive_from(udp->socket, udp->inbox, MCP_UDP_CHAIN_MOST, MSG_DONTWAIT,
                                       from, sizeof(*from));
    *each_bytes = taken > 0 ? (size_t)taken : 0;
    return taken;
}

/* Packets of collectives arrive one at a time, so the cheapest call is used. For one datagram,
 * recvfrom() takes 0.35 us, recvmsg() 0.43 us and recvmmsg() 0.63 us. If no datagram has arrived,
 * they take 0.16, 0.2 and 0.25 us. */
long mcp_udp_take(struct mcp_udp *udp, bool chains, mcp_udp_fn each, void *context)
{
    struct mcp_address from = {.at.ip6 = {.sin6_family = AF_UNSPEC}};
    size_t size;
    const long taken =
        chains ? receive_chain(udp, &from, &size) : receive_datagram(udp, &from, &size);
    if (taken < 0) {
        return MCP_UDP_NOTHING;
    }
    size_t done = 0;
    do { /* at least once, because an empty datagram is a packet as well */
        const size_t left = (size_t)taken - done;
        each(context, &from, udp->inbox + done, left < size ? left : size);
        done += size;
    } while (done < (size_t)taken);
    return taken;
}
