/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of Open MPI's component coll/tuned, and functions to force one of them.
 *
 * Called by nicbarr_tuned. coll/tuned reads which algorithm is forced (coll_tuned_bcast_algorithm)
 * when it creates the module of a communicator. The variable is set through the tools interface of
 * MPI (MPI_T), so each communicator of a job can use a different algorithm. The component reads the
 * variable only if coll_tuned_use_dynamic_rules was set before MPI_Init. The list of algorithms is
 * the enumeration that the component provides for this variable. */
#ifndef BENCH_TUNED_ALGORITHMS_H
#define BENCH_TUNED_ALGORITHMS_H

#include <stdbool.h>
#include <stddef.h>

struct algorithm {
    int number;    /* 0: the default decision of coll/tuned */
    char name[32]; /* name in the component's enumeration */
    int segment;   /* bytes per segment of a message; 0: messages are not segmented */
};

/* The fan-out of all measurements, for algorithms that have one; it is the default of
 * coll/tuned. */
enum { ALGORITHM_FANOUT = 4 };

/* Returns false if this MPI library has no such variables. */
bool algorithms_open(void);
void algorithms_close(void);

/* Lists the algorithms of a collective, beginning with the default decision of coll/tuned.
 * Algorithms that can divide messages into segments are listed once without segments and once for
 * each segment size. Returns the number of entries, which is 0 if coll/tuned does not implement the
 * collective. The caller frees the list. */
size_t algorithms_of(const char *collective, struct algorithm **list);

/* Forces the algorithm for communicators that are created from now on. */
void algorithm_force(const char *collective, const struct algorithm *algorithm);

#endif
