/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective engine: plays one group's schedule, message by message.
 *
 * The host computes the schedule and reports its arrival. From then on the NIC plays by itself
 * (Buntinas et al., "Fast NIC-based barrier over Myrinet/GM", sections 2 and 4). An arrival record
 * is an epoch, stored in the slot of its step and peer (Hoefler's array). It may come before the
 * host has started, come twice, or be sent again. Nothing is ever cleared.
 *
 * Messages are not acknowledged. A NIC that misses one asks its sender, which retransmits it if it
 * has sent it before; otherwise it will send it in due time.
 *
 * A group may carry data. Then each node contributes a block of bytes to each epoch, and all nodes
 * get all blocks. A node gathers an epoch's blocks in a buffer: first its own, then those that
 * arrive, each message's blocks after the previous ones. So the blocks that a node has at any step
 * are the first part of its buffer, and that part is a message's payload, whatever the schedule (in
 * dissemination this is the concatenation of Bruck et al.). The number of blocks of a message, and
 * their place, follow from the schedule and are in the tables. A peer is at most one epoch ahead,
 * so two buffers are enough. The engine only computes where payloads go. Its caller copies them.
 *
 * Or a group may broadcast: any node sends a block to all without waiting; see bcast.h. Its epochs
 * then count how far the hosts have read.
 *
 * All functions work on one group's memory. The schedule bounds all their loops; they use no
 * pointers to functions and call nothing else. So the same source serves a NIC in user space and
 * one in the kernel (BPF). The kernel's verifier requires tables of fixed sizes, loops bounded by
 * numbers, and everything inline. The callers serialise the calls. */
#ifndef MCP_ENGINE_H
#define MCP_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/missing.h"
#include "firmware/backoff.h"
#include "firmware/step.h"
#include "firmware/wire.h"

/* Another NIC: an index into the board's own table. Only the board knows the address. */
typedef uint32_t mcp_link;

/* The sender of the present packet, so that the NIC can answer NICs without a link. */
#define MCP_LINK_SENDER ((mcp_link)0)

/* The other end of a message. */
struct mcp_peer {
    mcp_link link;
    uint16_t node;   /* its number in the group */
    uint16_t slot;   /* of a message sent: its arrival record at the peer */
    uint16_t blocks; /* in the message; 0: no data */
    uint16_t at; /* of a message waited for: the place of its first block in the buffer. In a group
                    that broadcasts, of any message: its reach, see bcast.h */
};

/* The state of a group on one NIC, in memory that is shared with the hosts; hosts use only its
 * first line. It is followed by tables: the steps; the peers (first those sent to, then those
 * waited for); the arrivals; for each peer waited for, when it last reported that its host is late;
 * and the claims, which are epochs whose payloads a caller is copying. After the tables come the
 * two buffers, or the window of a group that broadcasts.
 *
 * In the kernel no host sees it, but any processor may play it. There the fields that are written
 * each time are together, and fields that only a soft NIC needs are left out. */
#ifdef MCP_KERNEL_INSIDE
#define MCP_APART
#else
#define MCP_APART _Alignas(MYR_LINE)
#endif

struct mcp_group {
#ifndef MCP_KERNEL_INSIDE
    MCP_APART myr_word done; /* the release: the last complete epoch */
    myr_word sleepers;       /* number of hosts that sleep on `done` */
    myr_word failed;         /* not 0: no more epochs complete, as node `failed` - 1 is missing */
#endif
    MCP_APART uint64_t key;   /* 0: not open */
    struct mcp_secret secret; /* signs its packets */
    uint32_t nsteps, nsends, nwaits;
    uint16_t node, last_node;    /* this NIC's number in the group; the highest number */
    uint32_t places, unit_most;  /* of a buffer: places of blocks (0: no data), bytes of each */
    uint32_t window, slot_bytes; /* of a group that broadcasts (bcast.h): its slots, a power of two
                                    (0: no broadcasts), and their distance */
    uint32_t unit[2];            /* bytes of a block in the last even and odd epoch begun here */
    uint32_t offered;            /* the last epoch whose block was taken from the host */
#ifdef MCP_KERNEL_INSIDE
    uint32_t found; /* for the engine, see engine_inside.h; the next field begins a line, see
                       firmware/kernel/kernel.h */
    myr_word done, failed;
#endif
    uint32_t started;    /* the last epoch in which the host has arrived */
    uint32_t step;       /* progress in epoch done + 1: the step under way, */
    uint32_t sent, seen; /* ... how many of its messages were sent, and are known to be here */
    uint32_t first_send, first_wait; /* of this step, in the tables */
#ifndef MCP_KERNEL_INSIDE
    uint32_t farewell;          /* not 0: its hosts have left; how often it has asked since */
    uint32_t next;              /* offset of the next group with the same hash, see collective.c */
    uint32_t next_active;       /* offset of the next group that waits for messages */
    uint32_t active;            /* it is in that list */
    uint32_t asked;             /* it has asked for something in the epoch under way */
    struct mcp_backoff backoff; /* ends_ns 0: nothing is missing */
    uint64_t began_ns;          /* when the epoch under way began to wait */
    uint64_t usual_ns;          /* smoothed duration of that */
#endif
};

