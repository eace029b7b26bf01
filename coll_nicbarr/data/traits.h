/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different for each collective in a trial across nodes: the group that it takes, and how
 * it is called by Open MPI's own and by a carrier.
 *
 * Called by data_across.c.
 */
#ifndef NICBARR_TRAITS_H
#define NICBARR_TRAITS_H

#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/trial.h"

/* What a trial's calls carry. */
struct nicbarr_vectors {
    const struct nicbarr_trial *trial;
    size_t bytes;
    int count; /* of doubles */
    double *from, *to;
};

struct nicbarr_traits {
    bool broadcasts, combines;
    /* Bytes of a block, for a class of so many. */
    uint32_t (*unit)(const struct nicbarr_vectors *v, uint32_t bytes);
    /* Have a carrier with this group; false if it is of no use, then the group is left. */
    bool (*open)(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                 struct nicbarr_choice choice, struct nicbarr_carrier *carrier);
    /* The `number`-th call, by Open MPI's own and by a carrier. */
    int (*own)(const struct nicbarr_vectors *v, int number);
    int (*ours)(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number);
};

/* The one of a collective that NICs carry; not of those by the program's own operations. */
const struct nicbarr_traits *nicbarr_traits(enum nicbarr_collective collective);

#endif
