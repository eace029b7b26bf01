/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulation of barriers on a cluster with one process per node: NIC-based, or host-based with
 * messages over the same NICs, with the same schedules.
 *
 * A host runs the same engine as the NICs (firmware/engine.h), on a group in its own memory. It
 * sends the engine's messages through the process's port, and records received messages in the
 * group. At the level of GM such a message has no payload: its sender identifies the step, as the
 * messages of a pair arrive in order. At the level of MPI it carries an envelope.
 */
#ifndef NICSIM_PLAY_H
#define NICSIM_PLAY_H

#include "bench/nicsim/port.h"
#include "coll_nicbarr/schedule.h"
#include "firmware/sim/machine.h"

enum {
    NICSIM_ENVELOPE_MOST = 64, /* bytes */
    NICSIM_EAGER_MOST = 65000, /* ... */
};

/* A cluster's parameters, and what MPI adds to them. */
struct nicsim_machine {
    char name[32];
    struct sim_parameters nic;
    double mpi_envelope_bytes; /* per message; 0: MPI costs nothing */
    double mpi_send_us;        /* host time per message sent, */
    double mpi_receive_us;     /* ... per message received, */
    double mpi_look_us; /* ... and more per other node, if the host polls its peers one by one */
    double mpi_step_cycles; /* NIC cycles per step of a NIC-based barrier */
    double mpi_barrier_us;  /* host time per NIC-based barrier */
    /* For NICs that match messages, see play_messages.h: */
    double cycles_check; /* to check one message in a list */
    double cycles_hash;  /* to look up a hash table */
    double eager_most;   /* bytes; longer messages leave when matched, in such pieces, ... */
    double pin_us;       /* ... after each host has pinned their memory */
    /* MPI_Comm_create is a barrier, and in addition host time: */
    double create_us, create_node_us; /* in total, and per node */
};

enum nicsim_level { NICSIM_GM, NICSIM_MPI };

/* The events of a process that an observer is notified of. */
enum nicsim_moment {
    NICSIM_ENTERS, /* its work is done, and it calls the barrier */
    NICSIM_LEAVES  /* it has returned from the barrier */
};

struct nicsim_game {
    const struct nicsim_machine *machine;
    struct nicbarr_choice choice;
    /* Instead of a barrier play a 1:P P:1 ping-pong (Hoefler et al., section 2.1): node 0 sends to
     * all others, which answer. */
    bool ping_pong;
    uint32_t nodes;
    bool on_nics; /* NIC-based or host-based */
    enum nicsim_level level;
    uint32_t warm_up, barriers; /* their numbers; the warm-up is not measured */
    /* Before barrier b each process computes for work_us[b % works], times a random factor from 1 -
     * variation to 1 + variation. */
    const double *work_us;
    uint32_t works;
    double variation;
    double loss; /* probability of packet loss, if greater than the machine's */
    uint64_t seed;
    /* Called when a process enters and when it leaves barrier 1, 2, ..., including the warm-up; may
     * be NULL. The simulated times of one process are in order, those of different processes are
     * not. */
    void (*observe)(void *observer, uint32_t node, uint32_t barrier, enum nicsim_moment moment,
                    double at_us);
    void *observer;
};

struct nicsim_outcome {
    double barrier_us; /* of a barrier with the work before it: mean of all barriers and nodes */
    uint32_t finished; /* processes that have left the last barrier */
    struct sim_tally tally;
    struct mcp_counters counters; /* sum of all NICs */
    size_t group_bytes;           /* the NIC's memory for the group: maximum over the nodes */
    size_t port_bytes;            /* host-based: memory of a port's rings, maximum */
    uint32_t connections;         /* ... and a NIC's connections, maximum */
    uint64_t events;
};

/* The host time per message, with that many other nodes to poll. */
struct nicsim_message_us nicsim_message_us(const struct nicsim_machine *machine, uint32_t others,
                                           enum nicsim_level level);

/* False if memory runs out. */
bool nicsim_play(const struct nicsim_game *game, struct nicsim_outcome *outcome);

#endif
