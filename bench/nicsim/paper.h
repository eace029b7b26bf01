/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The papers' figures and the simulator's: each number that a paper states, the simulated one, and
 * whether parameters were fitted to it or it is a prediction.
 *
 * The figures are read from the papers' tables (the folder `paper`). fitted.txt lists those that
 * `nicsim fit` uses; all others are predictions.
 */
#ifndef NICSIM_PAPER_H
#define NICSIM_PAPER_H

#include "bench/nicsim/parameters.h"
#include "bench/nicsim/play_bcast.h"
#include "bench/nicsim/play_messages.h"

enum nicsim_quantity {
    NICSIM_NIC,        /* latency of a NIC-based barrier */
    NICSIM_HOST,       /* ... of a host-based barrier */
    NICSIM_FACTOR,     /* the latter over the former */
    NICSIM_OVERHEAD,   /* of a NIC-based barrier: latency with MPI minus latency with GM */
    NICSIM_LOOP_NIC,   /* a loop of computation and a barrier, with a certain efficiency */
    NICSIM_LOOP_HOST,  /* ... with a host-based barrier */
    NICSIM_CREATE_NIC, /* MPI_Comm_create */
    NICSIM_CREATE_HOST,
    NICSIM_UNICAST,    /* latency of a message */
    NICSIM_OPEN,       /* a receive with an open source, behind other unexpected messages */
    NICSIM_NAMED,      /* ... with a named source */
    NICSIM_BCAST_NIC,  /* NIC-based MPI_Bcast, until the last node has the data */
    NICSIM_BCAST_HOST, /* ... host-based */
    NICSIM_ROOT_NIC,   /* ... the call of the root only */
    NICSIM_ROOT_HOST
};

struct nicsim_figure {
    char name[80]; /* file, row and column: "barrier_latency:LANai4.3:gm:PE:16:nic_us" */
    enum nicsim_quantity quantity;
    int number; /* index of its machine */
    const struct nicsim_machine *machine;
    enum nicsim_level level;
    struct nicbarr_choice choice; /* parameter 0: the best tree */
    uint32_t nodes, bytes, width;
    double efficiency;
    double paper, simulated; /* microseconds, or a factor */
    bool fitted;
};

enum { NICSIM_FIGURES_MOST = 100, NICSIM_MACHINES = 3 };

struct nicsim_papers {
    struct nicsim_file machines[NICSIM_MACHINES]; /* lanai43, lanai72, npii */
    uint32_t count;
    struct nicsim_figure figures[NICSIM_FIGURES_MOST];
};

/* Read machines and figures from the folder with nicsim's data. False after a message. */
bool nicsim_papers_read(const char *data, struct nicsim_papers *papers);

/* Simulate one figure, or all. False after a message. */
bool nicsim_figure_simulate(struct nicsim_figure *figure);
bool nicsim_papers_simulate(struct nicsim_papers *papers);

/* Mean of |simulated / paper - 1|. */
double nicsim_papers_error(const struct nicsim_papers *papers, bool fitted);

/* A barrier's latency (us), the mean of consecutive ones. For a tree with parameter 0 the minimum
 * over all dimensions. Negative if memory runs out. */
double nicsim_latency_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                         uint32_t nodes, bool on_nics, enum nicsim_level level);

/* The time (us) of the shortest loop of computation and a barrier in which computation takes this
 * part of the time. */
double nicsim_loop_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                      uint32_t nodes, bool on_nics, double efficiency);

/*
 * Messages that NICs match, as in Zhang's thesis: half of a round trip between two nodes (section
 * 4.1), and a receive behind other unexpected messages (section 4.2, figure 4.1). See
 * play_messages.h. Negative if memory runs out.
 */
double nicsim_unicast_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t bytes);
double nicsim_waiting_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t nodes, uint32_t width, bool open);

/*
 * MPI_Bcast as in Zhang's thesis (section 4.4): the time until the root has an answer of the last
 * node, minus that of the shortest message between two nodes; and the time of the root's call.
 * Negative if memory runs out.
 */
double nicsim_bcast_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                       bool on_nics);
double nicsim_bcast_root_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                            bool on_nics);

/*
 * The GM paper's closed formulas (section 2.2, equations 1 and 2) with the same parameters. A
 * host-based barrier takes log2 N times all stages of a message from host to host. A NIC-based one
 * takes the stages down once, log2 N steps on the network, and the stages up once.
 */
double nicsim_formula_us(const struct nicsim_machine *machine, uint32_t nodes, bool on_nics,
                         enum nicsim_level level);

#endif
