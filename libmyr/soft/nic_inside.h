/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions to run the control program of the NIC, for the files of libmyr and not for its
 * users. */
#ifndef MYR_SOFT_INSIDE_H
#define MYR_SOFT_INSIDE_H

#include "firmware/mcp.h"
#include "firmware/soft/addresses.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"
#include "libmyr/soft/nic_inspect.h"

/* Increment this with any change in the meaning of a NIC's shared state. A change of its size is
 * detected anyway. */
enum { MYR_SOFT_LAYOUT = 16 };
uint32_t myr_soft_layout(void);

/* Locks the NIC to run the control program; returns its memory and board. myr_soft_leave() unlocks
 * the NIC and sends the packets, and must always be called after myr_soft_enter(). These calls must
 * not be nested.
 *
 * The result of myr_soft_enter() is NULL in two cases, which myr_soft_entered() distinguishes. If
 * the NIC is broken, its control program must not run any more, but the NIC is still locked, for
 * cleanup. If this process has given up waiting for the lock (struct myr_soft_bounds), the NIC is
 * not locked, and the data that the lock protects must not be written or freed, because the holder
 * of the lock may continue later. */
struct mcp_nic *myr_soft_enter(struct myr_soft_nic *nic, struct mcp_board **board);
bool myr_soft_entered(const struct myr_soft_nic *nic);
void myr_soft_leave(struct myr_soft_nic *nic);

/* Like myr_soft_enter(), but for an observer, which waits for the lock no longer than one run of
 * the control program takes. If the result is NULL, myr_soft_leave() must not be called. */
struct mcp_nic *myr_soft_enter_to_inspect(struct myr_soft_nic *nic);

/* Returns the error for a NIC that is broken, or for whose lock this process has given up
 * waiting. */
enum myr_status myr_soft_is_broken(const struct myr_soft_nic *nic, struct myr_error *error);

/* Returns the index of the address through which this NIC reaches the NIC called `name`: an address
 * in one of the networks of this NIC if there is any, otherwise the first address of a family that
 * this NIC supports. An address that this NIC also has is used only if there are no others. Returns
 * MYR_NIC_ADDRESSES if there is no suitable address. */
uint32_t myr_soft_route(const struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Gets a reference to the link to the NIC called `name`, to be released with the board's drop().
 * Returns MCP_LINK_SENDER if there is no route, or if the table has no space for another link. To
 * be called between enter() and leave(). */
mcp_link myr_soft_link(struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Formats a link's address. Call it between enter() and leave(). */
void myr_soft_address_of(const struct myr_soft_nic *nic, mcp_link link,
                         char text[MCP_ADDRESS_TEXT]);

/* Enables UDP GRO, because messages are expected. A NIC that only performs collectives does not
 * enable it, because single packets are received faster without it. */
void myr_soft_expect_messages(struct myr_soft_nic *nic);

/* Makes this process the runner, which runs the NIC continuously, so that no other process has to
 * sleep on the network. Returns false if there already is a runner. A runner that dies is not
 * replaced; waiting processes then poll again. */
bool myr_soft_become_runner(struct myr_soft_nic *nic, enum myr_soft_runner as);
void myr_soft_resign_runner(struct myr_soft_nic *nic);

/* Sets a function that is called in each thread of this process that is about to sleep in
 * myr_soft_sleep(). The function itself must not sleep. NULL removes it, and waits until no thread
 * executes it any more. */
void myr_soft_when_sleeping(struct myr_soft_nic *nic, void (*call)(void *context), void *context);

/* Makes this process the watch, which checks from time to time whether any process runs the NIC.
 * Returns false if there already is one.
 *
 * myr_soft_polls() returns a number that changes whenever a process has polled for packets.
 * myr_soft_catch_up() processes received packets and expired timers. If it returns false, there may
 * be more packets, and the caller should call it again without a pause, because packets of peers
 * may be queued behind packets of unknown senders. */
bool myr_soft_become_watch(struct myr_soft_nic *nic);
void myr_soft_resign_watch(struct myr_soft_nic *nic);
uint32_t myr_soft_polls(const struct myr_soft_nic *nic);
bool myr_soft_catch_up(struct myr_soft_nic *nic);

/* Sleeps until a packet arrives, the control program has work, or the descriptor `other` is
 * readable; at most `most_ns`. */
void myr_soft_await(struct myr_soft_nic *nic, int other, uint64_t most_ns);

/* Opens the NIC in the segment with its socket, which another process has passed on. The NIC owns
 * the socket afterwards, unless this fails. */
enum myr_status myr_soft_open_given(struct myr_segment *segment, int socket,
                                    struct myr_soft_nic **nic, struct myr_error *error);
int myr_soft_socket(const struct myr_soft_nic *nic); /* the NIC keeps ownership */

/* Releases the resources of a dead process in the NIC. (Groups: myr_soft_groups_reap().) */
void myr_soft_reap(struct myr_soft_nic *nic, uint32_t pid);

/* Used by processes that inspect a NIC from outside (nic_inspect.h). The first function returns the
 * key of the NIC's record in the segment, and the second one the number of bytes of this record to
 * copy. The third function decodes the copy, or returns NULL if the copy has another layout. */
struct myr_key myr_soft_record_key(void);
size_t myr_soft_shared_bytes(void);
const struct mcp_nic *myr_soft_describe(const void *copy, struct myr_soft_view *view);

/* Returns a link's address in such a copy. */
struct mcp_ip myr_soft_ip_of(const void *copy, mcp_link link);

/* A group lingers when no host uses it any more, but the NIC still runs its closing epoch, because
 * peers may need the messages of this epoch. The list contains the offsets of the records of these
 * groups in the segment, the oldest first.
 *
 * When the list is full, the oldest group is closed early, and the group fails on a peer that still
 * needs one of its messages. The list is therefore large enough for all groups that a program may
 * free at once, some dozens for each communicator that has carried data of several sizes.
 *
 * To be used between enter() and leave(). */
enum { MYR_SOFT_LINGERING = 256 };
struct myr_soft_lingering {
    uint32_t record[MYR_SOFT_LINGERING];
    uint32_t count;
};
struct myr_soft_lingering *myr_soft_lingering(struct myr_soft_nic *nic);

/* Locate the parts of a group for inspection. The first function returns the key of the group's
 * record. The second one returns the offset, in bytes, of the NIC's group in the slots of the
 * record. Before this offset, the slots contain the words of the node's processes: first the epoch
 * in which each has arrived, then the pid of each (0 if it has not joined yet, or has left). */
struct myr_key myr_soft_group_record_key(uint64_t key);
size_t myr_soft_group_before(uint32_t locals);
const myr_word *myr_soft_group_words(const void *copy);

#endif
