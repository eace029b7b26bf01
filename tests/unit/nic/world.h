/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of a test share: a world of nodes, each of which is a segment with a NIC in
 * it.
 */
#ifndef TESTS_UNIT_NIC_WORLD_H
#define TESTS_UNIT_NIC_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libmyr/node/waiter.h"
#include "libmyr/soft/nic.h"

enum {
    MOST_NODES = 4,
    MOST_LOCALS = 3,
    MOST = MOST_NODES * MOST_LOCALS,
    POINTS = 13, /* where processes meet */
    UNIT_MOST = 384,
};

extern const struct myr_soft_options loopback;
extern const struct myr_wait_policy sleeping, yielding;

struct world {
    char folder[MOST_NODES][200];
    const char *network[MOST_NODES]; /* that its NIC may use */
    uint32_t nodes, locals; /* processes: nodes * locals; process r is on node r / locals */
    uint32_t epochs;
    uint64_t seed, key;
    const struct myr_wait_policy *policy;
    uint32_t unit_most;           /* of a node's block; 0: groups carry no data */
    bool broadcasts;              /* they broadcast instead */
    uint32_t generations;         /* of groups, one after the other */
    _Atomic uint32_t built[MOST]; /* how many blocks of a node were made */
    bool thread;
    bool unfit[MOST]; /* who did not get what it should */
    struct myr_nic_name name[MOST_NODES];
    _Atomic uint32_t come[POINTS];
    _Atomic uint32_t ledger[MOST]; /* the epoch each has come to */
    _Atomic uint32_t pid[MOST];
    _Atomic uint32_t go; /* the test lets them go on */
};

/* How many processes it has. */
uint32_t size_of(const struct world *world);

struct world *make_world(uint32_t nodes, uint32_t locals, uint32_t epochs);
void end_world(struct world *world);

/* Wait until `count` processes have come here, without running any NIC. */
void meet(struct world *world, int point, uint32_t count);

/* Wait until the test lets us go on; or until so many have come here. */
void await_go(struct world *world, uint32_t go);
void await_come(struct world *world, int point, uint32_t count);

#endif
