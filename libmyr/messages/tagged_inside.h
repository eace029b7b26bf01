/* SPDX-License-Identifier: BSD-3-Clause */
/* Tagged messages, the internal interface of tagged.c (endpoints, peers, requests), tagged_send.c
 * (sends), tagged_receive.c (receives) and tagged_read.c (long messages in pieces).
 *
 * Messages between endpoints begin with a head. All but EAGER and CREDIT have a second part.
 * Envelopes of one sender arrive in order, because they all take the same path: the receiver's
 * inlet on one node, the port between nodes. The order of the others does not matter, because each
 * refers to its request by numbers that the two sides have exchanged.
 *
 *   EAGER   envelope, the message follows
 *   STORED  envelope; the message is in a buffer of the sender's, at offset `at` of the segment
 *   OFFER   envelope; the message is in the sender's memory, at address `at`
 *   PULL    the receiver of OFFER `there` wants `bytes` of it as DATA for number `other`
 *   DATA    a piece for number `there`, from offset `at` on; it follows
 *   DONE    the receiver of OFFER or STORED `there` has read it
 *   CREDIT  nothing but credits and slots */
#ifndef MYR_TAGGED_INSIDE_H
#define MYR_TAGGED_INSIDE_H

#include "libmyr/messages/pace.h"
#include "libmyr/messages/tagged.h"

enum tagged_kind {
    TAGGED_EAGER = 1,
    TAGGED_STORED,
    TAGGED_OFFER,
    TAGGED_PULL,
    TAGGED_DATA,
    TAGGED_DONE,
    TAGGED_CREDIT,
};

struct tagged_head {
    uint8_t kind;
    uint8_t credits; /* returned: the number of further eager messages */
    uint16_t slots;  /* returned: the number of further messages that may wait for a receive */
    struct mcp_envelope envelope;
    uint64_t from; /* the endpoint */
};

struct tagged_more {
    uint32_t there, other; /* numbers: in STORED and OFFER, the sender's is `other` */
    uint64_t bytes;        /* of the whole message; PULL: wanted */
    uint64_t at;
};

enum {
    TAGGED_HEADS = sizeof(struct tagged_head) + sizeof(struct tagged_more),
    TAGGED_SMALL = 1024, /* bytes of a small buffer */
    TAGGED_BUCKETS = 1024,
    TAGGED_BUFFERS = 64, /* default: at most, */
    TAGGED_BUFFERS_LEAST = 8,
};
_Static_assert(24 == sizeof(struct tagged_head) && 24 == sizeof(struct tagged_more),
               "both are multiples of 8");
_Static_assert(MYR_SHORT_BYTES == sizeof(struct tagged_head) + MYR_TAGGED_SHORT,
               "the longest eager message on a node fills a slot of the inlet");

/* A message that waits for room to be sent. */
struct tagged_out {
    struct tagged_out *next;
    struct tagged_head head;
    struct tagged_more more;
    struct myr_tagged_request *request; /* EAGER: its buffer follows; it completes when sent */
};

/* A queue of them, in order. */
struct tagged_queue {
    struct tagged_out *first, **last;
};

struct myr_tagged_peer {
    struct myr_tagged_peer *next;         /* in its bucket */
    struct myr_tagged_peer *next_waiting; /* in the list of peers with queued messages */
    uint64_t id;
    struct myr_remote remote;
    uint32_t pid;
    bool near;           /* through its inlet */
    bool direct;         /* its memory can be read */
    uint32_t slots;      /* sends left: messages from here that may wait there, but do not */
    uint32_t credits;    /* eager ones between nodes */
    uint32_t granted;    /* messages from there that may wait here, */
    uint32_t waiting;    /* ... and those that do */
    uint32_t owed_slots; /* to be returned to it */
    uint32_t owed_credits;
    struct tagged_queue answers;  /* sent first, in any order */
    struct tagged_queue messages; /* in order */
};

/* Buffers of one size. A buffer from which the port sends is returned when the send completes,
 * whereas a stored message occupies its buffer until it is received. Therefore stored messages must
 * leave some buffers to the port. */
struct tagged_pool {
    struct tagged_buffer *free;
    uint32_t left;     /* of them */
    uint32_t reserved; /* for the port */
};

/* A buffer of registered memory for a send. */
struct tagged_buffer {
    struct tagged_buffer *next; /* in the free list */
    struct tagged_pool *pool;
    uint8_t *memory;
    struct myr_tagged *tagged;
    struct myr_tagged_peer *peer; /* its destination */
};

/* A message that waits for its receive, or is about to be received. */
struct myr_tagged_message {
    struct tagged_head head;
    struct tagged_more more;      /* EAGER: only `bytes` is used */
    struct myr_tagged_peer *peer; /* the sender; NULL: no connection is possible */
    bool far;                     /* it came through the port: an eager one took a credit */
    const void *data;             /* EAGER */
};

