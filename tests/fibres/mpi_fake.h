/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake Open MPI for tests of coll/nicbarr, whose ranks are fibres of one thread (fibres.h).
 *
 * Each rank has a copy of the component with globals of its own. Datatypes, operations and requests
 * are those of Open MPI, in which the test is a singleton. This file implements communicators, the
 * modex, parameters, the progress engine, the clock, the ranks' processors, and the collectives of
 * the underlying components. Each time slice and each reading of the clock takes a random time, so
 * that the seed determines the results of tuning runs. A thread runs to its end within a later call
 * of its rank's progress engine, or after the component is closed.
 *
 * The underlying collectives check that the members of a communicator agree: the n-th call must be
 * the same collective with the same root and length on all of its ranks.
 */
#ifndef TESTS_FIBRES_MPI_FAKE_H
#define TESTS_FIBRES_MPI_FAKE_H

#include "coll_nicbarr/coll_nicbarr.h"

#include "tests/fibres/copy.h"
#include "tests/fibres/fibres.h"

enum {
    FAKE_RANKS = 4,
    FAKE_SETTINGS = 28,
    DOUBLE_PAST = 48,
    FAKE_PROCESSORS = 8,
};

/* A parameter that is set on some ranks. */
struct fake_setting {
    uint32_t ranks; /* a bit each */
    const char *name, *text;
};

struct fake_job {
    uint64_t seed; /* seed of the clock; messages contain it */
    uint32_t ranks;
    uint32_t without; /* ranks without the component, one bit for each */
    bool survives;    /* failures of ranks do not end the program */
    bool across;      /* each rank is on a node of its own, with a NIC (tests/unit/nic_fake.c) */
    uint32_t refusals[FAKE_RANKS]; /* number of joins that fail at first for lack of memory */
    uint32_t step_ns; /* longest time that a time slice or a reading of the clock takes */
    /* The processors to which each rank is bound, one bit each, and whether they change. */
    uint32_t processors[FAKE_RANKS];
    bool rebinds;
    /* Length of the longest packets of the soft NIC that get through (bytes); 0: all do. */
    uint32_t longest;
    /* Average number of calls of progress until a thread of the component has run to its end. 0: no
     * thread can be created. */
    uint32_t late;
    bool full;      /* no further choices can be stored, on any node */
    uint32_t pasts; /* what earlier jobs and communicators have left in the cache and the table */
    struct fake_past past[DOUBLE_PAST];
    uint32_t settings;
    struct fake_setting setting[FAKE_SETTINGS];
    void (*progress)(uint32_t rank); /* additional work of a rank's progress engine */
};

/* Initialise MPI, and load the component FAKE_RANKS times, through copies in the directory
 * `directory`, which must remain until the process ends. To be called once per process. */
void fake_begin(const char *component_file, const char *dir);

/* Returns the path of the tuning cache that contains the measurements of earlier jobs. It is empty
 * when the next job is opened. */
const char *fake_cache(void);

/* Open and close the components of a job. To be called outside of fibres. */
void fake_open(const struct fake_job *job);
void fake_close(void);

/* Create a communicator of these ranks (one bit for each), with the same `id` on all of them. If
 * `wrapped` is set, a component of higher priority intercepts the calls. If `id` is odd, a
 * component of lower priority replaces its functions when they are first called. fake_module()
 * returns NULL if the component does not serve the communicator, or only compares its calls. */
ompi_communicator_t *fake_comm(uint32_t id, uint32_t ranks, bool wrapped);
mca_coll_nicbarr_module_t *fake_module(const ompi_communicator_t *comm);

/* Let a rank die, at any time. It never runs again. The others detect the failure in their
 * progress functions, each at a random time, and collectives of the underlying components fail
 * on communicators to which the rank belongs. */
void fake_die(uint32_t rank);

/* Returns the job's cached choice for a size class on this rank's node, or 0 if there is none. */
uint64_t fake_stored_choice(const mca_coll_nicbarr_module_t *module,
                            enum nicbarr_collective collective, uint32_t size_class);

/* Make it impossible to store further choices on any node. */
void fake_fill_table(void);

/* Advance the clock. */
void fake_pass(uint64_t ns);

/* Returns the segment of a rank's node, or NULL if the rank does not have the component. */
struct myr_segment *fake_segment(uint32_t rank);

#endif
