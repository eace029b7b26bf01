/* SPDX-License-Identifier: BSD-3-Clause */
/* User parameters, which are MCA parameters named coll_nicbarr_<name>. There is a table of them for
 * the component, and one for each kind of NIC.
 *
 * Called by component.c. Parameters are registered when Open MPI registers the component, and are
 * read once when the component is opened. The values are copied, because Open MPI frees its values
 * before it closes components. */
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
    bool nonblocking, check;
    char *allreduce, *reduce, *bcast, *allgather, *gather, *scatter;
    int spin, sleep_after, sleep_slice;
    char *nic;
    int warn, timeout; /* seconds */
};

/* Register all parameters. */
void nicbarr_parameters_register(void);

/* Read the values. A number outside its bounds is reported; it is replaced by the nearest bound if
 * it is an amount, and otherwise by the default. The caller frees the values with
 * nicbarr_parameters_free(). */
void nicbarr_parameters_read(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics);
void nicbarr_parameters_free(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics);

/* Returns a digest of all parameters that must be equal on the members of a communicator. */
uint64_t nicbarr_parameters_digest(const struct nicbarr_parameters *parameters);

/* Report an invalid setting; one process of the node prints the message. */
void nicbarr_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
