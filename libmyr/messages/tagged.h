/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged messages: sends and receives with MPI's envelopes, matched as MPI wants it
 * (firmware/match.h), of any length.
 *
 * Each process has one endpoint. It is a port with a table for matching, and the protocol that
 * moves what a port does not: long messages, to where the receiver wants them (rendezvous; Zhang,
 * "MPI Collective Operations over Myrinet", section 2.4).
 *
 *   bytes                     same node                         another node
 *   up to MYR_TAGGED_SHORT    through the receiver's inlet      one message of the port (eager),
 *   up to a buffer            a buffer that both share          as long as there are credits
 *   more                      the receiver reads the sender's   the receiver asks (PULL), the
 *                             memory, if it may                 sender sends fragments (DATA)
 *
 * A synchronous send is always an offer, which is done when it is matched.
 *
 * Between two endpoints there is a channel with credits, as in MPI-NP II (thesis, section 2.4): so
 * many messages of a sender wait at a receiver, and those beyond wait at the sender. So no sender
 * holds up another one, and what a receiver has to keep is bounded. Between nodes no more than
 * MYR_TAGGED_CREDITS of them are eager; others are offers, of which the receiver keeps a line only.
 *
 * Threads: one thread at a time uses an endpoint, with all of its peers and requests.
 */
#ifndef MYR_TAGGED_H
#define MYR_TAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/match.h"
#include "libmyr/messages/port.h"
#include "libmyr/node/direct.h"
#include "libmyr/soft/nic.h"

enum {
    MYR_TAGGED_FORMAT = 1,   /* in another byte order it is another number */
    MYR_TAGGED_SHORT = 216,  /* bytes */
    MYR_TAGGED_CREDITS = 32, /* for each peer on another node */
};

struct myr_tagged;
struct myr_tagged_peer;

/* What others must know of an endpoint: plain data. */
struct myr_tagged_name {
    uint32_t format; /* of all that endpoints say to each other; MYR_TAGGED_FORMAT */
    uint32_t zero;
    struct myr_port_name port;
    struct myr_direct direct;
    uint32_t buffer_bytes; /* must be the same on both sides */
    uint32_t messages;     /* from each peer that may wait there */
};

struct myr_tagged_options {
    uint64_t id;           /* the own endpoint's: any number, another one in each process */
    uint32_t messages;     /* from each peer that wait for a receive, 1 to 65535; 0: 16384 */
    uint32_t peers;        /* so many may send; 0: unknown. With many, `messages` are fewer: what
                              they all may send has room here (MCP_MATCH_MOST), since a message
                              without room would keep out the answers that come behind it */
    uint32_t buffers;      /* for messages that come, and half as many for those that leave; 0: up
                              to 64, by halves down to 8 where `share` or the memory is too small */
    size_t share;          /* bytes of shared memory that such buffers may take; 0: any */
    uint32_t buffer_bytes; /* of each; 0: 32 KiB */
    bool direct;           /* read others' memory where that is possible */
    /* Something has come from a process that nobody has connected to yet: connect to it. NULL if
     * that cannot be. myr_tagged_progress() calls it. */
    struct myr_tagged_peer *(*meet)(void *context, uint64_t id);
    /* Messages to this process were lost for good. */
    void (*lost)(void *context, uint64_t id, enum myr_status status);
    void *context;
    uint32_t piece_bytes; /* longer messages are read by pieces; 0: each at once */
};

enum myr_status myr_tagged_open(struct myr_soft_nic *nic, const struct myr_tagged_options *options,
                                struct myr_tagged **tagged, struct myr_error *error);

/* Close it at once. Requests that are not done are dropped without notice. */
void myr_tagged_close(struct myr_tagged *tagged);

void myr_tagged_get_name(const struct myr_tagged *tagged, struct myr_tagged_name *name);

/* Another endpoint, or this one. It is valid until this endpoint is closed. */
enum myr_status myr_tagged_connect(struct myr_tagged *tagged, uint64_t id,
                                   const struct myr_tagged_name *name,
                                   struct myr_tagged_peer **peer, struct myr_error *error);

/* The peer with that number; NULL: nobody has connected to it. */
struct myr_tagged_peer *myr_tagged_peer(const struct myr_tagged *tagged, uint64_t id);

/* Is it on this node? */
bool myr_tagged_is_near(const struct myr_tagged_peer *peer);

/* A send or a receive, from its start until it is done. The memory is the caller's. */
struct myr_tagged_request {
    /* Of one that is done. */
    enum myr_status status; /* MYR_ERR_TOO_LONG: the message was longer than the buffer */
    bool cancelled;
    struct mcp_envelope envelope; /* of a receive: the message's */
    uint64_t bytes;               /* of a receive: the message's, even if it was too long */

    /* The endpoint's. */
    struct myr_tagged_request *next;
    struct myr_tagged_peer *peer;
    uint8_t *buffer;
    uint64_t wanted, moved; /* bytes of the buffer */
    uint32_t here, there;   /* numbers by which the two sides know it */
    mcp_match_place place;  /* in the table, */
    bool posted;            /* ... where it is; never of a send */
    uint64_t given, from;   /* of a message that is read by pieces: bytes; where it is */
    bool refused;           /* ... and a piece could not be read */
};

