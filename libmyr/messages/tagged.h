/* SPDX-License-Identifier: BSD-3-Clause */
/* Tagged messages: sends and receives with MPI's envelopes and matching rules (firmware/match.h),
 * of any length.
 *
 * Each process has one endpoint, which consists of a port, a matching table, and a rendezvous
 * protocol. The latter moves long messages directly into the buffer of the receiver, which ports
 * cannot do (Zhang, "MPI Collective Operations over Myrinet", section 2.4).
 *
 *   bytes                     same node                         another node
 *   up to MYR_TAGGED_SHORT    through the receiver's inlet      one message of the port (eager),
 *   up to a buffer            a shared buffer                   as long as there are credits
 *   more                      the receiver reads the sender's   the receiver asks (PULL), the
 *                             memory, if it may                 sender sends fragments (DATA)
 *
 * A synchronous send is always an offer (rendezvous), and completes when the offer is matched.
 *
 * As in MPI-NP II (thesis, section 2.4), the channel between two endpoints has credits, which limit
 * how many messages of the sender wait at the receiver; further messages wait at the sender.
 * Therefore the memory of a receiver is bounded, and no sender blocks the others. While a receiver
 * waits for a message, it grants more credits to senders that have none left, because the awaited
 * message may be among those that they hold back.
 *
 * Between nodes, messages are sent eagerly as long as the sender has credits. A message takes one
 * credit, and another one for each 4 KiB that it contains. All others are sent as offers, which
 * take only a table entry at the receiver. Within a node, a receiver that makes progress copies
 * short unexpected messages, up to MYR_TAGGED_KEPT bytes of each sender. A hundred standard sends
 * of up to 4 KiB can therefore complete before a receive matches. MPI does not require this, but
 * many programs depend on it.
 *
 * Only one thread at a time may use an endpoint, with all its peers and requests. */
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
    MYR_TAGGED_FORMAT = 3,     /* a different value in the other byte order */
    MYR_TAGGED_SHORT = 216,    /* bytes */
    MYR_TAGGED_CREDITS = 255,  /* for each peer on another node */
    MYR_TAGGED_KEPT = 1 << 20, /* bytes, for each peer on this node */
};

struct myr_tagged;
struct myr_tagged_peer;

/* The address of an endpoint: plain data. */
struct myr_tagged_name {
    uint32_t format; /* version of the protocol between endpoints; MYR_TAGGED_FORMAT */
    uint32_t zero;
    struct myr_port_name port;
    struct myr_direct direct;
    uint32_t buffer_bytes; /* must be the same on both sides */
    uint32_t messages;     /* initial limit of messages from each peer that wait there */
};

struct myr_tagged_options {
    uint64_t id;       /* of this endpoint: any number that is unique among the processes */
    uint32_t messages; /* initial limit of messages from each peer that wait for a receive, 1 to
                          65535 (0: 16384); it grows if a receive waits for a later message */
    uint32_t peers;   /* the number of possible senders; 0 if unknown. If there are many, `messages`
                         is reduced so that all peers together send half a million, because a
                         message that does not fit into memory would block the answers behind it */
    uint32_t buffers; /* number of receive buffers; there are half as many send buffers. 0: up to
                         64, halved down to 8 if `share` or the memory is too small */
    size_t share;     /* limit of shared memory for such buffers (bytes); 0 if none */
    uint32_t buffer_bytes; /* size of each; 0 means 32 KiB */
    bool direct;           /* whether to read other processes' memory if possible */
    bool watch;            /* see port.h */
    /* Called by myr_tagged_progress() when a message arrives from a process to which there is no
     * connection. Connects to this process, or returns NULL if that fails. */
    struct myr_tagged_peer *(*meet)(void *context, uint64_t id);
    /* Reports that messages to this process are permanently lost. */
    void (*lost)(void *context, uint64_t id, enum myr_status status);
    void *context;
    uint32_t chunk_bytes; /* longer messages are read in chunks of this size; 0: in one operation */
};

