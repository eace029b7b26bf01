/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A double of libibverbs: RDMA cards and the network between them, in one process.
 *
 * Each device that is opened is another card. Requests of one queue pair are carried out in their
 * order, those of different ones in any; reports may come late. The packets of a write come
 * in their order, the words of a packet in any, and other things happen between them. What is not
 * within a request is read when it is carried out. Writes are checked as a card checks them: who
 * may write where and what may be read, and whether the other side is there and connected. A
 * request that fails breaks its queue pair, and those behind it are flushed.
 *
 * One thread.
 */
#ifndef TESTS_UNIT_VERBS_DOUBLE_H
#define TESTS_UNIT_VERBS_DOUBLE_H

#include "libmyr/verbs/calls.h"

/* What the machine has: names of devices (NULL ends them), and what each port is like. */
struct verbs_double_port {
    bool active, ethernet;
    uint16_t lid;
    enum ibv_mtu mtu;
    uint8_t speed, width; /* as in struct ibv_port_attr; 0: the least */
    /* Its GIDs, in words: "v1", "v2", "v2 10.0.0.1", "ib"; NULL ends them. */
    const char *gids[5];
};

struct verbs_double_device {
    const char *name;
    bool refuses;         /* to be opened */
    uint32_t inline_most; /* more within a request is refused; 0: anything goes */
    struct verbs_double_port port[2];
};

const struct myr_verbs_calls *verbs_double(const struct verbs_double_device *devices,
                                           uint64_t seed);

/* Carry out something of one request of those under way, by chance. False: there is none. */
bool verbs_double_step(void);

/* The card is gone: its queue pairs answer no more, and its own requests fail. */
void verbs_double_remove(const struct ibv_context *context);

/* The so-manieth call from now on that takes resources fails (1: the next); 0: none. */
void verbs_double_refuse(uint32_t call);

/* How many there are now of all that is made and given back: contexts, protection domains,
 * completion queues, memory regions and queue pairs; and of the last alone. */
uint32_t verbs_double_held(void);
uint32_t verbs_double_pairs(void);

#endif
