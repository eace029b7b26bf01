/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what a trial across nodes has to know about a collective: the kind of group that it
 * needs, and how it is executed by Open MPI's function and by a carrier.
 *
 * Called by data_across.c. */
#ifndef NICBARR_TRAITS_H
#define NICBARR_TRAITS_H

#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/trial.h"

/* The data of a trial's calls. */
struct nicbarr_vectors {
    const struct nicbarr_trial *trial;
    size_t bytes;
    int count; /* number of doubles */
    double *from, *to;
};

struct nicbarr_traits {
    bool broadcasts, combines;
    /* Returns the size of a block for a class of up to `bytes` bytes. */
    uint32_t (*unit)(const struct nicbarr_vectors *v, uint32_t bytes);
    /* Create a carrier from this group. If the group is not usable, leaves it and returns false. */
    bool (*open)(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                 struct nicbarr_choice choice, struct nicbarr_carrier *carrier);
    /* Execute call number `number` by Open MPI's own function, and by a carrier. */
    int (*openmpi)(const struct nicbarr_vectors *v, int number);
    int (*ours)(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number);
};

/* Returns the traits of a collective that NICs carry. User-defined operations have no classes of
 * their own across nodes, and no traits. */
const struct nicbarr_traits *nicbarr_traits(enum nicbarr_collective collective);

#endif
