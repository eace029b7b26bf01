/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a progress function runs the NIC, which is a system call: each time while other nodes
 * are talked to, else now and then. Messages from this node come without it, and make a call busy;
 * so that they never keep others out, some busy calls look at the network as well.
 */
#ifndef MYR_PACE_H
#define MYR_PACE_H

#include "libmyr/soft/nic.h"

struct myr_pace {
    uint32_t far;  /* polls yet before the network counts as quiet */
    uint32_t idle; /* calls since it does */
    uint32_t busy; /* calls in a row that had other things to do */
};

enum { MYR_PACE_BUSY = 16 /* busy calls, of which the last looks at the network all the same */ };

/* Is it the network's turn, in a call that has taken `steps` of other things? */
static inline bool myr_pace_turn(struct myr_pace *pace, uint32_t steps)
{
    pace->busy = 0 == steps ? 0 : (pace->busy + 1) % MYR_PACE_BUSY;
    return 0 == pace->busy;
}

/* Something is expected from the network. */
void myr_pace_expect(struct myr_pace *pace);

static inline bool myr_pace_expects(const struct myr_pace *pace)
{
    return 0 != pace->far;
}

/* Run the NIC or not. Returns how many packets have come. */
uint32_t myr_pace_poll(struct myr_pace *pace, struct myr_soft_nic *nic);

/* Is the NIC of no use any more? It is looked at now and then, while nothing comes. */
bool myr_pace_broken(const struct myr_pace *pace, struct myr_soft_nic *nic);

/* Something to do once in a second at the most, by a function that is called all the time. */
struct myr_seldom {
    uint32_t calls;
    uint64_t last_ms;
};
bool myr_seldom_due(struct myr_seldom *seldom);

/*
 * At the end all processes have got all that they wanted. What has not been acknowledged yet only
 * looks lost. Acknowledgements wait a little for another packet that can carry them. So who talks
 * to other nodes runs its NIC until it has sent them, and who is busy until what it has sent is
 * acknowledged, but not for ever.
 */
struct myr_drain {
    uint64_t begin_us, least_us;
};
struct myr_drain myr_drain_begin(bool talks_to_others);
bool myr_drain_goes_on(const struct myr_drain *drain, bool busy);

#endif
