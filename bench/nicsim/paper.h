/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The papers' figures beside the simulator's: each number that a paper states, what the simulator
 * says, and whether the parameters were fitted to it or it is a prediction.
 *
 * The figures are read from the papers' tables (the folder paper); fitted.txt names those that
 * `nicsim fit` may look at. Everything else is predicted.
 */
#ifndef NICSIM_PAPER_H
#define NICSIM_PAPER_H

#include "bench/nicsim/parameters.h"
#include "bench/nicsim/play_bcast.h"
#include "bench/nicsim/play_messages.h"

enum nicsim_quantity {
    NICSIM_NIC,        /* a barrier's latency, played by NICs */
    NICSIM_HOST,       /* ... by hosts */
    NICSIM_FACTOR,     /* how many times the former is faster */
    NICSIM_OVERHEAD,   /* a barrier played by NICs, at MPI's level minus at GM's */
    NICSIM_LOOP_NIC,   /* a loop of computing and a barrier with a certain efficiency */
    NICSIM_LOOP_HOST,  /* ... the barrier played by hosts */
    NICSIM_CREATE_NIC, /* MPI_Comm_create */
    NICSIM_CREATE_HOST,
    NICSIM_UNICAST,    /* a message, from call to return */
    NICSIM_OPEN,       /* a receive with an open source, behind messages that wait */
    NICSIM_NAMED,      /* ... with a named source */
    NICSIM_BCAST_NIC,  /* MPI_Bcast, as far as the last node, by NICs */
    NICSIM_BCAST_HOST, /* ... by hosts */
    NICSIM_ROOT_NIC,   /* ... the root's call alone */
    NICSIM_ROOT_HOST
};

struct nicsim_figure {
    char name[80]; /* of its file, row and column: "barrier_latency:LANai4.3:gm:PE:16:nic_us" */
    enum nicsim_quantity quantity;
    int number; /* of its machine */
    const struct nicsim_machine *machine;
    enum nicsim_level level;
    struct nicbarr_choice choice; /* parameter 0: the best tree */
    uint32_t nodes, bytes, width;
    double efficiency;
    double paper, simulated; /* microseconds, or times */
    bool fitted;
};

enum { NICSIM_FIGURES_MOST = 100, NICSIM_MACHINES = 3 };

struct nicsim_papers {
    struct nicsim_file machines[NICSIM_MACHINES]; /* lanai43, lanai72, npii */
    uint32_t count;
    struct nicsim_figure figures[NICSIM_FIGURES_MOST];
};

/* Read machines and figures from the folder with nicsim's data. False after a line that says what
 * is wrong. */
bool nicsim_papers_read(const char *data, struct nicsim_papers *papers);

/* Have one simulated, or all of them. False after a line that says what is wrong. */
bool nicsim_figure_simulate(struct nicsim_figure *figure);
bool nicsim_papers_simulate(struct nicsim_papers *papers);

/* Mean of |simulated / paper - 1|. */
double nicsim_papers_error(const struct nicsim_papers *papers, bool fitted);

/* A barrier's latency (us): mean of consecutive ones. With a tree of parameter 0, the best of all
 * its dimensions. Negative when out of memory. */
double nicsim_latency_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                         uint32_t nodes, bool on_nics, enum nicsim_level level);

/* The shortest loop (us) of computing and a barrier in which computing is this part of the time. */
double nicsim_loop_us(const struct nicsim_machine *machine, struct nicbarr_choice choice,
                      uint32_t nodes, bool on_nics, double efficiency);

/*
 * Messages that NICs match, as Zhang's thesis measured them: half of a round trip between two nodes
 * (section 4.1); a receive of a message that waits behind others (section 4.2, figure 4.1). See
 * play_messages.h. Negative when out of memory.
 */
double nicsim_unicast_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t bytes);
double nicsim_waiting_us(const struct nicsim_machine *machine, enum nicsim_structure structure,
                         uint32_t nodes, uint32_t width, bool open);

/*
 * MPI_Bcast as Zhang's thesis measured it (section 4.4): until the root has an answer of the last
 * node, less the time of the shortest message between two nodes; and the root's call in it.
 * Negative when out of memory.
 */
double nicsim_bcast_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                       bool on_nics);
double nicsim_bcast_root_us(const struct nicsim_machine *machine, uint32_t nodes, uint32_t bytes,
                            bool on_nics);

/*
 * The GM paper's closed formulas (section 2.2, equations 1 and 2), with the same parameters: log2 N
 * steps of all that a message goes through on its way from host to host; or one way down, log2 N
 * steps on the network, and one way up.
 */
double nicsim_formula_us(const struct nicsim_machine *machine, uint32_t nodes, bool on_nics,
                         enum nicsim_level level);

#endif
