/* SPDX-License-Identifier: BSD-3-Clause */
/* Tagged messages: sends and receives with MPI's envelopes and matching rules (firmware/match.h),
 * of any length.
 *
 * Each process has one endpoint: a port, a matching table, and the protocol for what a port does
 * not do, which is to move long messages directly into the receiver's buffer (rendezvous; Zhang,
 * "MPI Collective Operations over Myrinet", section 2.4).
 *
 *   bytes                     same node                         another node
 *   up to MYR_TAGGED_SHORT    through the receiver's inlet      one message of the port (eager),
 *   up to a buffer            a shared buffer                   as long as there are credits
 *   more                      the receiver reads the sender's   the receiver asks (PULL), the
 *                             memory, if it may                 sender sends fragments (DATA)
 *
 * A synchronous send is always an offer (rendezvous), which completes when it is matched.
 *
 * Between two endpoints there is a channel with credits, as in MPI-NP II (thesis, section 2.4):
 * they limit the messages of a sender that wait at a receiver, and further ones wait at the sender.
 * So no sender holds up another one, and a receiver's memory is bounded. A receiver that waits for
 * a message grants more to senders that are out of credits, since the message may be among those
 * that they hold back. Between nodes at most MYR_TAGGED_CREDITS of them are eager; others are
 * offers, of which the receiver keeps a line only.
 *
 * Threads: one thread at a time uses an endpoint, with all of its peers and requests. */
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
    MYR_TAGGED_FORMAT = 2,   /* reads as another number in the other byte order */
    MYR_TAGGED_SHORT = 216,  /* bytes */
    MYR_TAGGED_CREDITS = 32, /* for each peer on another node */
};

struct myr_tagged;
struct myr_tagged_peer;

/* The address of an endpoint: plain data. */
struct myr_tagged_name {
    uint32_t format; /* of the protocol between endpoints; MYR_TAGGED_FORMAT */
    uint32_t zero;
    struct myr_port_name port;
    struct myr_direct direct;
    uint32_t buffer_bytes; /* must be the same on both sides */
    uint32_t messages;     /* that may wait there, from each peer, at first */
};

struct myr_tagged_options {
    uint64_t id;       /* of this endpoint: any number that is unique among the processes */
    uint32_t messages; /* initial limit of messages from each peer that wait for a receive; grows if
                        * a receive waits for a later message. 1 to 65535; 0: 16384 */
    uint32_t peers; /* the number of possible senders; 0: unknown. If there are many, `messages` is
                     * reduced so that the messages of all peers fit into half of the table
                     * (MCP_MATCH_MOST), because a message without room would block the answers
                     * behind it. Peers whose limit grows use the other half */
    uint32_t buffers; /* receive buffers, and half as many for sends; 0: up to 64, halved down to 8
                         if `share` or the memory is too small */
    size_t share;     /* limit of shared memory for such buffers (bytes); 0: none */
    uint32_t buffer_bytes; /* of each; 0: 32 KiB */
    bool direct;           /* read other processes' memory if possible */
    /* A message has arrived from a process without a connection: connect to it. NULL if that fails.
     * Called by myr_tagged_progress(). */
    struct myr_tagged_peer *(*meet)(void *context, uint64_t id);
    /* Messages to this process were lost for good. */
    void (*lost)(void *context, uint64_t id, enum myr_status status);
    void *context;
    uint32_t piece_bytes; /* longer messages are read in pieces; 0: each at once */
};

enum myr_status myr_tagged_open(struct myr_soft_nic *nic, const struct myr_tagged_options *options,
                                struct myr_tagged **tagged, struct myr_error *error);

/* Close an endpoint at once. Incomplete requests are dropped without notice. */
void myr_tagged_close(struct myr_tagged *tagged);

void myr_tagged_get_name(const struct myr_tagged *tagged, struct myr_tagged_name *name);

/* Connect to another endpoint, or to this one. Valid until this endpoint is closed. */
enum myr_status myr_tagged_connect(struct myr_tagged *tagged, uint64_t id,
                                   const struct myr_tagged_name *name,
                                   struct myr_tagged_peer **peer, struct myr_error *error);

/* The peer with that id; NULL: not connected. */
struct myr_tagged_peer *myr_tagged_peer(const struct myr_tagged *tagged, uint64_t id);

/* Is the peer on this node? */
bool myr_tagged_is_near(const struct myr_tagged_peer *peer);

/* A send or a receive, from its start to its completion. The caller owns the memory. */
struct myr_tagged_request {
    /* Of a completed request. */
    enum myr_status status; /* MYR_ERR_TOO_LONG: the message was longer than the buffer */
    bool cancelled;
    struct mcp_envelope envelope; /* of a receive: of the message */
    uint64_t bytes;               /* of a receive: of the message, even if it was too long */

