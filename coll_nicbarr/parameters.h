/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user may set: MCA parameters coll_nicbarr_<name>, from one table for the component and
 * one for each kind of NIC.
 *
 * Called by component.c. Parameters are registered when Open MPI asks for it, and taken once when
 * the component opens. What was taken is a copy, since Open MPI frees its own before it closes
 * components.
 */
#ifndef NICBARR_PARAMETERS_H
#define NICBARR_PARAMETERS_H

#include <stdbool.h>

#include "coll_nicbarr/nics.h"
#include "libmyr/node/waiter.h"

struct nicbarr_parameters {
    int priority, verbose;
    char *algorithm;
    int tune_after, tune_budget;
    int tune_share; /* percent */
    int join_after;
    bool tune_watch;
    char *cache, *report;
    int memory; /* MiB */
    bool nonblocking;
    char *allreduce, *reduce, *bcast, *allgather, *gather, *scatter;
    int spin, sleep_after, sleep_slice;
    char *nic;
    int warn, timeout; /* seconds */
};

/* Tell Open MPI which there are. */
void nicbarr_parameters_register(void);

/* Take what is set. Where a number lies beyond its bounds, there is a line, and an amount gets the
 * bound, any other number its default. To be given back by nicbarr_parameters_free(). */
void nicbarr_parameters_take(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics);
void nicbarr_parameters_free(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics);

/* One number for all that the members of a communicator must have alike. */
uint64_t nicbarr_parameters_digest(const struct nicbarr_parameters *parameters);

/* Say a line about a setting: one process of the node does. */
void nicbarr_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