/* A message to be sent. */
struct mcp_message {
    mcp_link to;
    uint32_t peer;            /* its index among the group's peers */
    struct mcp_header header; /* not sealed */
    uint32_t bytes; /* of its payload, from the beginning of the epoch's buffer; of a BCAST, from
                       that of the broadcast's block */
};

/* Sizes of the tables of a group in the kernel, whatever its schedule (powers of two): steps,
 * messages sent or waited for, and peers of both kinds. */
enum {
    MCP_KERNEL_STEPS = 32,
    MCP_KERNEL_MESSAGES = 64,
    MCP_KERNEL_PEERS = 2 * MCP_KERNEL_MESSAGES
};

/* In the kernel, one word of the group's owner lies between the group and the tables. */
enum { MCP_KERNEL_BEHIND = 1 };

#ifdef __bpf__

#define MCP_ENGINE static inline __attribute__((always_inline))

#else

#define MCP_ENGINE

/* Bytes of a group with its tables, without buffers. */
size_t mcp_group_bytes(uint32_t nsteps, uint32_t nsends, uint32_t nwaits);

static inline struct mcp_step *mcp_group_steps(struct mcp_group *group)
{
    return (struct mcp_step *)(group + 1);
}

static inline struct mcp_peer *mcp_group_sends(struct mcp_group *group)
{
    return (struct mcp_peer *)(mcp_group_steps(group) + group->nsteps);
}

static inline struct mcp_peer *mcp_group_waits(struct mcp_group *group)
{
    return mcp_group_sends(group) + group->nsends;
}

static inline uint32_t *mcp_group_arrivals(struct mcp_group *group)
{
    return (uint32_t *)(mcp_group_waits(group) + group->nwaits);
}

/* The board's clock in milliseconds, which wraps around; 0: never. */
static inline uint32_t *mcp_group_heard(struct mcp_group *group)
{
    return mcp_group_arrivals(group) + group->nwaits;
}

static inline uint32_t *mcp_group_claims(struct mcp_group *group)
{
    return mcp_group_heard(group) + group->nwaits;
}

/* The buffer of an epoch, of places * unit_most bytes. */
static inline uint8_t *mcp_group_buffer(struct mcp_group *group, uint32_t epoch)
{
    return (uint8_t *)group + mcp_group_bytes(group->nsteps, group->nsends, group->nwaits) +
           (size_t)(epoch % 2) * group->places * group->unit_most;
}

/* The slots of a group that broadcasts, in place of the buffers. */
static inline uint8_t *mcp_group_window(struct mcp_group *group)
{
    return (uint8_t *)group + mcp_group_bytes(group->nsteps, group->nsends, group->nwaits);
}

#endif

/* Limits of data: bytes of payload in a packet (so that it fits the smallest common MTU, 1280,
 * unfragmented), and the unit of a block's bytes. */
enum { MCP_PAYLOAD_MOST = 1216, MCP_BLOCK_UNIT = 8 };

/* Initialise a group of `nodes` nodes (1 to 65536), of which this is `node`, with all epochs up to
 * `epoch` complete. The caller then fills in the secret, the steps, and the two tables of peers in
 * the order of steps: peers sent to, and peers waited for. The slots of waits do not matter, as a
 * wait's slot is its index in the table. If the group carries data, the caller also sets `places`
 * and `unit_most`; if it broadcasts, `window` and `slot_bytes`. */
MCP_ENGINE void mcp_group_init(struct mcp_group *group, uint64_t key, uint32_t nodes, uint32_t node,
                               uint32_t nsteps, uint32_t nsends, uint32_t nwaits, uint32_t epoch);

/* The host has arrived in `epoch` (and in all before). Only MCP_OUTSTANDING epochs beyond the last
 * complete one are begun; for more, the host has to call again. So a host that repeats the call now
 * and then may be ahead by any number. A group that carries data begins one epoch at a time. */
enum { MCP_OUTSTANDING = 1024 };
MCP_ENGINE void mcp_group_start(struct mcp_group *group, uint32_t epoch);

/* The host has a block of `unit` bytes for `epoch` (0: no node has data). True: copy it to the
 * beginning of the epoch's buffer, then start that epoch. False: it is not the next epoch, another
 * caller is copying, or the block is too long. The hosts must be done with the epoch before. */
MCP_ENGINE bool mcp_group_offer(struct mcp_group *group, uint32_t epoch, uint32_t unit);

/* Record that a peer has reached `epoch`. MCP_IMPLAUSIBLE if no peer can be there; then nothing is
 * recorded. */
