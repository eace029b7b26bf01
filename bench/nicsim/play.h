/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulation of barriers on a cluster with one process per node. Barriers are NIC-based, or
 * host-based with messages over the same NICs, and both use the same schedules.
 *
 * For host-based barriers, a host runs the same engine as the NICs (firmware/engine.h), on a group
 * in its own memory. It sends the messages of the engine through the port of the process, and
 * records received messages in the group. At the level of GM such a message has no payload, and at
 * the level of MPI it carries an envelope. Messages between two nodes arrive in order, so the
 * receiver can identify the step of a message by its sender. */
#ifndef NICSIM_PLAY_H
#define NICSIM_PLAY_H

#include "bench/nicsim/port.h"
#include "coll_nicbarr/schedule.h"
#include "firmware/sim/machine.h"

enum {
    NICSIM_ENVELOPE_MOST = 64, /* bytes */
    NICSIM_EAGER_MOST = 65000, /* bytes */
};

/* A cluster's parameters, and what MPI adds to them. */
struct nicsim_machine {
    char name[32];
    struct sim_parameters nic;
    double mpi_envelope_bytes; /* size per message; 0: MPI costs nothing */
    double mpi_send_us;        /* host time per message sent */
    double mpi_receive_us;     /* host time per message received */
    double mpi_look_us; /* additional host time per other node for polling, if the host polls its
                           peers one by one */
    double mpi_step_cycles; /* NIC cycles per step of a NIC-based barrier */
    double mpi_barrier_us;  /* host time per NIC-based barrier */
    /* For NICs that match messages; see play_messages.h: */
    double cycles_check; /* to check one message in a list */
    double cycles_hash;  /* to look up a hash table */
    double eager_most;   /* bytes; longer messages are sent once matched, in chunks of this size */
    double pin_us;       /* host time for pinning the memory of a longer message, which precedes */
    /* MPI_Comm_create performs a barrier, and in addition takes host time: */
    double create_us, create_node_us; /* in total, and per node */
};

enum nicsim_level { NICSIM_GM, NICSIM_MPI };

/* The events of a process that an observer is notified of. */
enum nicsim_moment {
    NICSIM_ENTERS, /* it has completed its work and calls the barrier */
    NICSIM_LEAVES  /* it returns from the barrier */
};

struct nicsim_game {
    const struct nicsim_machine *machine;
    struct nicbarr_choice choice;
    /* Instead of barriers, simulates a 1:P P:1 ping-pong (Hoefler et al., section 2.1): node 0
     * sends to all other nodes, which reply. */
    bool ping_pong;
    uint32_t nodes;
    bool on_nics; /* true: NIC-based; false: host-based */
    enum nicsim_level level;
    uint32_t warm_up, barriers; /* numbers of barriers; the warm-up is not measured */
    /* Before barrier b each process computes for work_us[b % works], multiplied by a random factor
     * from 1 - variation to 1 + variation. */
    const double *work_us;
    uint32_t works;
    double variation;
    double loss; /* probability of packet loss; the probability of the machine is used if it is
                    greater */
    uint64_t seed;
    /* Called when a process enters and when it leaves barrier 1, 2, ..., including the warm-up; may
     * be NULL. Calls for the same process are in the order of simulated time, but calls for
     * different processes are not. */
    void (*observe)(void *observer, uint32_t node, uint32_t barrier, enum nicsim_moment moment,
                    double at_us);
    void *observer;
};

struct nicsim_outcome {
    double barrier_us; /* of a barrier and the work before it: mean of all barriers and nodes */
    uint32_t finished; /* processes that have left the last barrier */
    struct sim_tally tally;
    struct mcp_counters counters; /* sum of all NICs */
    size_t group_bytes;           /* the NIC's memory for the group: maximum over the nodes */
    size_t port_bytes;            /* host-based: memory of a port's rings: maximum over the nodes */
    uint32_t connections;         /* host-based: connections of a NIC: maximum over the nodes */
    uint64_t events;
};

/* Returns the host time per message, if that many other nodes have to be polled. */
struct nicsim_message_us nicsim_message_us(const struct nicsim_machine *machine, uint32_t others,
                                           enum nicsim_level level);

/* Runs a simulation. Returns false if memory runs out. */
bool nicsim_play(const struct nicsim_game *game, struct nicsim_outcome *outcome);

#endif
