/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world is the state that the processes of a test share: nodes, each of which is a segment with a
 * NIC.
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
    POINTS = 13, /* meeting points */
    UNIT_MOST = 384,
};

extern const struct myr_soft_options loopback;
extern const struct myr_wait_policy sleeping, yielding;

struct world {
    char dir[MOST_NODES][200];
    const char *network[MOST_NODES]; /* the network that its NIC can use */
    uint32_t nodes, locals;  /* processes: nodes * locals; process r is on node r / locals */
    _Atomic uint32_t epochs; /* number of barriers */
    uint64_t seed, key;
    const struct myr_wait_policy *policy;
    uint32_t unit_most;           /* size of a node's block; 0: groups carry no data */
    bool broadcasts;              /* groups broadcast instead */
    uint32_t generations;         /* number of groups, one after the other */
    _Atomic uint32_t built[MOST]; /* blocks made by a node */
    bool thread;
    bool unfit[MOST]; /* processes that did not get the expected data */
    struct myr_nic_name name[MOST_NODES];
    _Atomic uint32_t come[POINTS];
    _Atomic uint32_t ledger[MOST]; /* the epoch in which each process has arrived */
    _Atomic uint32_t pid[MOST];
    _Atomic uint32_t go; /* stages that the test has permitted */
};

uint32_t size_of(const struct world *world);

struct world *make_world(uint32_t nodes, uint32_t locals, uint32_t epochs);
void end_world(struct world *world);

/* Wait until `count` processes have arrived at this point, without running a NIC. */
void meet(struct world *world, int point, uint32_t count);

/* Wait until the test permits this stage, or until `count` processes have arrived at this point. */
void await_go(struct world *world, uint32_t go);
void await_come(struct world *world, int point, uint32_t count);

#endif
