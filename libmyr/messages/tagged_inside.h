/* SPDX-License-Identifier: BSD-3-Clause */
/* The internal interface of tagged messages: tagged.c (endpoints, peers, requests), tagged_send.c
 * (sends), tagged_receive.c (receives) and tagged_read.c (reading long messages in chunks).
 *
 * Messages between endpoints begin with a header (struct tagged_head). All messages except EAGER
 * and CREDIT have a second header (struct tagged_more). Envelopes of one sender arrive in order,
 * because they all take the same path: the inlet of the receiver on one node, or the port between
 * nodes. Messages without envelopes may arrive in any order, because each refers to its request by
 * numbers that the two sides have exchanged.
 *
 *   EAGER   envelope; the message follows
 *   STORED  envelope; the message is in a buffer of the sender, at offset `at` of the segment
 *   OFFER   envelope; the message is in the sender's memory, at address `at`; `there` is 1 if the
 *           send is synchronous, and otherwise 0
 *   PULL    the receiver of OFFER `there` wants `bytes` of it as DATA for number `other`
 *   DATA    a fragment for number `there`, from offset `at` on; it follows
 *   DONE    the receiver of OFFER or STORED `there` has read it
 *   CREDIT  only credits and slots */
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
    uint8_t credits; /* returned credits, for further eager messages */
    uint16_t slots; /* returned slots: the number of further messages that may wait for a receive */
    struct mcp_envelope envelope;
    uint64_t from; /* the sender's endpoint */
};

struct tagged_more {
    uint32_t there, other; /* numbers: in STORED and OFFER, `other` is a number of the sender */
    uint64_t bytes;        /* of the whole message; PULL: wanted */
    uint64_t at;
};

enum {
    TAGGED_HEADS = sizeof(struct tagged_head) + sizeof(struct tagged_more),
    TAGGED_SMALL = 1024, /* size of a small buffer */
    TAGGED_CREDIT_BYTES = 4096,
    TAGGED_BUCKETS = 1024,
    TAGGED_BUFFERS = 64,      /* default number of receive buffers, */
    TAGGED_BUFFERS_LEAST = 8, /* and its minimum if there is not enough memory */
    TAGGED_ADDED = 64,        /* maximum number of send buffers that are added */
};

/* Pools of send buffers: at first, and those that are added for peers that have none. */
enum tagged_pools {
    TAGGED_SMALL_POOL,
    TAGGED_LARGE_POOL,
    TAGGED_SMALL_ADDED,
    TAGGED_LARGE_ADDED,
    TAGGED_POOLS
};
_Static_assert(24 == sizeof(struct tagged_head) && 24 == sizeof(struct tagged_more),
               "both are multiples of 8");
_Static_assert(MYR_SHORT_BYTES == sizeof(struct tagged_head) + MYR_TAGGED_SHORT,
               "the longest eager message on a node fills a slot of the inlet");

/* A message that cannot be sent yet, because its receiver has no space. */
struct tagged_out {
    struct tagged_out *next;
    struct tagged_head head;
    struct tagged_more more;
    /* completes when the message is sent; NULL: none. EAGER: its buffer follows */
    struct myr_tagged_request *request;
    struct tagged_out **place; /* a reference to this message, cleared when it is sent; or NULL */
};

/* A queue of such messages, in order. */
struct tagged_queue {
    struct tagged_out *first, **last;
};

/* A list of requests, in order. */
struct tagged_requests {
    struct myr_tagged_request *first, **last;
};

struct myr_tagged_peer {
    struct myr_tagged_peer *next;         /* in its bucket */
    struct myr_tagged_peer *next_waiting; /* in the list of waiting peers */
    uint64_t id;
    struct myr_remote remote;
    uint32_t pid;
    bool near;           /* whether it is reached through its inlet */
    bool direct;         /* whether its memory can be read */
    uint32_t slots;      /* number of further messages from here that may wait there */
    uint32_t credits;    /* for further eager messages, between nodes */
    uint32_t granted;    /* number of its messages that may wait here */
    uint32_t waiting;    /* number of its messages that wait here now */
    uint32_t kept;       /* bytes of those that were released, see tagged_receive.c */
    uint32_t owed_slots; /* slots to be returned to it */
    uint32_t owed_credits;
    struct tagged_queue answers;    /* sent first, in any order */
    struct tagged_queue messages;   /* in order */
    struct tagged_requests pulled;  /* sends whose data were requested */
    uint32_t sending[TAGGED_POOLS]; /* buffers from which the port sends to it */
    uint32_t unreceived; /* number of these with a message, a request for data, or data */
};