    /* Private to the endpoint. */
    struct myr_tagged_request *next;
    struct myr_tagged_peer *peer;
    uint8_t *buffer;
    uint64_t wanted, moved; /* bytes of the buffer */
    uint32_t here, there;   /* the numbers that identify it on the two sides */
    mcp_match_place place;  /* its place in the table, */
    bool posted;            /* ... while it is there; never of a send */
    uint64_t given, from;   /* of a message that is read in pieces: its bytes and address */
    bool refused;           /* ... and a piece could not be read */
};

/* Send a message, whose tag may be hidden (match.h). Returns true if the request has completed, so
 * that the buffer is the caller's again. Otherwise myr_tagged_done() returns the request later. */
bool myr_tagged_send(struct myr_tagged *tagged, struct myr_tagged_peer *to,
                     const struct mcp_envelope *envelope, const void *buffer, uint64_t bytes,
                     bool synchronous, struct myr_tagged_request *request);

/* Receive a message of up to `room` bytes. Returns true if the request has completed; otherwise
 * myr_tagged_done() returns it later. */
bool myr_tagged_receive(struct myr_tagged *tagged, const struct mcp_pattern *pattern, void *buffer,
                        uint64_t room, struct myr_tagged_request *request);

/* Cancel a receive. Returns false if it has matched already. In either case the request completes,
 * now or later. */
bool myr_tagged_cancel(struct myr_tagged *tagged, struct myr_tagged_request *request);

/* Is there a message that such a receive would match? */
bool myr_tagged_probe(struct myr_tagged *tagged, const struct mcp_pattern *pattern,
                      struct mcp_envelope *envelope, uint64_t *bytes);

/* The same, but remove the message from matching; receive it afterwards. NULL: there is none. */
struct myr_tagged_message;
struct myr_tagged_message *myr_tagged_take(struct myr_tagged *tagged,
                                           const struct mcp_pattern *pattern,
                                           struct mcp_envelope *envelope, uint64_t *bytes);
bool myr_tagged_receive_taken(struct myr_tagged *tagged, struct myr_tagged_message *message,
                              void *buffer, uint64_t room, struct myr_tagged_request *request);

/* Process received messages and send what can be sent. Returns the number of messages received. */
uint32_t myr_tagged_progress(struct myr_tagged *tagged);

/* The same for a thread that runs the endpoint while its host computes. It calls none of the host's
 * functions; work that needs one waits for the host. */
uint32_t myr_tagged_run(struct myr_tagged *tagged);

/* The sleep of that thread, in this order: nap, run the endpoint, and if there was nothing, sleep.
 * It is woken when a process of this node offers a message, wants one that was offered, sends its
 * data or finds no room here, and when there are pieces to read. Packets from other nodes do not
 * wake it. The first two may be called while another thread uses the endpoint. */
void myr_tagged_nap(struct myr_tagged *tagged);
bool myr_tagged_sleep(struct myr_tagged *tagged, uint32_t timeout_us); /* true: woken */
void myr_tagged_wake(struct myr_tagged *tagged);

/* With `piece_bytes`, the callers of these functions read long messages of this node in pieces.
 * Another thread may use the endpoint while pieces are being read, and read others. Take a piece
 * (false: there is none), read it, then report whether that succeeded. */
struct myr_tagged_piece {
    struct myr_tagged_request *request;
    uint64_t at, bytes;
};
bool myr_tagged_has_pieces(const struct myr_tagged *tagged);
bool myr_tagged_piece_take(struct myr_tagged *tagged, struct myr_tagged_piece *piece);
bool myr_tagged_piece_read(const struct myr_tagged_piece *piece);
void myr_tagged_piece_end(struct myr_tagged *tagged, const struct myr_tagged_piece *piece,
                          bool read);

/* An endpoint's counters, with their descriptions. */
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

/* The next completed request. NULL: there is none. */
struct myr_tagged_request *myr_tagged_done(struct myr_tagged *tagged);

/* Is the NIC unusable? Then neither messages between nodes nor long ones on this node make
 * progress. */
bool myr_tagged_broken(const struct myr_tagged *tagged);

/* Is a NIC unresponsive (myr_port_unresponsive())? `id` becomes that of a peer there. */
bool myr_tagged_unresponsive(struct myr_tagged *tagged, uint32_t who, uint32_t least_s,
                             struct myr_unresponsive *unresponsive, uint64_t *id);

/* Is more work expected immediately, from the network or from a peer that wants the data of a
 * message? */
bool myr_tagged_expects(const struct myr_tagged *tagged);

/* Is anything outstanding that peers wait for: not sent, or not acknowledged? */
bool myr_tagged_busy(const struct myr_tagged *tagged);

#endif
