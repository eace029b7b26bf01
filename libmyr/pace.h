/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a progress function runs the NIC, which is a system call: each time while other nodes
 * are talked to, else now and then. Messages from this node come without it.
 */
#ifndef MYR_PACE_H
#define MYR_PACE_H

#include "libmyr/nic.h"

struct myr_pace {
    uint32_t far;  /* polls yet before the network counts as quiet */
    uint32_t idle; /* calls since it does */
};

/* Something is expected from the network. */
void myr_pace_expect(struct myr_pace *pace);

/* Run the NIC or not. Returns how many packets have come. */
uint32_t myr_pace_poll(struct myr_pace *pace, struct myr_nic *nic);

/* Is the NIC of no use any more? It is looked at now and then, while nothing comes. */
bool myr_pace_broken(const struct myr_pace *pace, struct myr_nic *nic);

#endif