/* A pool of buffers of one size, for messages that the port sends and for messages that are stored.
 * A buffer that the port sends is returned to the pool when the send completes, whereas a stored
 * message occupies its buffer until it is received. Stored messages must therefore leave some
 * buffers for the port.
 *
 * A send to a process that makes no MPI calls may take long to complete. Such sends must not occupy
 * all buffers and thereby block sends to other peers. Therefore, when no more than a quarter of the
 * buffers is free, a peer gets another buffer only while more buffers are free than it already
 * occupies. If sends to several such processes occupy all buffers nevertheless, an additional
 * buffer is allocated for each peer that has none.
 *
 * A single peer thus gets three quarters of the buffers. With half of them, the default of 32 large
 * buffers would be used by 16 messages, as many as the receiver's NIC acknowledges together
 * (MCP_ACK_EVERY). If each message is one packet, the sender would then be idle whenever it waits
 * for an acknowledgement. */
struct tagged_pool {
    struct tagged_buffer *free;
    uint32_t left;     /* number of free buffers */
    uint32_t quarter;  /* of all buffers */
    uint32_t reserved; /* number of them reserved for the port */
};

/* A buffer of registered memory for a send. */
struct tagged_buffer {
    struct tagged_buffer *next; /* in the free list */
    struct tagged_pool *pool;
    uint8_t *memory;
    struct myr_tagged *tagged;
    struct myr_tagged_peer *peer; /* its destination */
    bool counts;                  /* counted in the peer's `unreceived` */
};

/* A message that waits for its receive, or is about to be received. */
struct myr_tagged_message {
    struct tagged_head head;
    struct tagged_more more;      /* EAGER: only `bytes` is used */
    struct myr_tagged_peer *peer; /* the sender; NULL if no connection is possible */
    uint32_t credits;             /* to be returned when it is received */
    uint32_t kept;                /* bytes that count in `kept` of the peer */
    struct tagged_out *answer;    /* the early answer to it, as long as that is queued */
    const void *data;             /* EAGER */
};

/* The owner of a number. */
enum tagged_owner {
    TAGGED_NOBODY,
    TAGGED_SENDER,   /* struct myr_tagged_request: an offer */
    TAGGED_RECEIVER, /* struct myr_tagged_request: a receive whose data arrive */
    TAGGED_BUFFER,   /* struct tagged_buffer, until it has been read */
};

struct tagged_number {
    void *owner;
    uint32_t generation; /* how often the number was freed; in its upper bits */
    uint32_t next;       /* in the free list: index + 1 */
    uint8_t kind;        /* enum tagged_owner */
};

struct myr_tagged {
    struct myr_soft_nic *nic;
    struct myr_port *port;
    struct myr_intake intake;
    struct myr_tagged_options options;
    uint32_t least_buffers; /* lower limit to which options.buffers is reduced if there is no memory
                               for more */
    struct myr_pace pace;
    struct myr_direct own;
    uint8_t *base; /* of the segment */
    size_t segment_bytes;

    void *table; /* `match` before its alignment */
    struct mcp_match *match;
    uint32_t receives, messages; /* limits of either in the table */
    void **waiting;              /* by index in the table: struct myr_tagged_request, or struct
                                    myr_tagged_message */
    struct tagged_requests done;

    struct tagged_number *number;
    uint32_t numbers, free_number; /* index + 1 */

    struct myr_tagged_peer *waiting_peers; /* peers with queued messages, or pulled requests */
    uint32_t pulls;                        /* number of pulled requests of all peers */
    struct tagged_out *free_out;           /* free list */
    struct tagged_buffer *buffers;         /* all of them, except: */
    struct tagged_buffer added[TAGGED_ADDED];
    uint32_t nadded;
    uint8_t *memory; /* their memory, in one allocation of the port's */
    struct tagged_pool pool[TAGGED_POOLS];
    uint32_t busy_buffers;
    uint32_t spare;       /* number of messages for which slots could still be granted */
    bool crowded;         /* whether a peer has messages waiting in all of its slots */
    bool missed;          /* whether a probe has found no match since the last progress */
    bool by_host;         /* whether the host makes progress, so that options.meet may be called */
    enum myr_status lost; /* why messages to lost_id were lost; to be reported to the host */
    uint64_t lost_id;
    struct myr_received held; /* arrived through the port, and does not fit anywhere yet */
    bool holds;
    struct tagged_requests reads; /* receives with chunks that no thread reads yet */
    struct myr_tagged_counters counted;

