/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC as libmyr's own files use it: running its control program. Not for users of libmyr. */
#ifndef MYR_SOFT_INSIDE_H
#define MYR_SOFT_INSIDE_H

#include "firmware/mcp.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"
#include "libmyr/soft/nic_look.h"

/* Raise this whenever the meaning of what processes share of a NIC changes. A change of its size is
 * seen without. */
enum { MYR_SOFT_LAYOUT = 15 };
uint32_t myr_soft_layout(void);

/*
 * Run the control program: locks the NIC and gives its memory and board. NULL if the NIC is broken:
 * nobody may run its control program any more. It is locked all the same, for those who clear up.
 * NULL as well if this process has given up waiting for the lock (struct myr_soft_bounds): then it
 * is not locked, and what the lock guards may be neither written nor freed, as its holder may go on
 * later. entered() tells both apart. leave() unlocks it and puts the packets on the wire; it comes
 * after enter() in any case. Do not nest.
 */
struct mcp_nic *myr_soft_enter(struct myr_soft_nic *nic, struct mcp_board **board);
bool myr_soft_entered(const struct myr_soft_nic *nic);
void myr_soft_leave(struct myr_soft_nic *nic);

/* The same for somebody who only looks: it waits no longer than one turn of the control program
 * takes. NULL: no leave() follows. */
struct mcp_nic *myr_soft_enter_to_look(struct myr_soft_nic *nic);

/* Fail as the NIC is broken, or as this process has given up waiting for its lock. */
enum myr_status myr_soft_is_broken(const struct myr_soft_nic *nic, struct myr_error *error);

/* Which of its addresses does this NIC reach the one called `name` by? One in a network of its own
 * if there is any, else the first whose family this NIC has, too; one that this NIC has itself only
 * if all of these are. MYR_NIC_ADDRESSES if there is none. */
uint32_t myr_soft_route(const struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Hold the link to that address. MCP_LINK_SENDER: there is none, or no room for another link. The
 * holder gives it back by the board's drop(). Between enter() and leave(). */
mcp_link myr_soft_link(struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* The address that a link means, as text. Between enter() and leave(). */
void myr_soft_place_of(const struct myr_soft_nic *nic, mcp_link link, char text[MCP_PLACE_TEXT]);

/* Messages will come: have their packets come in chains. A NIC with nothing but collectives to play
 * does without, as it takes a packet faster then. */
void myr_soft_expect_messages(struct myr_soft_nic *nic);

/*
 * Be the process that runs the NIC all the time, so that nobody else has to sleep on the network.
 * False if another process (or this one) is. Nobody takes the place of a runner that dies: those
 * who wait poll again.
 */
bool myr_soft_become_runner(struct myr_soft_nic *nic, enum myr_soft_runner as);
void myr_soft_resign_runner(struct myr_soft_nic *nic);

/* Call `call` in each thread of this process that is about to sleep in myr_soft_sleep(). `call`
 * itself may not sleep. NULL: call nothing any more; when this returns, no call is under way. */
void myr_soft_when_sleeping(struct myr_soft_nic *nic, void (*call)(void *context), void *context);

/*
 * Be the process that looks now and then whether anybody runs the NIC. False if another one (or
 * this one) is. turns() changes whenever somebody has looked for packets. catch_up() takes what has
 * come and does what is due. False: there may be more; call it again, without a pause, as packets
 * of peers may wait behind those of strangers.
 */
bool myr_soft_become_watch(struct myr_soft_nic *nic);
void myr_soft_resign_watch(struct myr_soft_nic *nic);
uint32_t myr_soft_turns(const struct myr_soft_nic *nic);
bool myr_soft_catch_up(struct myr_soft_nic *nic);

/* Sleep until something comes from the network, the control program has something to do, or the
 * descriptor `other` can be read; at the most for `most_ns`. */
void myr_soft_await(struct myr_soft_nic *nic, int other, uint64_t most_ns);

/* Open the NIC that lives in the segment, by its socket, which another process has handed over. The
 * socket is the NIC's then, unless this fails. */
enum myr_status myr_soft_open_given(struct myr_segment *segment, int socket,
                                    struct myr_soft_nic **nic, struct myr_error *error);
int myr_soft_socket(const struct myr_soft_nic *nic); /* its own */

/* A process has died: what it held of the NIC is nobody's. (Of groups: myr_soft_groups_bury().) */
void myr_soft_bury(struct myr_soft_nic *nic, uint32_t pid);

/* For a process that looks at a NIC from outside: where it is in its segment, how many bytes of it
 * to copy, and what they say. NULL where they are of another layout. */
struct myr_key myr_soft_record_key(void);
size_t myr_soft_shared_bytes(void);
const struct mcp_nic *myr_soft_describe(const void *copy, struct myr_soft_view *view);

/* The address that a link means in such a copy. */
struct mcp_ip myr_soft_ip_of(const void *copy, mcp_link link);

/* Groups that no host has any more, and that are not closed yet, the oldest first: offsets of their
 * records in the segment. Where there are too many, the oldest is closed, and a peer that misses
 * something of it fails. So there are as many as a program may free at once: some dozens for each
 * communicator that has carried data of several sizes. Between enter() and leave(). */
enum { MYR_SOFT_LINGERING = 256 };
struct myr_soft_lingering {
    uint32_t record[MYR_SOFT_LINGERING];
    uint32_t count;
};
struct myr_soft_lingering *myr_soft_lingering(struct myr_soft_nic *nic);

/*
 * The same for a group of the NIC: the key of its record, and how many bytes of its slots lie in
 * front of the NIC's own group. In a copy of these bytes: the processes' words, first the epochs
 * that they have arrived in, then their pids (0: not come yet, or gone).
 */
struct myr_key myr_soft_group_record_key(uint64_t key);
size_t myr_soft_group_before(uint32_t locals);
const myr_word *myr_soft_group_words(const void *copy);

#endif
