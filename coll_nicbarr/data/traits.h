/* SPDX-License-Identifier: BSD-3-Clause */
/* Traits of the collectives in a trial across nodes: the group of each, and its calls by Open MPI's
 * own and by a carrier.
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
    int count; /* of doubles */
    double *from, *to;
};

struct nicbarr_traits {
    bool broadcasts, combines;
    /* Size of a block for a class of up to this number of bytes. */
    uint32_t (*unit)(const struct nicbarr_vectors *v, uint32_t bytes);
    /* Create a carrier from this group. If it is not usable, leave the group and return false. */
    bool (*open)(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                 struct nicbarr_choice choice, struct nicbarr_carrier *carrier);
    /* Execute call number `number` by Open MPI's own function, and by a carrier. */
    int (*own)(const struct nicbarr_vectors *v, int number);
    int (*ours)(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number);
};

/* The traits of a collective that NICs carry; not of those with user-defined operations. */
const struct nicbarr_traits *nicbarr_traits(enum nicbarr_collective collective);

#endif
