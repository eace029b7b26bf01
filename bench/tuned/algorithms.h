/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of Open MPI's component coll/tuned, and how one of them is forced.
 *
 * Called by nicbarr_tuned. tuned reads which algorithm is forced (coll_tuned_bcast_algorithm) when
 * it makes its module of a communicator. MPI's tools interface sets that, so communicators of one
 * job have different algorithms. The component looks at it where coll_tuned_use_dynamic_rules was
 * set before MPI_Init. Which algorithms there are is what the component says of its parameter.
 */
#ifndef BENCH_TUNED_ALGORITHMS_H
#define BENCH_TUNED_ALGORITHMS_H

#include <stdbool.h>
#include <stddef.h>

struct algorithm {
    int number;    /* 0: what tuned decides by itself */
    char name[32]; /* as the component calls it */
    int segment;   /* bytes of the segments that messages are cut into; 0: they are not cut */
};

/* The fan-out that all of them are measured with, where they have one; it is tuned's default. */
enum { ALGORITHM_FANOUT = 4 };

/* False: this MPI library has no such parameters. */
bool algorithms_open(void);
void algorithms_close(void);

/* The algorithms of a collective, tuned's own decision first, each that can cut messages also with
 * segments. Returns how many; they are the caller's to free. 0: tuned has none for that collective.
 */
size_t algorithms_of(const char *collective, struct algorithm **list);

/* Communicators created from now on play the collective by this algorithm. */
void algorithm_force(const char *collective, const struct algorithm *algorithm);

#endif