enum myr_status myr_tagged_open(struct myr_soft_nic *nic, const struct myr_tagged_options *options,
                                struct myr_tagged **tagged, struct myr_error *error);

/* Closes an endpoint immediately. Incomplete requests are dropped without notice. */
void myr_tagged_close(struct myr_tagged *tagged);

void myr_tagged_get_name(const struct myr_tagged *tagged, struct myr_tagged_name *name);

/* Connects to another endpoint, or to this one. The peer is valid until this endpoint is closed. */
enum myr_status myr_tagged_connect(struct myr_tagged *tagged, uint64_t id,
                                   const struct myr_tagged_name *name,
                                   struct myr_tagged_peer **peer, struct myr_error *error);

/* Calls myr_port_met_other_job() for the endpoint's port. */
void myr_tagged_met_other_job(struct myr_tagged *tagged);

/* Returns the peer with that id, or NULL if it is not connected. */
struct myr_tagged_peer *myr_tagged_peer(const struct myr_tagged *tagged, uint64_t id);

/* Returns whether the peer is on this node. */
bool myr_tagged_is_near(const struct myr_tagged_peer *peer);

/* A send or a receive, from its start to its completion. The caller owns the memory. */
struct myr_tagged_request {
    /* Results of a completed request. */
    enum myr_status status; /* MYR_ERR_TOO_LONG if the message was longer than the buffer */
    bool cancelled;
    struct mcp_envelope envelope; /* of a receive: the envelope of its message */
    uint64_t bytes; /* of a receive: the size of its message, even if it was too long */

    /* Private to the endpoint. */
    struct myr_tagged_request *next;
    struct myr_tagged_peer *peer;
    uint8_t *buffer;
    uint64_t wanted, moved; /* bytes of the buffer */
    uint32_t here, there;   /* the numbers that identify the request on the two sides */
    mcp_match_index index;  /* of a posted receive: its index in the matching table */
    bool posted;            /* whether it is in the matching table; never for a send */
    uint64_t given;         /* of a message that is read in chunks: the bytes claimed so far */
    uint64_t from;          /* of such a message: its address in the sender */
    bool refused;           /* of such a message: whether a chunk could not be read */
};

/* Sends a message, whose tag may be hidden (match.h). Returns true if the request has completed, so
 * that the buffer belongs to the caller again. Otherwise myr_tagged_done() returns the request
 * later. */
bool myr_tagged_send(struct myr_tagged *tagged, struct myr_tagged_peer *to,
                     const struct mcp_envelope *envelope, const void *buffer, uint64_t bytes,
                     bool synchronous, struct myr_tagged_request *request);

/* Receives a message of up to `room` bytes. Returns true if the request has completed; otherwise
 * myr_tagged_done() returns it later. */
bool myr_tagged_receive(struct myr_tagged *tagged, const struct mcp_pattern *pattern, void *buffer,
                        uint64_t room, struct myr_tagged_request *request);

/* Cancels a receive. Returns false if it has matched already. In either case the request completes,
 * now or later. */
bool myr_tagged_cancel(struct myr_tagged *tagged, struct myr_tagged_request *request);

/* Returns whether there is a message that a receive with this pattern would match. If so,
 * `envelope` and `bytes` are set to those of the message. */
bool myr_tagged_probe(struct myr_tagged *tagged, const struct mcp_pattern *pattern,
                      struct mcp_envelope *envelope, uint64_t *bytes);

/* Like myr_tagged_probe(), but also removes the message from the matching table and returns it, or
 * NULL if there is none. The caller then receives it with myr_tagged_receive_taken(). */
struct myr_tagged_message;
struct myr_tagged_message *myr_tagged_take(struct myr_tagged *tagged,
                                           const struct mcp_pattern *pattern,
                                           struct mcp_envelope *envelope, uint64_t *bytes);
bool myr_tagged_receive_taken(struct myr_tagged *tagged, struct myr_tagged_message *message,
                              void *buffer, uint64_t room, struct myr_tagged_request *request);

/* Processes received messages and sends what can be sent. Returns the number of messages
 * received. */