/*
 * Send. The tag may be hidden (match.h). True: it is done, and the buffer is the caller's again.
 * False: myr_tagged_done() will return it.
 */
bool myr_tagged_send(struct myr_tagged *tagged, struct myr_tagged_peer *to,
                     const struct mcp_envelope *envelope, const void *buffer, uint64_t bytes,
                     bool synchronous, struct myr_tagged_request *request);

/* Receive a message of up to `room` bytes; returns as above. */
bool myr_tagged_receive(struct myr_tagged *tagged, const struct mcp_pattern *pattern, void *buffer,
                        uint64_t room, struct myr_tagged_request *request);

/* Cancel a receive. False if it has a message already. It is done either way, now or later. */
bool myr_tagged_cancel(struct myr_tagged *tagged, struct myr_tagged_request *request);

/* Is there a message that a receive would get? */
bool myr_tagged_probe(const struct myr_tagged *tagged, const struct mcp_pattern *pattern,
                      struct mcp_envelope *envelope, uint64_t *bytes);

/* The same, and take it out. NULL: there is none. Then receive it. */
struct myr_tagged_message;
struct myr_tagged_message *myr_tagged_take(struct myr_tagged *tagged,
                                           const struct mcp_pattern *pattern,
                                           struct mcp_envelope *envelope, uint64_t *bytes);
bool myr_tagged_receive_taken(struct myr_tagged *tagged, struct myr_tagged_message *message,
                              void *buffer, uint64_t room, struct myr_tagged_request *request);

/* Take what has come and send what can be sent. Returns how many messages have come. */
uint32_t myr_tagged_progress(struct myr_tagged *tagged);

/* The same for a thread that runs the endpoint while its host computes. It calls none of the host's
 * functions. What needs one waits for the host. */
uint32_t myr_tagged_run(struct myr_tagged *tagged);

/*
 * That thread sleeps in this order: nap, run the endpoint, and if there was nothing, sleep. It is
 * woken when a neighbour offers a message, wants one that was offered, sends data of it or finds no
 * room here, and when there are pieces to read. Packets between nodes do not wake it. These two may
 * be called while another thread uses the endpoint.
 */
void myr_tagged_nap(struct myr_tagged *tagged);
bool myr_tagged_sleep(struct myr_tagged *tagged, uint32_t timeout_us); /* true: it was woken */
void myr_tagged_wake(struct myr_tagged *tagged);

/*
 * With `piece_bytes`, long messages of neighbours are read by who asks for pieces. Another thread
 * may use the endpoint while pieces are being read, and read others. Take a piece (false: there is
 * none), read it, and then say whether that went well.
 */
struct myr_tagged_piece {
    struct myr_tagged_request *request;
    uint64_t at, bytes;
};
bool myr_tagged_has_pieces(const struct myr_tagged *tagged);
bool myr_tagged_piece_take(struct myr_tagged *tagged, struct myr_tagged_piece *piece);
bool myr_tagged_piece_read(const struct myr_tagged_piece *piece);
void myr_tagged_piece_end(struct myr_tagged *tagged, const struct myr_tagged_piece *piece,
                          bool read);

/* What an endpoint counts, with words for people. */
#define MYR_TAGGED_COUNTERS(COUNTER)                                                               \
    COUNTER(eager, "messages that were sent at once, as a whole")                                  \
    COUNTER(stored, "messages that were sent in a buffer that both processes share")               \
    COUNTER(offered, "messages that were offered: their data move when a receive has matched")     \
    COUNTER(bytes_sent, "bytes of all messages that were sent or offered")                         \
    COUNTER(delayed, "messages and answers that had to wait for room or credit at their receiver") \
    COUNTER(unexpected, "messages that have come before their receives")

struct myr_tagged_counters {
#define COUNTER(name, text) uint64_t name;
    MYR_TAGGED_COUNTERS(COUNTER)
#undef COUNTER
};
const struct myr_tagged_counters *myr_tagged_count(const struct myr_tagged *tagged);

/* The next request that is done. NULL: there is none. */
struct myr_tagged_request *myr_tagged_done(struct myr_tagged *tagged);

/* Is the NIC of no use any more? Then nothing moves between nodes, nor long messages here. */
bool myr_tagged_broken(const struct myr_tagged *tagged);

/* Has a NIC been silent (myr_port_unheard())? `id` is that of a peer there. */
bool myr_tagged_unheard(struct myr_tagged *tagged, uint32_t who, uint32_t least_s,
                        struct myr_unheard *unheard, uint64_t *id);

/* Is there more to do in no time: for the network, or for who wants data of a message? */
bool myr_tagged_expects(const struct myr_tagged *tagged);

/* Is anything under way that others wait for: not yet sent, or not yet acknowledged? */
bool myr_tagged_busy(const struct myr_tagged *tagged);

#endif
