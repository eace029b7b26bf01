/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison of the papers with the simulator. For each value that a paper states, there is the
 * simulated value, and a flag that distinguishes values to which parameters were fitted from
 * predictions.
 *
 * The values of the papers are read from tables in the directory `paper`. fitted.txt lists the
 * values that `nicsim fit` uses. All others are predictions. */
#ifndef NICSIM_PAPER_H
#define NICSIM_PAPER_H

#include "bench/nicsim/parameters.h"
#include "bench/nicsim/play_bcast.h"
#include "bench/nicsim/play_messages.h"

enum nicsim_quantity {
    NICSIM_NIC,        /* latency of a NIC-based barrier */
    NICSIM_HOST,       /* latency of a host-based barrier */
    NICSIM_FACTOR,     /* factor of improvement: host-based latency over NIC-based latency */
    NICSIM_OVERHEAD,   /* overhead of MPI in a NIC-based barrier: latency with MPI minus latency
                          with GM */
    NICSIM_LOOP_NIC,   /* duration of a loop of computation and a NIC-based barrier that has a
                          certain efficiency */
    NICSIM_LOOP_HOST,  /* duration of such a loop with a host-based barrier */
    NICSIM_CREATE_NIC, /* duration of MPI_Comm_create with NIC-based barriers */
    NICSIM_CREATE_HOST,
    NICSIM_UNICAST,    /* latency of a message */
    NICSIM_OPEN,       /* duration of a receive with an open source, behind other unexpected
                          messages */
    NICSIM_NAMED,      /* duration of such a receive with a named source */
    NICSIM_BCAST_NIC,  /* duration of a NIC-based MPI_Bcast, until the last node has the data */
    NICSIM_BCAST_HOST, /* duration of a host-based MPI_Bcast, until the last node has the data */
    NICSIM_ROOT_NIC,   /* duration of the root's call of a NIC-based MPI_Bcast */
    NICSIM_ROOT_HOST
};

struct nicsim_figure {
    char name[80]; /* file, row and column: "barrier_latency:LANai4.3:gm:PE:16:nic_us" */
    enum nicsim_quantity quantity;
    int number; /* index of its machine */
    const struct nicsim_machine *machine;
    enum nicsim_level level;
    struct nicbarr_choice choice; /* for a tree, parameter 0 means the best one */
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

/* Reads machines and values from the directory with nicsim's data. On failure prints a message and
 * returns false. */
bool nicsim_papers_read(const char *data, struct nicsim_papers *papers);

/* Simulates one value. On failure prints a message and returns false. */
bool nicsim_figure_simulate(struct nicsim_figure *figure);
bool nicsim_papers_simulate(struct nicsim_papers *papers);

/* Returns the mean error, |simulated / paper - 1|, of the fitted or of the predicted values. */
double nicsim_papers_error(const struct nicsim_papers *papers, bool fitted);

/* Returns the latency of a barrier in microseconds, as the mean of consecutive barriers. For a tree
 * with parameter 0, this is the minimum over all dimensions. Returns a negative number if memory is
 * exhausted. */
double nicsim_latency_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                         uint32_t nodes, bool on_nics, enum nicsim_level level);

/* Returns the time in microseconds of the shortest loop of computation and a barrier in which the
 * share of computation is `efficiency`. */
double nicsim_loop_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                      uint32_t nodes, bool on_nics, double efficiency);

/*
 * Messages that NICs match, as in Zhang's thesis; see play_messages.h. nicsim_unicast_us() returns
 * half of a round trip between two nodes (section 4.1). The other function returns the duration of
 * a receive while other unexpected messages are queued (section 4.2, figure 4.1). They return a
 * negative number if memory is exhausted.
 */
double nicsim_unicast_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t bytes);
double nicsim_waiting_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t nodes, uint32_t width, bool open);

/*
 * MPI_Bcast as in Zhang's thesis (section 4.4). The first function returns the time until the root
 * has received a reply from the last node, minus the time of the shortest message between two
 * nodes. The second function returns the duration of the call at the root. Both return a negative
 * number if memory is exhausted. */
double nicsim_bcast_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                       bool on_nics);
double nicsim_bcast_root_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                            bool on_nics);

/*
 * Returns the latency according to the GM paper's closed formulas (section 2.2, equations 1 and 2),
 * with the same parameters. In a host-based barrier, all stages of a message from host to host
 * occur log2 N times. In a NIC-based barrier, only the steps on the network occur log2 N times,
 * whereas the stages from the host to the NIC and from the NIC to the host occur once. */
double nicsim_formula_us(const struct nicsim_machine *machine, uint32_t nodes, bool on_nics,
                         enum nicsim_level level);

#endif
