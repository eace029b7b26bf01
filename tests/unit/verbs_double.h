/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A double of libibverbs: RDMA cards and the network between them, in one process.
 *
 * Each device that is opened is another card. Requests of one queue pair are carried out in their
 * order, those of different ones in any; reports may come late. The packets of a write come
 * in their order, the words of a packet in any, and other things happen between them. What is not
 * within a request is read when it is carried out. Writes are checked as a card checks them: who
 * may write where and what may be read, and whether the other side is there and connected. A
 * request that fails breaks its queue pair, and those behind it are flushed. Both sides of a
 * connection must mean the same length of packets, or nothing gets through.
 *
 * librdmacm's double (verbs_double_cm.c) knows the same machine and network.
 *
 * A program may fork at any time, so a device is not opened before libibverbs was told so.
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
    /* Its GIDs, in words: "v1", "v2", "v2 10.0.0.1", "v2 10.0.0.1/24" where an interface of the
     * machine has that address, "ib", "ib 7 2" in subnet 7; NULL ends them. */
    const char *gids[5];
};

struct verbs_double_device {
    const char *name;
    bool refuses;         /* to be opened */
    uint32_t inline_most; /* more within a request is refused; 0: anything goes */
    uint32_t inline_got;  /* so much it gets, whatever was asked for; 0: that */
    const char *folder;   /* in sysfs; NULL: none */
    struct verbs_double_port port[2];
};

const struct myr_verbs_calls *verbs_double(const struct verbs_double_device *devices,
                                           uint64_t seed);

/* The way that a queue pair takes; NULL: it is not connected. */
struct verbs_double_way {
    struct ibv_ah_attr to;
    enum ibv_mtu mtu;
};
const struct verbs_double_way *verbs_double_way(uint32_t number);

/* What librdmacm finds: no way at all, or one that takes so much. */
struct verbs_double_network {
    bool unreachable;
    uint8_t mtu; /* enum ibv_mtu; 0: what the port takes */
};
void verbs_double_network(struct verbs_double_network network);

struct myr_cm_calls;
const struct myr_cm_calls *verbs_double_cm(void);

/* For librdmacm's double: the port that has this address (its raw GID), NULL: none; what it takes
 * to make something, and to give it back. */
const struct verbs_double_port *verbs_double_port_at(const uint8_t *gid, struct ibv_device **device,
                                                     uint8_t *port);
const struct verbs_double_network *verbs_double_network_now(void);
void *verbs_double_take(size_t bytes);
int verbs_double_give_back(void *memory);

/* Carry out something of one request of those under way, by chance. False: there is none. */
bool verbs_double_step(void);

/* The card is gone: its queue pairs answer no more, and its own requests fail. */
void verbs_double_remove(const struct ibv_context *context);

/* The so-manieth call from now on that takes resources fails (1: the next); 0: none. */
void verbs_double_refuse(uint32_t call);

/* How many there are now of all that is made and given back: contexts, protection domains,
 * completion queues, memory regions, librdmacm's identifiers and queue pairs; and of the last
 * alone. */
uint32_t verbs_double_held(void);
uint32_t verbs_double_pairs(void);

#endif
