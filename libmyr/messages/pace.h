/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides how often a progress function runs the NIC, which takes a system call. While there is
 * traffic with other nodes, each call of the progress function runs the NIC; otherwise only some
 * calls do.
 *
 * A call of the progress function is busy if it has received messages from processes of the same
 * node, for which it needs no system call. One out of MYR_PACE_BUSY busy calls polls the network
 * nevertheless, so that the network is not starved. */
#ifndef MYR_PACE_H
#define MYR_PACE_H

#include "libmyr/soft/nic.h"

struct myr_pace {
    uint32_t far;  /* polls left before the network counts as idle */
    uint32_t idle; /* calls since then */
    uint32_t busy; /* consecutive calls that had other work */
};

enum { MYR_PACE_BUSY = 16 /* one of this number of busy calls polls the network */ };

/* Returns whether the network must be polled in a call that has done `steps` of other work. */
static inline bool myr_pace_polls(struct myr_pace *pace, uint32_t steps)
{
    pace->busy = 0 == steps ? 0 : (pace->busy + 1) % MYR_PACE_BUSY;
    return 0 == pace->busy;
}

/* Resets the pace because traffic is expected from the network. */
void myr_pace_expect(struct myr_pace *pace);

static inline bool myr_pace_expects(const struct myr_pace *pace)
{
    return 0 != pace->far;
}

/* Runs the NIC if it is time to. Returns the number of packets received. */
uint32_t myr_pace_poll(struct myr_pace *pace, struct myr_soft_nic *nic);

/* Returns whether the NIC is unusable. It is checked from time to time, while the network is
 * idle. */
bool myr_pace_broken(const struct myr_pace *pace, struct myr_soft_nic *nic);

/* Limits an action to once a second in a function that is called continuously. */
struct myr_seldom {
    uint32_t calls;
    uint64_t last_ms;
};
bool myr_seldom_due(struct myr_seldom *seldom);

/* How the NIC is drained before it is closed.
 *
 * When the processes of a job begin to drain their NICs, all of them have received their messages,
 * but they may still have to send acknowledgements, which are delayed for piggybacking. A sender
 * that misses an acknowledgement would assume that its message is lost. A process that communicates
 * with other nodes therefore runs its NIC until it has sent its acknowledgements and, if it has
 * outstanding sends itself, until these are acknowledged or a timeout expires.
 *
 * A process of another job, to which this process was connected by MPI, may receive messages much
 * later. Since MPI_Finalize is collective over connected processes, this process waits without a
 * timeout as long as the other process may still receive messages, that is, while its port is open
 * and its NIC has not been silent for MYR_DRAIN_SILENCE seconds.
 *
 * A process that has ended no longer acknowledges retransmissions. If there are processes of other
 * jobs on other nodes, a process therefore runs its NIC longer before it ends. */
enum myr_drain_peers {
    MYR_DRAIN_THIS_NODE,   /* all peers are on this node */
    MYR_DRAIN_OTHER_NODES, /* there are peers on other nodes */
    MYR_DRAIN_OTHER_JOBS,  /* there are peers of other jobs on other nodes */
};
enum { MYR_DRAIN_SILENCE = 60 };

struct myr_drain {
    uint64_t begin_us, least_us;
    bool warned;
};
struct myr_drain myr_drain_begin(enum myr_drain_peers peers);
bool myr_drain_goes_on(const struct myr_drain *drain, bool busy);

/* Called at each poll while this process waits for a process of another job; sleeps for a
 * millisecond. Returns true once, when the drain has taken `warn_s` seconds (0: never). */
bool myr_drain_wait(struct myr_drain *drain, uint32_t warn_s);

#endif