/* The owner of a number. */
enum tagged_owner {
    TAGGED_NOBODY,
    TAGGED_SENDER,   /* struct myr_tagged_request: an offer */
    TAGGED_RECEIVER, /* the same: data arrive */
    TAGGED_BUFFER,   /* struct tagged_buffer, until it was read */
};

struct tagged_number {
    void *owner;
    uint32_t generation; /* how often it was freed; in the upper bits of the number */
    uint32_t next;       /* in the free list: index + 1 */
    uint8_t kind;        /* enum tagged_owner */
};

/* A list of requests, in order. */
struct tagged_requests {
    struct myr_tagged_request *first, **last;
};

struct myr_tagged {
    struct myr_soft_nic *nic;
    struct myr_port *port;
    struct myr_intake intake;
    struct myr_tagged_options options;
    uint32_t least_buffers; /* to which options.buffers is reduced if there is no room for them */
    struct myr_pace pace;
    struct myr_direct own;
    uint8_t *base; /* of the segment */
    size_t segment_bytes;

    void *table; /* `match` before its alignment */
    struct mcp_match *match;
    uint32_t receives, messages; /* numbers of them in the table */
    void **waiting; /* by place: struct myr_tagged_request, or struct myr_tagged_message */
    struct tagged_requests done;

    struct tagged_number *number;
    uint32_t numbers, free_number; /* index + 1 */

    struct tagged_requests pulled;         /* sends whose data are to be sent */
    struct myr_tagged_peer *waiting_peers; /* with queued messages */
    struct tagged_out *free_out;           /* free list */
    struct tagged_buffer *buffers;         /* all of them */
    struct tagged_pool small, large;
    uint32_t busy_buffers;
    uint32_t spare;       /* messages that more could be granted for */
    bool crowded;         /* a peer has messages waiting in all of its slots */
    bool missed;          /* a probe has found no match since the last progress */
    bool by_host;         /* the caller can be asked for peers */
    enum myr_status lost; /* why messages to lost_id were lost; to be reported to the host */
    uint64_t lost_id;
    struct myr_received held; /* came through the port, and found no room */
    bool holds;
    struct tagged_requests reads; /* receives with pieces that are not being read yet */
    struct myr_tagged_counters counted;

    struct myr_tagged_peer *bucket[TAGGED_BUCKETS];
};

/* ---- tagged.c ---- */

/* Allocate a number for `owner`. False: no number or memory left. */
bool tagged_number_give(struct myr_tagged *t, enum tagged_owner kind, void *owner,
                        uint32_t *number);

/* The owner of a number; NULL if there is none, or if it is of another kind. */
void *tagged_number_owner(const struct myr_tagged *t, enum tagged_owner kind, uint32_t number);

void tagged_number_end(struct myr_tagged *t, uint32_t number);

/* Double the table for receives or for messages. False: no memory, or it would be too large. */
bool tagged_grow(struct myr_tagged *t, bool messages);

void tagged_append(struct tagged_requests *list, struct myr_tagged_request *request);
struct myr_tagged_request *tagged_first(struct tagged_requests *list);

/* ---- tagged_send.c ---- */

bool tagged_buffers_open(struct myr_tagged *t, struct myr_error *error);

/* Send an answer (`more` is NULL for CREDIT), now or later. False: no memory. */
bool tagged_answer(struct myr_tagged *t, struct myr_tagged_peer *peer, uint8_t kind,
                   const struct tagged_more *more);

/* The other side wants an offer's data. */
void tagged_pull(struct myr_tagged *t, struct myr_tagged_request *request, uint32_t other,
                 uint64_t bytes);

/* Wake the peer's thread, if it has one that sleeps. (Only on this node.) */
void tagged_wake_peer(struct myr_tagged_peer *peer);

/* Free a buffer. */
void tagged_buffer_end(struct tagged_buffer *buffer);

/* Send what is queued, as far as there is room. */
void tagged_send_waiting(struct myr_tagged *t);

/* ---- tagged_receive.c ---- */

/* Deliver a message to a receive, which is in no list. True: it is complete. `message` may be in a
 * buffer that is reused afterwards. */
bool tagged_deliver(struct myr_tagged *t, struct myr_tagged_request *request,
                    const struct myr_tagged_message *message);

/* Ask for an offer's data. False if that is impossible. */
bool tagged_ask_for_data(struct myr_tagged *t, struct myr_tagged_peer *peer,
                         struct myr_tagged_request *request, uint32_t number);

/* Grant more slots to peers whose slots here are all occupied by waiting messages. */
void tagged_make_room(struct myr_tagged *t);

/* Process one received message; false if there was none, or no room for it. */
bool tagged_take_short(struct myr_tagged *t);
bool tagged_take_long(struct myr_tagged *t);

/* ---- tagged_read.c ---- */

/* An offer is to be read by pieces. */
void tagged_read_begin(struct myr_tagged *t, struct myr_tagged_request *request,
                       const struct myr_tagged_message *message);

#endif