enum mcp_recorded {
    MCP_RECORDED,   /* new, and the host is waiting in this epoch */
    MCP_UNEXPECTED, /* new, but the host is not there yet; it may imply an epoch before */
    MCP_KNOWN,      /* a duplicate */
    MCP_TOO_SOON,   /* of a group that carries data: the message before it is still missing */
    MCP_IMPLAUSIBLE
};
MCP_ENGINE enum mcp_recorded mcp_group_record(struct mcp_group *group, uint32_t slot,
                                              uint32_t epoch);

/* To be called before mcp_group_record() in a group that carries data, when a peer's message has
 * arrived with *bytes of payload. MCP_RECORDED: copy the payload into the epoch's buffer at
 * *offset, then record the message; *bytes is the number to copy (0 if nothing fits). Only one
 * caller gets this result for a message. Otherwise the message is not accepted. */
MCP_ENGINE enum mcp_recorded mcp_group_claim(struct mcp_group *group, uint32_t slot, uint32_t epoch,
                                             uint32_t *bytes, uint32_t *offset);

/* All nodes have entered `epoch`, so all its messages count as received. This NIC still sends its
 * own messages of that epoch, as others may wait for them. (Data do not come in this way, so a
 * closed group reports this only of epochs whose data no node can miss.) */
MCP_ENGINE enum mcp_recorded mcp_group_release(struct mcp_group *group, uint32_t epoch);

/* Advance as far as possible, and update `done`. Returns true if `message` is to be sent; then call
 * it again. Returns false if the group cannot advance without another message or another start. */
#ifndef __bpf__
MCP_ENGINE bool mcp_group_next(struct mcp_group *group, struct mcp_message *message);
#endif

/* The same for a caller that cannot send meanwhile. It advances by a limited number of steps, and
 * not beyond the end of an epoch. Then the caller sends the messages at these indices of the table
 * of sends. */
struct mcp_burst {
    uint32_t epoch;
    uint32_t first, end;
    uint32_t done; /* 1: the epoch is complete; 0: not yet */
    uint32_t more; /* not 0: call it again after sending these */
};
#ifdef __bpf__
MCP_ENGINE void mcp_group_burst(struct mcp_group *group, struct mcp_burst *burst);
#endif

/* The message at this index of the table of sends, for this epoch. */
MCP_ENGINE void mcp_group_message(struct mcp_group *group, uint32_t place, uint32_t epoch,
                                  struct mcp_message *message);

/* Is an epoch under way that waits for messages? */
static inline bool mcp_group_waits_now(const struct mcp_group *group)
{
    return group->started != myr_load_relaxed(&group->done);
}

/* Does the present step still miss the message that it waits for at index `wait` (from 0)? If so,
 * `message` becomes the ASK for it. */
MCP_ENGINE bool mcp_group_misses(struct mcp_group *group, uint32_t wait,
                                 struct mcp_message *message);

#ifndef __bpf__
/* Iterate over all missing messages. Begin with *cursor 0; false at the end. */
MCP_ENGINE bool mcp_group_missing(struct mcp_group *group, uint32_t *cursor,
                                  struct mcp_message *message);
#endif

/* Node `node` asks for the message of `epoch` to its arrival `slot`. Returns true if `message` is
 * the answer: that message once more, a LATER if it was not sent yet, or a FAIL if it never will
 * be. Returns false if this node is not the sender of that message, or `node` cannot miss it. */
MCP_ENGINE bool mcp_group_answer(struct mcp_group *group, uint32_t node, uint32_t slot,
                                 uint32_t epoch, struct mcp_message *message);

/* Node `node`, which was asked for the message of `slot`, reports at `now_ms` (the board's clock)
 * that its host has not arrived yet. MCP_KNOWN if the message is not missing any more. */
MCP_ENGINE enum mcp_recorded mcp_group_hear(struct mcp_group *group, uint32_t node, uint32_t slot,
                                            uint32_t epoch, uint32_t now_ms);

/* Fail the group because node `missing` is missing. No further epoch completes, even if that node
 * returns. Returns MCP_KNOWN if the group had failed before, and MCP_IMPLAUSIBLE, without effect,
 * if it has no such node. */
MCP_ENGINE enum mcp_recorded mcp_group_fail(struct mcp_group *group, uint32_t missing);

/* The FAIL for the peer at this index of the tables, once the group has failed. */
MCP_ENGINE void mcp_group_failure(struct mcp_group *group, uint32_t place,
                                  struct mcp_message *message);

#ifndef __bpf__
/* Iterate over the nodes that the present step waits for. Begin with *cursor 0; false at the
 * end. */
MCP_ENGINE bool mcp_group_awaits(struct mcp_group *group, uint32_t *cursor,
                                 struct mcp_missing *missing);
#endif

#endif