    struct myr_tagged_peer *bucket[TAGGED_BUCKETS];
};

/* Returns the number of credits that an eager message to another node takes. */
static inline uint32_t tagged_credits(uint64_t bytes)
{
    return (uint32_t)(bytes / TAGGED_CREDIT_BYTES) + 1;
}

/* ---- tagged.c ---- */

/* Allocates a number for `owner`. Returns false if there is no number or memory left. */
bool tagged_number_give(struct myr_tagged *t, enum tagged_owner kind, void *owner,
                        uint32_t *number);

/* Returns the owner of a number, or NULL if there is none, or if it is of another kind. */
void *tagged_number_owner(const struct myr_tagged *t, enum tagged_owner kind, uint32_t number);

void tagged_number_end(struct myr_tagged *t, uint32_t number);

/* Doubles the table for receives or for messages. Returns false if out of memory, or if it would be
 * too large. */
bool tagged_grow(struct myr_tagged *t, bool messages);

void tagged_clear(struct tagged_requests *list);
void tagged_append(struct tagged_requests *list, struct myr_tagged_request *request);
struct myr_tagged_request *tagged_first(struct tagged_requests *list);

/* ---- tagged_send.c ---- */

bool tagged_buffers_open(struct myr_tagged *t, struct myr_error *error);

/* Sends an answer (`more` is NULL for CREDIT), now or later. Returns false if out of memory. As
 * long as the answer is queued, *place refers to it; `place` may be NULL. */
bool tagged_answer(struct myr_tagged *t, struct myr_tagged_peer *peer, uint8_t kind,
                   const struct tagged_more *more, struct tagged_out **place);

/* Sends the last answer to an offer. The receive `request` completes when this answer leaves, or at
 * once if memory is exhausted; the function returns whether it is complete already. It must not
 * complete earlier, because the process may then end, or wait outside this library, and the sender
 * would wait in vain for the answer. */
bool tagged_last_answer(struct myr_tagged *t, struct myr_tagged_peer *peer, uint8_t kind,
                        const struct tagged_more *more, struct myr_tagged_request *request);

/* Starts to send an offer's data, which the other side has requested. */
void tagged_pull(struct myr_tagged *t, struct myr_tagged_request *request, uint32_t other,
                 uint64_t bytes);

/* Wakes the peer's thread, if it has one that sleeps. (Only on this node.) */
void tagged_wake_peer(struct myr_tagged_peer *peer);

/* Frees a buffer. */
void tagged_buffer_end(struct tagged_buffer *buffer);

/* Returns whether anything is queued for this peer. If so, it is in the list of waiting peers. */
static inline bool tagged_waits(const struct myr_tagged_peer *peer)
{
    return NULL != peer->answers.first || NULL != peer->messages.first ||
           NULL != peer->pulled.first;
}

/* Sends the queued messages and the pulled data, as far as there is space for them. */
void tagged_send_waiting(struct myr_tagged *t);

/* ---- tagged_receive.c ---- */

/* Delivers a message to the matching receive, which must not be in any list or table any more.
 * Returns true if the receive is complete. The buffer that contains `message` may be reused
 * afterwards. */
bool tagged_deliver(struct myr_tagged *t, struct myr_tagged_request *request,
                    const struct myr_tagged_message *message);

/* Requests an offer's data. Returns false if that is impossible. */
bool tagged_ask_for_data(struct myr_tagged *t, struct myr_tagged_peer *peer,
                         struct myr_tagged_request *request, uint32_t number);

/* Grants more slots to peers whose slots here are all occupied by waiting messages. */
void tagged_make_room(struct myr_tagged *t);

/* Process one received message. They return false if there was none, or no space for it. */
bool tagged_take_short(struct myr_tagged *t);
bool tagged_take_long(struct myr_tagged *t);

/* ---- tagged_read.c ---- */

/* Starts to read an offer in chunks. */
void tagged_read_begin(struct myr_tagged *t, struct myr_tagged_request *request,
                       const struct myr_tagged_message *message);

#endif
