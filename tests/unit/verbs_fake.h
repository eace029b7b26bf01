/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake libibverbs: RDMA cards and the network between them, in one process.
 *
 * Each open device is a separate card. The fake reorders everything that a real network may
 * reorder:
 *
 * - Requests of one queue pair are executed in order, requests of different queue pairs in any
 *   order, and completions may be delayed.
 * - The packets of a write arrive in order, the words of a packet in any order, and other events
 *   may happen between them.
 * - Payload that is not inline is read when the request executes.
 *
 * Like a card, the fake checks remote keys and access rights, and that the peer exists and is
 * connected. A failed request breaks its queue pair, and the requests behind it are flushed. Both
 * ends of a connection must have the same path MTU, or no packet arrives.
 *
 * The fake librdmacm (verbs_fake_cm.c) uses the same machine and network.
 *
 * As a program may fork at any time, a device can be opened only after ibv_fork_init().
 *
 * Single-threaded.
 */
#ifndef TESTS_UNIT_VERBS_FAKE_H
#define TESTS_UNIT_VERBS_FAKE_H

#include "libmyr/verbs/calls.h"

/* The machine's devices (a NULL name ends the list), and their ports. */
struct verbs_fake_port {
    bool active, ethernet;
    uint16_t lid;
    enum ibv_mtu mtu;
    uint8_t speed, width;   /* as in struct ibv_port_attr; 0: the lowest */
    uint32_t unusable_gids; /* number of GIDs of version 1 before those of `gids` */
    /* The GIDs: "v1", "v2", "v2 10.0.0.1", "v2 10.0.0.1/24" if an interface of the machine has
     * that address, "ib", "ib 7 2" in subnet 7; NULL ends the list. */
    const char *gids[5];
};

struct verbs_fake_device {
    const char *name;
    bool refuses;         /* opening it fails */
    uint32_t inline_most; /* the maximum of inline data; 0: unlimited */
    uint32_t inline_got;  /* granted instead of the requested maximum; 0: as requested */
    const char *dir;      /* its directory in sysfs; NULL: none */
    struct verbs_fake_port port[2];
};

const struct myr_verbs_calls *verbs_fake(const struct verbs_fake_device *devices, uint64_t seed);

/* The path of a queue pair. verbs_fake_way() returns NULL if the queue pair is not connected. */
struct verbs_fake_way {
    struct ibv_ah_attr to;
    enum ibv_mtu mtu;
};
const struct verbs_fake_way *verbs_fake_way(uint32_t number);

/* The result of librdmacm's route resolution: unreachable, or a path with this MTU. */
struct verbs_fake_network {
    bool unreachable;
    uint8_t mtu; /* enum ibv_mtu; 0: the port's */
};
void verbs_fake_network(struct verbs_fake_network network);

struct myr_cm_calls;
const struct myr_cm_calls *verbs_fake_cm(void);

/* Functions for the fake librdmacm: find the port with this address (its raw GID), or return
 * NULL; get the result of route resolution; allocate an object; free it. */
const struct verbs_fake_port *verbs_fake_port_at(const uint8_t *gid, struct ibv_device **device,
                                                 uint8_t *port);
const struct verbs_fake_network *verbs_fake_network_now(void);
void *verbs_fake_take(size_t bytes);
int verbs_fake_give_back(void *memory);

/* Execute a part of a random pending request. Returns false if there is none. */
bool verbs_fake_step(void);

/* Remove the card: its queue pairs respond no more, and its own requests fail. */
void verbs_fake_remove(const struct ibv_context *context);

/* Make the n-th allocating call from now on fail (1: the next one; 0: none). */
void verbs_fake_refuse(uint32_t call);

/* Return the number of allocated objects of all types (contexts, protection domains, completion
 * queues, memory regions, librdmacm's identifiers and queue pairs), and of queue pairs alone. */
uint32_t verbs_fake_held(void);
uint32_t verbs_fake_pairs(void);

#endif
