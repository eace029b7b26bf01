/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective engine: plays one group's schedule, message by message.
 *
 * The host computes the schedule and says when it has arrived; from then on the NIC plays by itself
 * (Buntinas et al., "Fast NIC-based barrier over Myrinet/GM", sections 2 and 4). An arrival record
 * is an epoch, stored in the slot of the step and peer it came from (Hoefler's array): it may come
 * before the host has started, twice, or again, and nothing is ever cleared.
 *
 * Messages are not acknowledged. Who misses one asks its sender, who sends it again if it has done
 * so before, and else will in due time.
 *
 * All functions work on one group's memory, without loops that a schedule does not bound, pointers
 * to functions or calls of anything else: the same source serves a NIC in user space and one in the
 * kernel (BPF), whose verifier wants tables of fixed sizes, loops bounded by numbers, and all of it
 * inline. Whoever calls them sees to it that one does at a time.
 */
#ifndef MCP_ENGINE_H
#define MCP_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/step.h"
#include "firmware/wire.h"

/*
 * Another NIC, as this one's board knows it: an index into a table of its own. Only the board knows
 * what address that is.
 */
typedef uint32_t mcp_link;

/* Whoever has sent the packet that is being handled: so strangers are answered. */
#define MCP_LINK_SENDER ((mcp_link)0)

/* The other end of a message. */
struct mcp_peer {
    mcp_link link;
    uint16_t node; /* its number in the group */
    uint16_t slot; /* of a message sent: the arrival record it is for, at the peer */
};

/*
 * A group as one NIC knows it: in memory shared with the hosts, who read `done` and nothing else.
 * Behind it lie the tables: steps, peers (first those sent to, then those waited for), arrivals,
 * and when each of those waited for has last said that its host is late.
 *
 * In the kernel no host sees it, but any processor may play it: what is written at each turn lies
 * together there, and what only a soft NIC needs is left out.
 */
#ifdef MCP_KERNEL_INSIDE
#define MCP_APART
#else
#define MCP_APART _Alignas(MYR_LINE)
#endif

struct mcp_group {
#ifndef MCP_KERNEL_INSIDE
    MCP_APART myr_word done; /* the release: the last epoch that is complete */
    myr_word sleepers;       /* hosts: how many sleep on `done` */
    myr_word failed;         /* not 0: this group will complete nothing any more, as the node of
                                this number - 1 is missing */
#endif
    MCP_APART uint64_t key; /* 0: not open */
    uint32_t nsteps, nsends, nwaits;
    uint32_t node; /* this NIC's number in the group */
#ifdef MCP_KERNEL_INSIDE
    myr_word done, failed;
#endif
    uint32_t started;                /* the last epoch that the host has arrived in */
    uint32_t step;                   /* where epoch done + 1 is: the step under way, */
    uint32_t sent, seen;             /* ... what of it was sent, and is known to be here */
    uint32_t first_send, first_wait; /* of this step, in the tables */
#ifndef MCP_KERNEL_INSIDE
    uint32_t next;        /* offset of the next group with the same hash, see collective.c */
    uint32_t next_active; /* offset of the next group that waits for messages */
    uint32_t active;      /* whether it is in that list */
    uint32_t asked;       /* whether it has asked for something in the epoch under way */
    uint64_t patience_ns; /* how long to wait before asking for what is missing */
    uint64_t deadline_ns; /* when that is over; 0: nothing is missing */
    uint64_t began_ns;    /* when the epoch under way began to wait */
    uint64_t usual_ns;    /* how long that takes, smoothed */
#endif
};

/* A message that is to be sent. */
struct mcp_message {
    mcp_link to;
    uint32_t peer;            /* whose link that is, by its place among the group's peers */
    struct mcp_header header; /* not sealed */
};

/* The tables of a group in the kernel have these sizes, whatever its schedule (powers of two):
 * steps, messages sent or waited for, and peers of both. */
enum {
    MCP_KERNEL_STEPS = 32,
    MCP_KERNEL_MESSAGES = 64,
    MCP_KERNEL_PEERS = 2 * MCP_KERNEL_MESSAGES
};

/* There they lie behind the group and a word of its owner's. */
enum { MCP_KERNEL_BEHIND = 1 };

#ifdef __bpf__

#define MCP_ENGINE static inline __attribute__((always_inline))

#else

#define MCP_ENGINE

/* Bytes of a group with its tables. */
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

/* Milliseconds of the board's clock, which wrap around; 0: never. */
static inline uint32_t *mcp_group_heard(struct mcp_group *group)
{
    return mcp_group_arrivals(group) + group->nwaits;
}

#endif

/*
 * Set up a group that has done everything up to `epoch`. The caller then fills in the steps and the
 * two tables of peers: step after step, those sent to and those waited for; the waits' slots do not
 * matter, as a wait's slot is its place in the table.
 */
MCP_ENGINE void mcp_group_init(struct mcp_group *group, uint64_t key, uint32_t node,
                               uint32_t nsteps, uint32_t nsends, uint32_t nwaits, uint32_t epoch);

/* The host has arrived in `epoch` (and in all before). */
MCP_ENGINE void mcp_group_start(struct mcp_group *group, uint32_t epoch);

/*
 * A peer has reached `epoch`: record it. MCP_IMPLAUSIBLE where no peer can be there; nothing is
 * recorded then.
 */
enum mcp_recorded {
    MCP_RECORDED,   /* new, and the host is waiting in this epoch */
    MCP_UNEXPECTED, /* new, and the host has not come so far; it may stand for an epoch before */
    MCP_KNOWN,      /* had come before */
    MCP_IMPLAUSIBLE
};
MCP_ENGINE enum mcp_recorded mcp_group_record(struct mcp_group *group, uint32_t slot,
                                              uint32_t epoch);

/* Everybody has entered `epoch`: all its messages are as good as here. What we still have to send
 * in it is sent all the same, as others may be waiting for that. */
MCP_ENGINE enum mcp_recorded mcp_group_release(struct mcp_group *group, uint32_t epoch);

/*
 * Go on as far as possible: true with the next message to send, to be called again; false when
 * nothing can be done before another message or another start. `done` moves along.
 */
#ifndef __bpf__
MCP_ENGINE bool mcp_group_next(struct mcp_group *group, struct mcp_message *message);
#endif

/*
 * The same for whoever cannot send meanwhile: go on for a while, but not beyond the end of an
 * epoch. Then the messages at these places of the table of sends are to be sent.
 */
struct mcp_burst {
    uint32_t epoch;
    uint32_t first, end;
    uint32_t done; /* 1: the epoch is complete; 0: not yet */
    uint32_t more; /* not 0: call it again, after these */
};
#ifdef __bpf__
MCP_ENGINE void mcp_group_burst(struct mcp_group *group, struct mcp_burst *burst);
#endif

/* The message at this place of the table of sends, for this epoch. */
MCP_ENGINE void mcp_group_message(struct mcp_group *group, uint32_t place, uint32_t epoch,
                                  struct mcp_message *message);

/* Is an epoch under way that waits for messages? */
static inline bool mcp_group_waits_now(const struct mcp_group *group)
{
    return group->started != myr_glance(&group->done);
}

/* Does the present step still miss the message that it waits for at place `wait` (from 0)? True
 * with one that asks for it. */
MCP_ENGINE bool mcp_group_misses(struct mcp_group *group, uint32_t wait,
                                 struct mcp_message *message);

#ifndef __bpf__
/* All of these, one after the other. Begin with *cursor 0; false when there are no more. */
MCP_ENGINE bool mcp_group_missing(struct mcp_group *group, uint32_t *cursor,
                                  struct mcp_message *message);
#endif

/*
 * Node `node` misses `epoch` in its arrival `slot`: true with the message to send again; or with a
 * LATER if it was not sent yet, a FAIL if it never will be. False if it is not ours to send, or
 * nobody can miss it.
 */
MCP_ENGINE bool mcp_group_answer(struct mcp_group *group, uint32_t node, uint32_t slot,
                                 uint32_t epoch, struct mcp_message *message);

/*
 * Node `node`, asked for what is missing in `slot`, says at `now_ms` (the board's clock) that its
 * host has not come so far. MCP_KNOWN where it is not missing any more.
 */
MCP_ENGINE enum mcp_recorded mcp_group_hear(struct mcp_group *group, uint32_t node, uint32_t slot,
                                            uint32_t epoch, uint32_t now_ms);

/* The group fails, as node `missing` is missing: it completes nothing more, whoever comes. False if
 * it had failed before. */
MCP_ENGINE bool mcp_group_fail(struct mcp_group *group, uint32_t missing);

/* The FAIL that tells the peer at this place of the tables, once the group has failed. */
MCP_ENGINE void mcp_group_failure(struct mcp_group *group, uint32_t place,
                                  struct mcp_message *message);

#ifndef __bpf__
/* Whom the present step waits for, one after the other, and when its NIC was last heard (as in
 * mcp_group_heard()). Begin with *cursor 0; false when there are no more. */
struct mcp_awaited {
    mcp_link link;
    uint32_t node;
    uint32_t heard_ms;
};
MCP_ENGINE bool mcp_group_awaits(struct mcp_group *group, uint32_t *cursor,
                                 struct mcp_awaited *awaited);
#endif

#endif
