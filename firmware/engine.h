/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective engine executes the schedule of one group on the NIC, message by message.
 *
 * The host computes the schedule and reports when it arrives at the collective. From then on the
 * NIC runs the collective without the host (Buntinas et al., "Fast NIC-based barrier over
 * Myrinet/GM", sections 2 and 4). For each message that the schedule waits for, the NIC records the
 * epoch of the last such message in a slot (Hoefler's array). This number only grows and is never
 * cleared. Therefore it does no harm if a message arrives before the host has started, arrives
 * twice, or is retransmitted.
 *
 * Messages are not acknowledged. Instead, a NIC that misses a message requests it from the sender.
 * If the sender has already sent the message, it retransmits the message; otherwise it sends the
 * message anyway when its own schedule reaches this point.
 *
 * If a group carries data, each node contributes a block of bytes to each epoch, and all nodes get
 * all blocks. A node gathers the blocks of an epoch in a buffer: first its own block, then the
 * blocks of each message in the order in which the schedule waits for them. The blocks that a node
 * has at any step are thus the first part of its buffer, and this part is the payload of its next
 * message, for any schedule (for dissemination this is the concatenation of Bruck et al.). The
 * number of blocks in each message, and their position in the buffer, follow from the schedule and
 * are part of its tables. Two buffers suffice, because a peer is at most one epoch ahead. The
 * engine only computes where payloads belong; its caller copies them.
 *
 * Alternatively, a group may broadcast: any node sends a block to all others without waiting for
 * them (bcast.h). The epochs of such a group serve as flow control: they show how many blocks all
 * hosts have read.
 *
 * The same source is compiled for NICs in user space and for the NIC in the kernel (BPF), so it
 * must satisfy the kernel's verifier. Therefore all functions work on the memory of one group, all
 * loops are bounded by the schedule, tables have fixed sizes, all functions are inline, and there
 * are neither function pointers nor calls of other functions. Callers must serialise their
 * calls. */
#ifndef MCP_ENGINE_H
#define MCP_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/missing.h"
#include "firmware/backoff.h"
#include "firmware/step.h"
#include "firmware/wire.h"

/* A link to another NIC: an index into a table of the board, which contains the address. */
typedef uint32_t mcp_link;

/* Denotes the sender of the present packet, so that the NIC can answer NICs to which it has no
 * link. */
#define MCP_LINK_SENDER ((mcp_link)0)

/* The other end of a message. */
struct mcp_peer {
    mcp_link link;
    uint16_t node;   /* its number in the group */
    uint16_t slot;   /* of a message to send: its arrival record at the peer */
    uint16_t blocks; /* number of blocks in the message; 0 if it has no data */
    uint16_t at; /* of a message to wait for: the position of its first block in the buffer. In a
                    group that broadcasts, of any message: its reach (bcast.h) */
};

/* The state of a group on one NIC, in memory that is shared with the hosts. The hosts only use its
 * first cache line.
 *
 * The struct is followed by these tables: the steps of the schedule; the peers to send to; the
 * peers to wait for; and, with an entry for each peer to wait for, the epoch of its last message
 * (arrivals), the time when it last reported that its host is late, and the epoch whose payload a
 * caller has begun to copy (claims). Behind the tables are the two buffers or, in a group that
 * broadcasts, the window.
 *
 * In the kernel, hosts do not map this struct, but any core may execute the group. Therefore the
 * kernel's version keeps all fields that are written in each epoch in one cache line. It omits the
 * fields that only a soft NIC needs. */
#ifdef MCP_KERNEL_INSIDE
#define MCP_APART
#else
#define MCP_APART _Alignas(MYR_LINE)
#endif

struct mcp_group {
#ifndef MCP_KERNEL_INSIDE
    MCP_APART myr_word done; /* the release: the last complete epoch */
    myr_word sleepers;       /* number of hosts that sleep on `done` */
    /* if not 0, no further epoch completes, because node `failed` - 1 is missing */
    myr_word failed;
#endif
    MCP_APART uint64_t key;   /* 0 if the group is not open */
    struct mcp_secret secret; /* authenticates its packets */
    uint32_t nsteps, nsends, nwaits;
    uint16_t node, last_node;          /* this NIC's number in the group; the highest number */
    uint32_t buffer_blocks, unit_most; /* capacity of a buffer in blocks (0 if no data), and the
                                   maximum bytes of a block */
    /* of a group that broadcasts (bcast.h): the number of slots, a power of two (0: no broadcasts),
     * and the size of a slot */
    uint32_t window, slot_bytes;
    uint32_t unit[2]; /* bytes of a block in the last even and odd epoch begun here */
    uint32_t offered; /* the last epoch whose block was taken from the host */
#ifdef MCP_KERNEL_INSIDE
    uint32_t found; /* for the engine, see engine_inside.h; the next field begins a cache line, see
                       firmware/kernel/kernel.h */
    myr_word done, failed;
#endif
    uint32_t started;    /* the last epoch in which the host has arrived */
    uint32_t step;       /* the step under way in epoch done + 1 */
    uint32_t sent, seen; /* numbers of that step's messages that were sent, and that have arrived */
    uint32_t first_send, first_wait; /* indices of this step's first entries in the tables */
#ifndef MCP_KERNEL_INSIDE
    uint32_t closing;     /* not 0 if its hosts have left: counts the requests sent since then */
    uint32_t next;        /* offset of the next group with the same hash, see collective.c */
    uint32_t next_active; /* offset of the next group that waits for messages */
    uint32_t active;      /* whether it is in that list */
    uint32_t asked;       /* whether it has requested a message in the epoch under way */
    struct mcp_backoff backoff; /* ends_ns is 0 if nothing is missing */
    uint64_t began_ns;          /* when the epoch under way began to wait */
    uint64_t usual_ns;          /* smoothed duration of that wait */
#endif
};

/* A message to be sent. */
struct mcp_message {
    mcp_link to;
    uint32_t peer;            /* its index among the group's peers */
    struct mcp_header header; /* not sealed yet */
    uint32_t bytes; /* bytes of its payload, which begins at the start of the epoch's buffer or, in
                       a BCAST, with the block of the broadcast */
};

/* Sizes of the tables of a group in the kernel, which are powers of two and do not depend on the
 * schedule: the maximum number of steps, of messages to send and also of messages to wait for, and
 * of peers of both kinds together. */
enum {
    MCP_KERNEL_STEPS = 32,
    MCP_KERNEL_MESSAGES = 64,
    MCP_KERNEL_PEERS = 2 * MCP_KERNEL_MESSAGES
};

/* In the kernel, one word, the group's spin lock, lies between the group and the tables. */
enum { MCP_KERNEL_BEHIND = 1 };

#ifdef __bpf__

#define MCP_ENGINE static inline __attribute__((always_inline))

#else

#define MCP_ENGINE

/* Returns the size of a group with its tables, without buffers (bytes). */
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

/* Times by the board's clock in milliseconds, which wraps around; 0 means never. */
static inline uint32_t *mcp_group_heard(struct mcp_group *group)
{
    return mcp_group_arrivals(group) + group->nwaits;
}

static inline uint32_t *mcp_group_claims(struct mcp_group *group)
{
    return mcp_group_heard(group) + group->nwaits;
}

/* Returns the buffer of an epoch, of buffer_blocks * unit_most bytes. */
static inline uint8_t *mcp_group_buffer(struct mcp_group *group, uint32_t epoch)
{
    return (uint8_t *)group + mcp_group_bytes(group->nsteps, group->nsends, group->nwaits) +
           (size_t)(epoch % 2) * group->buffer_blocks * group->unit_most;
}

/* Returns the slots of a group that broadcasts, which take the place of the buffers. */
static inline uint8_t *mcp_group_window(struct mcp_group *group)
{
    return (uint8_t *)group + mcp_group_bytes(group->nsteps, group->nsends, group->nwaits);
}

#endif

/* MCP_PAYLOAD_MOST is the maximum payload of a packet in bytes, chosen so that the packet is not
 * fragmented at the smallest common MTU (1280). The size of a block is a multiple of MCP_BLOCK_UNIT
 * bytes. */
enum { MCP_PAYLOAD_MOST = 1216, MCP_BLOCK_UNIT = 8 };

/* Initialises a group of `nodes` nodes (1 to 65536), in which this node has the number `node`. All
 * epochs up to `epoch` count as complete.
 *
 * After this function, the caller fills in the secret, the steps, and two tables of peers, both in
 * the order of steps: the peers to send to, followed by the peers to wait for. In the second table,
 * the field `slot` is not used, because the index of the peer serves as its slot. The caller also
 * sets `buffer_blocks` and `unit_most` if the group carries data, or `window` and `slot_bytes` if
 * it broadcasts. */
MCP_ENGINE void mcp_group_init(struct mcp_group *group, uint64_t key, uint32_t nodes, uint32_t node,
                               uint32_t nsteps, uint32_t nsends, uint32_t nwaits, uint32_t epoch);

/* Handles the arrival of the host in `epoch`, and thereby in all earlier epochs. A host may be many
 * epochs ahead. The engine, however, begins at most MCP_OUTSTANDING epochs beyond the last complete
 * one, and in a group that carries data only one, so the host has to repeat the call for further
 * epochs from time to time. */
enum { MCP_OUTSTANDING = 1024 };
MCP_ENGINE void mcp_group_start(struct mcp_group *group, uint32_t epoch);

/* Prepares an epoch in which the host contributes a block of `unit` bytes (0 if no node has data).
 * The hosts must have finished reading the data of the previous epoch. If this returns true, the
 * caller copies the block to the beginning of the epoch's buffer and then starts the epoch. Returns
 * false if this is not the next epoch, if another caller is copying its block, or if the block is
 * too long. */
MCP_ENGINE bool mcp_group_offer(struct mcp_group *group, uint32_t epoch, uint32_t unit);

/* Records that a peer has reached `epoch`. Returns MCP_IMPLAUSIBLE, and records nothing, if no peer
 * can have reached it. */
enum mcp_recorded {
    MCP_RECORDED,   /* new, and the host is waiting in this epoch */
    MCP_UNEXPECTED, /* new, but the host has not arrived yet; may imply an earlier epoch */
    MCP_KNOWN,      /* a duplicate */
    MCP_TOO_SOON,   /* in a group that carries data: the previous message of this peer is still
                       missing */
    MCP_IMPLAUSIBLE
};
MCP_ENGINE enum mcp_recorded mcp_group_record(struct mcp_group *group, uint32_t slot,
                                              uint32_t epoch);

/* In a group that carries data, this is called before mcp_group_record(), to check a message with
 * *bytes of payload. If this returns MCP_RECORDED, the caller copies the first *bytes of the
 * payload (0 if the payload does not fit) to *offset in the epoch's buffer, and then records the
 * message. Only one caller gets this result for a message. With any other result the message must
 * not be recorded. */
MCP_ENGINE enum mcp_recorded mcp_group_claim(struct mcp_group *group, uint32_t slot, uint32_t epoch,
                                             uint32_t *bytes, uint32_t *offset);

/* Handles a DONE, which reports that all nodes have entered `epoch`. Therefore all messages of this
 * epoch are treated as received. This NIC still sends its own messages of the epoch, because other
 * nodes may wait for them. (A DONE carries no data. Therefore a closed group sends it only for
 * epochs whose data no node can miss.) */
MCP_ENGINE enum mcp_recorded mcp_group_release(struct mcp_group *group, uint32_t epoch);

/* Advances as far as possible, and updates `done`. If this returns true, the caller must send
 * `message` and call the function again. It returns false if the group cannot advance before
 * another message arrives or the host starts another epoch. */
#ifndef __bpf__
MCP_ENGINE bool mcp_group_next(struct mcp_group *group, struct mcp_message *message);
#endif

/* Advances like mcp_group_next(), but without stopping at each message, for a caller that cannot
 * send between steps. It makes a limited number of steps, and stops at the end of an epoch. The
 * caller then sends the messages at indices `first` to `end` - 1 of the table of sends. */
struct mcp_burst {
    uint32_t epoch;
    uint32_t first, end;
    uint32_t done; /* 1 if the epoch is complete, else 0 */
    uint32_t more; /* not 0 if the caller has to call again after sending these */
};
#ifdef __bpf__
MCP_ENGINE void mcp_group_burst(struct mcp_group *group, struct mcp_burst *burst);
#endif

/* Fills in the message at this index of the table of sends, for this epoch. */
MCP_ENGINE void mcp_group_message(struct mcp_group *group, uint32_t index, uint32_t epoch,
                                  struct mcp_message *message);

/* Returns whether an epoch is under way that waits for messages. */
static inline bool mcp_group_waits_now(const struct mcp_group *group)
{
    return group->started != myr_load_relaxed(&group->done);
}

/* Returns whether a certain message of the present step is still missing: that at index `wait`
 * (from 0) among those that the step waits for. If so, `message` becomes the ASK for it. */
MCP_ENGINE bool mcp_group_misses(struct mcp_group *group, uint32_t wait,
                                 struct mcp_message *message);

#ifndef __bpf__
/* Iterates over all missing messages. *cursor must initially be 0. Returns false at the end. */
MCP_ENGINE bool mcp_group_missing(struct mcp_group *group, uint32_t *cursor,
                                  struct mcp_message *message);
#endif

/* Handles a request in which another node, `node`, asks for the message of `epoch` to its slot
 * `slot`. Returns true if `message` is to be sent in reply: the requested message, a LATER if it
 * has not been sent yet, or a FAIL if it will never be sent. Returns false if the request is
 * implausible, because this node does not send such a message, or the other node cannot miss it. */
MCP_ENGINE bool mcp_group_answer(struct mcp_group *group, uint32_t node, uint32_t slot,
                                 uint32_t epoch, struct mcp_message *message);

/* Handles a LATER, in which another node, `node`, replies to a request that its host has not
 * arrived yet. The time of this report, `now_ms` by the board's clock, is recorded. Returns
 * MCP_KNOWN if the requested message is no longer missing. */
MCP_ENGINE enum mcp_recorded mcp_group_hear(struct mcp_group *group, uint32_t node, uint32_t slot,
                                            uint32_t epoch, uint32_t now_ms);

/* Fails the group because the node `missing` is lost. No further epoch completes, even if the lost
 * node returns. Returns MCP_KNOWN if the group had already failed, and MCP_IMPLAUSIBLE, without
 * effect, if it has no such node. */
MCP_ENGINE enum mcp_recorded mcp_group_fail(struct mcp_group *group, uint32_t missing);

/* Fills in the FAIL for the peer at this index of the tables, once the group has failed. */
MCP_ENGINE void mcp_group_failure(struct mcp_group *group, uint32_t index,
                                  struct mcp_message *message);

#ifndef __bpf__
/* Iterates over the nodes that the present step waits for. *cursor must initially be 0. Returns
 * false at the end. */
MCP_ENGINE bool mcp_group_awaits(struct mcp_group *group, uint32_t *cursor,
                                 struct mcp_missing *missing);
#endif

#endif
