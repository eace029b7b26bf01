/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Open MPI is to coll/nicbarr, for ranks that are fibres of one thread (fibres.h).
 *
 * Each rank has a copy of the component with globals of its own. Datatypes, operations and requests
 * are Open MPI's (the test is a singleton). Communicators, the modex, parameters, the progress
 * engine, the clock, and the collectives below the component are this file's. Each turn of a rank,
 * and each look at the clock, takes a random time. So contests end in any way, as the seed wants.
 *
 * The collectives below check that the component's members agree: the n-th call of a communicator
 * must be the same collective, with the same root and as many bytes, on all of its ranks.
 */
#ifndef TESTS_FIBRES_MPI_DOUBLE_H
#define TESTS_FIBRES_MPI_DOUBLE_H

#include "coll_nicbarr/coll_nicbarr.h"

#include "tests/fibres/fibres.h"

enum { DOUBLE_RANKS = 4, DOUBLE_SETTINGS = 24 };

/* A parameter of one rank, or of all. */
struct double_setting {
    uint32_t ranks; /* a bit each */
    const char *name, *text;
};

struct double_job {
    uint64_t seed; /* of the clock; messages name it */
    uint32_t ranks;
    uint32_t without; /* ranks that do not have the component, a bit each */
    bool survives;    /* its program survives the failure of ranks */
    bool across;      /* each rank is on a node of its own, with a NIC (tests/unit/nic_double.c), */
    uint32_t refusals[DOUBLE_RANKS]; /* which has no memory for so many groups at first */
    uint32_t step_ns;                /* that a turn, or a look at the clock, takes at most */
    uint32_t settings;
    struct double_setting setting[DOUBLE_SETTINGS];
    void (*progress)(uint32_t rank); /* what else the progress engine does for a rank */
};

/* Initialise MPI, and load the component DOUBLE_RANKS times, by copies in `folder`, which stays in
 * use. Once a process. */
void double_begin(const char *component_file, const char *folder);

/* A job begins and ends: its components open and close. Outside of fibres. */
void double_open(const struct double_job *job);
void double_close(void);

/* By a rank: a communicator of these ranks (a bit each), the same `id` on all of them. `wrapped`: a
 * component above takes the calls first. NULL module: it was left to what lies below. */
ompi_communicator_t *double_comm(uint32_t id, uint32_t ranks, bool wrapped);
mca_coll_nicbarr_module_t *double_module(const ompi_communicator_t *comm);

/* A rank has died, at any moment. Then others learn of it in their progress, each at a random time,
 * and collectives below fail on communicators that it belongs to. It never runs again. */
void double_die(uint32_t rank);

/* The word by which the job remembers a class of size, on this rank's node; 0: it does not. */
uint64_t double_note(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                     uint32_t size_class);

/* Time passes. */
void double_pass(uint64_t ns);

/* The segment of a rank's node; NULL: the rank does not have the component. */
struct myr_segment *double_segment(uint32_t rank);

#endif