uint32_t myr_tagged_progress(struct myr_tagged *tagged);

/* Does the same as myr_tagged_progress(), for a thread that runs the endpoint while its host
 * computes. No function of the host is called; work that needs such a function is left to the
 * host. */
uint32_t myr_tagged_run(struct myr_tagged *tagged);

/* The thread that calls myr_tagged_run() sleeps as follows: it calls myr_tagged_nap(), runs the
 * endpoint and, if there was nothing to do, calls myr_tagged_sleep(). It is woken when there are
 * chunks to read, and when a process of this node offers a message, requests an offered message,
 * sends data, or finds no space in the inlet. Packets from other nodes do not wake it. The first
 * two functions may be called while another thread uses the endpoint. */
void myr_tagged_nap(struct myr_tagged *tagged);
bool myr_tagged_sleep(struct myr_tagged *tagged, uint32_t timeout_us); /* true if woken */
void myr_tagged_wake(struct myr_tagged *tagged);

/* If `chunk_bytes` is set, the callers of these functions read long messages of this node in
 * chunks, so that several threads can share the work: while a thread reads a chunk, another thread
 * may use the endpoint or read other chunks. A caller takes a chunk (false if there is none), reads
 * it, and then reports whether this succeeded. */
struct myr_tagged_chunk {
    struct myr_tagged_request *request;
    uint64_t at, bytes;
};
bool myr_tagged_has_chunks(const struct myr_tagged *tagged);
bool myr_tagged_chunk_take(struct myr_tagged *tagged, struct myr_tagged_chunk *chunk);
bool myr_tagged_chunk_read(const struct myr_tagged_chunk *chunk);
void myr_tagged_chunk_end(struct myr_tagged *tagged, const struct myr_tagged_chunk *chunk,
                          bool read);

/* An endpoint's counters, with their descriptions. */
#define MYR_TAGGED_COUNTERS(COUNTER)                                                               \
    COUNTER(eager, "messages sent eagerly, as a whole")                                            \
    COUNTER(stored, "messages sent in a buffer that both processes share")                         \
    COUNTER(offered,                                                                               \
            "messages sent by rendezvous: their data are transferred when a receive has matched")  \
    COUNTER(bytes_sent, "bytes of all messages, sent eagerly or by rendezvous")                    \
    COUNTER(delayed,                                                                               \
            "messages and replies that had to wait for buffers or credits of their receiver")      \
    COUNTER(unexpected, "unexpected messages, which arrived before a matching receive was posted")

struct myr_tagged_counters {
#define COUNTER(name, text) uint64_t name;
    MYR_TAGGED_COUNTERS(COUNTER)
#undef COUNTER
};
const struct myr_tagged_counters *myr_tagged_count(const struct myr_tagged *tagged);

/* Returns the next completed request, or NULL if there is none. */
struct myr_tagged_request *myr_tagged_done(struct myr_tagged *tagged);

/* Returns whether the NIC is unusable. In that case neither messages between nodes nor long ones on
 * this node make progress. */
bool myr_tagged_broken(const struct myr_tagged *tagged);

/* Returns whether a NIC is unresponsive (myr_port_unresponsive()). `id` becomes the id of a peer on
 * this NIC. */
bool myr_tagged_unresponsive(struct myr_tagged *tagged, uint32_t recipient, uint32_t least_s,
                             struct myr_unresponsive *unresponsive, uint64_t *id);

/* Returns whether more work is expected immediately, from the network or from a peer that requests
 * the data of a message. */
bool myr_tagged_expects(const struct myr_tagged *tagged);

/* Returns whether peers wait for anything from this endpoint that has not been sent or
 * acknowledged. */
bool myr_tagged_busy(const struct myr_tagged *tagged);

/* Returns whether any peer still has to receive something from this endpoint and may be able to do
 * so (see draining in pace.h). If so, `id` becomes the id of this peer. Only peers for whose id
 * matters() returns true are considered. */
bool myr_tagged_owes(struct myr_tagged *tagged, bool (*matters)(uint64_t id), uint64_t *id);

#endif
