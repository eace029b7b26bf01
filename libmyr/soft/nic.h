/* SPDX-License-Identifier: BSD-3-Clause */
/* The node's soft NIC, shared by the node's processes.
 *
 * The state of a soft NIC is in shared memory. The processes that poll the NIC run its control
 * program (firmware/mcp.h), one at a time. All processes use the same UDP socket, which the creator
 * of the NIC has opened. If the creator leaves or dies, the others keep the memory and the socket
 * alive.
 *
 * All functions except open and close may be called by several threads concurrently. */
#ifndef MYR_SOFT_NIC_H
#define MYR_SOFT_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/counters.h"
#include "firmware/engine.h"
#include "libmyr/nic_name.h"
#include "libmyr/status.h"

struct myr_soft_nic;
struct myr_segment;

/* The runner of a NIC: what runs it in addition to the processes that wait for it. */
enum myr_soft_runner {
    MYR_SOFT_POLLED, /* nothing */
    MYR_SOFT_THREAD, /* a thread of one of its processes */
    MYR_SOFT_DAEMON, /* myrd */
};

/* Timeouts for waiting while another process holds the lock of the NIC and makes no progress with
 * the control program, for example because it was stopped by SIGSTOP or a debugger. After `warn_ns`
 * a message names the holder. After `give_up_ns` the waiting process treats the NIC as unusable,
 * and its operations fail. Only time during which the waiting process runs is counted. (If the
 * stopped process continues later, the NIC is intact, and serves the other processes.) */
struct myr_soft_bounds {
    uint64_t warn_ns, give_up_ns;    /* UINT64_MAX means never; 0 the default */
    void (*print)(const char *line); /* called in any thread; NULL if there is no report */
};

struct myr_soft_options {
    const char *network; /* addresses to use, see mcp_local_addresses() */
    uint16_t port;       /* UDP port; 0 for any */
};

/* Opens the NIC in `segment`, or creates it there. The segment must outlive the NIC. If the socket
 * of the NIC is not available, or there is no network, returns MYR_ERR_* with a message that says
 * how to fix the problem. */
enum myr_status myr_soft_open(struct myr_segment *segment, const struct myr_soft_options *options,
                              struct myr_soft_nic **nic, struct myr_error *error);
void myr_soft_close(struct myr_soft_nic *nic);

/* Does the same for a program that does not need a segment otherwise: joins the segment of a
 * directory (segment.h), of up to `bytes`, and opens its NIC. On failure *segment or *nic is NULL;
 * a segment that was joined stays joined. */
enum myr_status myr_soft_open_in(const char *dir, uint32_t bytes,
                                 const struct myr_soft_options *options,
                                 struct myr_segment **segment, struct myr_soft_nic **nic,
                                 struct myr_error *error);

void myr_soft_get_name(const struct myr_soft_nic *nic, struct myr_nic_name *name);
struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic);

/* Returns the size of the largest packet that reaches the NIC called `name` unfragmented, as far as
 * this machine knows (bytes, including an IPv4 header); 0 if unknown. */
uint32_t myr_soft_mtu(const struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Processes received packets and expired timers. Returns 0 if there were none. */
uint32_t myr_soft_poll(struct myr_soft_nic *nic);

/* Like myr_soft_poll(), but polls at most once every 20 microseconds for all threads of this
 * process together. This is for progress functions, which are called continuously even if no
 * process waits. */
uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic);

/* Sleeps until a packet arrives, `word` differs from `seen`, or `timeout_us` have passed; may also
 * return immediately. `sleepers`, the word after `word`, counts the processes that sleep on `word`.
 * One process of a node sleeps on the network and runs the NIC, and the others sleep on the words
 * that they wait for. */
void myr_soft_sleep(struct myr_soft_nic *nic, myr_word *word, myr_word *sleepers, uint32_t seen,
                    uint32_t timeout_us);

/* Sets the timeouts. It must be called before any other thread uses the NIC. */
void myr_soft_set_bounds(struct myr_soft_nic *nic, const struct myr_soft_bounds *bounds);

/* Returns whether the NIC is unusable, because a process was killed while it ran the control
 * program, or because this process has given up waiting for a process that was stopped while it ran
 * the control program. */
bool myr_soft_broken(struct myr_soft_nic *nic);

/* Returns the pid of the process for which this process has given up waiting, or 0. */
uint32_t myr_soft_given_up(const struct myr_soft_nic *nic);

/* Returns whether another NIC has sent a message although no process of this node has connected to
 * it yet. Such a message is not accepted until a process does so (port.h). This function only reads
 * a word, so it may be called often. */
bool myr_soft_knocked(const struct myr_soft_nic *nic);

/* Gets the NIC's counters. */
void myr_soft_count(const struct myr_soft_nic *nic, struct mcp_counters *counters);

#endif
