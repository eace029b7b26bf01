/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers on a simulated cluster, one process a node: played by the NICs among themselves, or by
 * the hosts with messages over the same NICs, with the same schedules.
 *
 * A host plays with the NICs' engine (firmware/engine.h), on a group in its own memory. The
 * engine's messages go out by the process's port; the group records those that come in. At the
 * level of GM such a message has no payload. Its sender says which step it is for, as messages of a
 * pair come in order. At the level of MPI it carries an envelope.
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
    double mpi_envelope_bytes; /* of a message; 0: MPI's costs nothing */
    double mpi_send_us;        /* the host's, for each message sent, */
    double mpi_receive_us;     /* ... for each received, */
    double mpi_look_us;        /* ... longer for each other node, where it looks at one by one */
    double mpi_step_cycles;    /* the NIC's, for each step of a barrier that NICs play */
    double mpi_barrier_us;     /* the host's, for each barrier that NICs play */
    /* Where NICs match messages, see play_messages.h: */
    double cycles_check; /* look at one that waits in a list */
    double cycles_hash;  /* look into a table by hash */
    double eager_most;   /* bytes; longer ones leave when they are matched, in pieces of as many, */
    double pin_us;       /* ... and each host pins their memory before */
    /* MPI_Comm_create is a barrier and so much on the host besides: */
    double create_us, create_node_us; /* at all, and for each node */
};

enum nicsim_level { NICSIM_GM, NICSIM_MPI };

/* What a game's observer is told of a process. */
enum nicsim_moment {
    NICSIM_ENTERS, /* its work is done, the call of the barrier begins */
    NICSIM_LEAVES  /* it has returned from it */
};

struct nicsim_game {
    const struct nicsim_machine *machine;
    struct nicbarr_choice choice;
    /* Not a barrier but a 1:P P:1 ping-pong (Hoefler et al., section 2.1): node 0 sends to all
     * others, who send back. */
    bool ping_pong;
    uint32_t nodes;
    bool on_nics; /* who plays: the NICs, or the hosts */
    enum nicsim_level level;
    uint32_t warm_up, barriers; /* how many; those of the warm-up are not measured */
    /* Before barrier b each process computes for work_us[b % works], times a factor that is drawn
     * anew each time: from 1 - variation to 1 + variation. */
    const double *work_us;
    uint32_t works;
    double variation;
    double loss; /* chance that a packet is lost, if greater than the machine's */
    uint64_t seed;
    /* Told of each process when it enters and leaves barrier 1, 2, ..., those of the warm-up among
     * them; NULL: nobody is. Simulated times: those of one process are in order, those of several
     * are not. */
    void (*observe)(void *observer, uint32_t node, uint32_t barrier, enum nicsim_moment moment,
                    double at_us);
    void *observer;
};

struct nicsim_outcome {
    double barrier_us; /* of a barrier with the work before it: mean over barriers and nodes */
    uint32_t finished; /* processes that have done them all */
    struct sim_tally tally;
    struct mcp_counters counters; /* of all NICs together */
    size_t group_bytes;           /* of the NICs' memory, the largest of a node's group */
    size_t port_bytes;            /* of hosts that play: a port's rings, the largest */
    uint32_t connections;         /* ... and a NIC's connections, the most */
    uint64_t events;
};

/* What messages take hosts that look at the messages of so many others. */
struct nicsim_message_us nicsim_message_us(const struct nicsim_machine *machine, uint32_t others,
                                           enum nicsim_level level);

/* False when out of memory. */
bool nicsim_play(const struct nicsim_game *game, struct nicsim_outcome *outcome);

#endif
