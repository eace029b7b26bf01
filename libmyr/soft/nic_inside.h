/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC for libmyr's own files: running its control program. Not for users of libmyr. */
#ifndef MYR_SOFT_INSIDE_H
#define MYR_SOFT_INSIDE_H

#include "firmware/mcp.h"
#include "firmware/soft/addresses.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"
#include "libmyr/soft/nic_look.h"

/* Raise this with any change in the meaning of a NIC's shared state. A change of its size is
 * detected anyway. */
enum { MYR_SOFT_LAYOUT = 15 };
uint32_t myr_soft_layout(void);

/* Lock the NIC to run the control program; returns its memory and board. There are two cases in
 * which the result is NULL, which entered() distinguishes. If the NIC is broken, its control
 * program must not run any more, but the NIC is locked nevertheless, for cleanup. If this process
 * has given up waiting for the lock (struct myr_soft_bounds), the NIC is not locked, and data that
 * the lock guards must not be written or freed, because its holder may continue later. leave()
 * unlocks the NIC and sends the packets; call it after enter() in any case. Do not nest. */
struct mcp_nic *myr_soft_enter(struct myr_soft_nic *nic, struct mcp_board **board);
bool myr_soft_entered(const struct myr_soft_nic *nic);
void myr_soft_leave(struct myr_soft_nic *nic);

/* The same for an observer, which waits no longer than one run of the control program takes. If the
 * result is NULL, do not call leave(). */
struct mcp_nic *myr_soft_enter_to_look(struct myr_soft_nic *nic);

/* Fail because the NIC is broken, or because this process has given up waiting for its lock. */
enum myr_status myr_soft_is_broken(const struct myr_soft_nic *nic, struct myr_error *error);

/* The index of the address through which this NIC reaches the NIC called `name`: an address in a
 * network of its own if there is any, else the first of a family that this NIC has. An address that
 * this NIC has itself is used only if all of them are. MYR_NIC_ADDRESSES if there is none. */
uint32_t myr_soft_route(const struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Get a reference to the link to that address, to be released with the board's drop().
 * MCP_LINK_SENDER: there is no route, or no room for another link. Call it between enter() and
 * leave(). */
mcp_link myr_soft_link(struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* A link's address as text. Between enter() and leave(). */
void myr_soft_place_of(const struct myr_soft_nic *nic, mcp_link link, char text[MCP_PLACE_TEXT]);

/* Expect messages, and therefore receive packets with UDP GRO. A NIC that only plays collectives
 * does without, as it receives single packets faster that way. */
void myr_soft_expect_messages(struct myr_soft_nic *nic);

/* Make this process the one that runs the NIC all the time, so that no other has to sleep on the
 * network. False if there is one already. A runner that dies is not replaced: waiting processes
 * poll again. */
bool myr_soft_become_runner(struct myr_soft_nic *nic, enum myr_soft_runner as);
void myr_soft_resign_runner(struct myr_soft_nic *nic);

/* Call `call` in each thread of this process that is about to sleep in myr_soft_sleep(). `call`
 * must not sleep. NULL: remove it; when this returns, no call is under way. */
void myr_soft_when_sleeping(struct myr_soft_nic *nic, void (*call)(void *context), void *context);

/* Make this process the watch, which checks now and then whether any process runs the NIC. False if
 * there is one already. polls() changes whenever a process has polled for packets. catch_up()
 * processes received packets and expired timers. False: there may be more; call it again without a
 * pause, as packets of peers may be queued behind those of strangers. */
bool myr_soft_become_watch(struct myr_soft_nic *nic);
void myr_soft_resign_watch(struct myr_soft_nic *nic);
uint32_t myr_soft_polls(const struct myr_soft_nic *nic);
bool myr_soft_catch_up(struct myr_soft_nic *nic);

/* Sleep until a packet arrives, the control program has work, or the descriptor `other` is
 * readable; at most `most_ns`. */
void myr_soft_await(struct myr_soft_nic *nic, int other, uint64_t most_ns);

/* Open the NIC in the segment with its socket, which another process has passed on. The NIC owns
 * the socket afterwards, unless this fails. */
enum myr_status myr_soft_open_given(struct myr_segment *segment, int socket,
                                    struct myr_soft_nic **nic, struct myr_error *error);
int myr_soft_socket(const struct myr_soft_nic *nic); /* remains the NIC's */

/* Release what a dead process held of the NIC. (Groups: myr_soft_groups_reap().) */
void myr_soft_reap(struct myr_soft_nic *nic, uint32_t pid);

/* For a process that inspects a NIC from outside: the key of its record in the segment, the bytes
 * of the record to copy, and the decoding of that copy. NULL if the layout is another. */
struct myr_key myr_soft_record_key(void);
size_t myr_soft_shared_bytes(void);
const struct mcp_nic *myr_soft_describe(const void *copy, struct myr_soft_view *view);

/* A link's address in such a copy. */
struct mcp_ip myr_soft_ip_of(const void *copy, mcp_link link);

/* Groups without a host that are not closed yet, the oldest first: offsets of their records in the
 * segment. When the list is full, the oldest is closed, and a peer that still needs a message of it
 * fails. So it has as many entries as a program may free at once: some dozens for each communicator
 * that has carried data of several sizes. Between enter() and leave(). */
enum { MYR_SOFT_LINGERING = 256 };
struct myr_soft_lingering {
    uint32_t record[MYR_SOFT_LINGERING];
    uint32_t count;
};
struct myr_soft_lingering *myr_soft_lingering(struct myr_soft_nic *nic);

/* The same for a group of the NIC: the key of its record, and the bytes of its slots before the
 * NIC's own group. A copy of these bytes contains the processes' words: first the epochs in which
 * they have arrived, then their pids (0: not joined yet, or left). */
struct myr_key myr_soft_group_record_key(uint64_t key);
size_t myr_soft_group_before(uint32_t locals);
const myr_word *myr_soft_group_words(const void *copy);

#endif
