/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC as libmyr's own files use it: running its control program. Not for users of libmyr. */
#ifndef MYR_NIC_INSIDE_H
#define MYR_NIC_INSIDE_H

#include "firmware/mcp.h"
#include "libmyr/nic.h"
#include "libmyr/nic_look.h"
#include "libmyr/segment.h"

/* Changes whenever what processes share of a NIC means something else; that it has another size is
 * seen without. */
enum { MYR_NIC_LAYOUT = 6 };
uint32_t myr_nic_layout(void);

/*
 * Run the control program: locks the NIC and gives its memory and board. NULL if the NIC is broken:
 * its control program is not to be run any more, but it is locked all the same, for those who clear
 * up. leave() unlocks it and puts the packets on the wire. Not to be nested.
 */
struct mcp_nic *myr_nic_enter(struct myr_nic *nic, struct mcp_board **board);
void myr_nic_leave(struct myr_nic *nic);

/* Fail for that reason. */
enum myr_status myr_nic_is_broken(struct myr_error *error);

/* The address by which this NIC reaches the one called `name`: one in a network of its own if there
 * is any, else the first. False if it has none. */
struct mcp_address;
bool myr_nic_route(const struct myr_nic *nic, const struct myr_nic_name *name,
                   struct mcp_address *address);

/* Hold the link to that address. MCP_LINK_SENDER: there is none, or no room for another link. The
 * holder gives it back by the board's drop(). Between enter() and leave(). */
mcp_link myr_nic_link(struct myr_nic *nic, const struct myr_nic_name *name);

/* Have messages' packets come in chains: they will come. A NIC that has only collectives to play
 * does without, as it takes a packet faster then. */
void myr_nic_expect_messages(struct myr_nic *nic);

/*
 * Be the one who runs the NIC all the time, so that nobody else has to sleep on the network; false
 * if another process (or this one) is. Who dies is succeeded by nobody: those who wait poll again.
 */
bool myr_nic_become_runner(struct myr_nic *nic, enum myr_nic_runner as);
void myr_nic_resign_runner(struct myr_nic *nic);

/* Have `call` called by those of this process who are about to sleep in myr_nic_sleep(); NULL: no
 * more, and no call is under way when this returns. It may not sleep itself. */
void myr_nic_when_sleeping(struct myr_nic *nic, void (*call)(void *context), void *context);

/*
 * Be the one of the node's processes who looks now and then whether anybody runs the NIC; false if
 * another one (or this one) is. turns() changes whenever somebody has looked for packets;
 * catch_up() takes what has come and does what is due.
 */
bool myr_nic_become_watch(struct myr_nic *nic);
void myr_nic_resign_watch(struct myr_nic *nic);
uint32_t myr_nic_turns(const struct myr_nic *nic);
void myr_nic_catch_up(struct myr_nic *nic);

/* Sleep until something comes from the network, the control program has something to do, or the
 * descriptor `other` can be read; at the most for `most_ns`. */
void myr_nic_await(struct myr_nic *nic, int other, uint64_t most_ns);

/* Open the NIC that lives in the segment, by its socket, which another process has handed over; it
 * is the NIC's then, unless this fails. */
enum myr_status myr_nic_open_given(struct myr_segment *segment, int socket, struct myr_nic **nic,
                                   struct myr_error *error);
int myr_nic_socket(const struct myr_nic *nic); /* its own */

/* A process has died: what it held of the NIC is nobody's. (Of groups: myr_nic_groups_bury().) */
void myr_nic_bury(struct myr_nic *nic, uint32_t pid);

/* For who looks at a NIC from outside: where it is in its segment, how many bytes of it to copy,
 * and what they say. NULL where they are of another layout. */
struct myr_key myr_nic_record_key(void);
size_t myr_nic_shared_bytes(void);
const struct mcp_nic *myr_nic_describe(const void *copy, struct myr_nic_view *view);

/* The address (network byte order) that a link means in such a copy; 0: none. */
uint32_t myr_nic_ip_of(const void *copy, mcp_link link);

/* The same for a group of the NIC's: the key of its record; how many bytes of its slots lie in
 * front of the NIC's own group; and, in a copy of these, the processes' words: the epochs that they
 * have arrived in, then their pids (0: not come yet, or gone). */
struct myr_key myr_nic_group_record_key(uint64_t key);
size_t myr_nic_group_before(uint32_t locals);
const myr_word *myr_nic_group_words(const void *copy);

#endif
