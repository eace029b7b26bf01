/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the fake Open MPI (mpi_fake.h) access to the state of a copy of the component, which
 * exports one table of functions, `fake_copy`. In particular, a copy stores what earlier jobs and
 * communicators would have left: measurements in the tuning cache, and choices in the key-value
 * table of the segment.
 *
 * The functions act for the copy's rank, as functions of the component do.
 */
#ifndef TESTS_FIBRES_COPY_H
#define TESTS_FIBRES_COPY_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A choice for the communicators of one shape. */
struct fake_past {
    uint32_t ranks; /* members of a communicator of that shape, one bit each */
    /* The rank whose view of the shape counts, because members may disagree about whether
     * processors are oversubscribed. The table is that of this rank's node. */
    uint32_t view;
    enum nicbarr_collective collective; /* NICBARR_COLLECTIVES: MPI_Barrier */
    uint32_t size_class;
    bool one_root; /* measured with a constant root */
    struct nicbarr_choice choice;
    bool in_table;              /* of the segment, and not in the cache */
    enum nicbarr_source source; /* in the table */
    bool sure;                  /* of a measurement: its confidence is sufficient */
};

struct fake_copy {
    /* Returns the cached choice for a size class in the segment of this copy's node. */
    uint64_t (*stored_choice)(const mca_coll_nicbarr_module_t *module,
                              enum nicbarr_collective collective, uint32_t size_class);
    /* Fill in the fields of `shape` that depend on this copy: the processors and NICs. Returns the
     * lowest processor to which the rank is bound. */
    uint32_t (*read_shape)(struct nicbarr_shape *shape);
    /* Store a choice for `shape` in the table, or measurements that lead to it in the cache at
     * `path`. */
    void (*store)(const struct nicbarr_shape *shape, const struct fake_past *past, char *path);
    /* Make it impossible to store further choices, as if the segment had no memory for them. */
    void (*fill_table)(void);
};

#endif
