/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes of size: how a communicator's collectives that carry data are done, and what that is
 * called.
 *
 * Which class goes by what is decided in data.c. Any thread may read it.
 */
#ifndef NICBARR_CLASSES_H
#define NICBARR_CLASSES_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Sizes that are measured apart: up to so many bytes; of all blocks together where there are some.
 * What goes by the ring of one node has all of them. What is done by an exchange, or across nodes,
 * has the first few. (8 bytes, one number, is what most calls have, and Open MPI sends that in
 * fewer steps than 12. Across nodes 30 contributions of the second fit into a packet, 10 of the
 * third. A vector of the sixth comes in one packet from one process. From 256 to 512 bytes the time
 * of Open MPI 4.1's own grows several times over, so they are measured apart.) */
static const uint32_t nicbarr_size_classes[NICBARR_SIZE_CLASSES] = {
    8, 32, 112, 256, 512, 1152, 2048, 4096, 32768, 262144, 1048576};

enum {
    NICBARR_REDUCTION_CLASSES = 8,
    NICBARR_ACROSS_CLASSES = NICBARR_REDUCTION_CLASSES,
    NICBARR_EXCHANGE_MOST = 4096, /* bytes: the last of them */
    NICBARR_DATA_PROCESSES =
        128, /* beyond that, reading everybody's line is not the shortest way */
};

/* Does a user want nicbarr's? Then it is not measured. */
static inline bool nicbarr_data_forced(enum nicbarr_collective collective)
{
    return NICBARR_WAY_OURS == mca_coll_nicbarr_component.forced_ways[collective];
}

/* The state of a class. The first time, a collective's classes get their memory; without it the
 * program ends with a line, as the other members count on this one. */
void nicbarr_classes_make(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective);
static inline struct nicbarr_class *nicbarr_class_of(mca_coll_nicbarr_module_t *module,
                                                     enum nicbarr_collective collective,
                                                     uint32_t size_class)
{
    if (__builtin_expect(NULL == module->ways[collective], 0)) {
        nicbarr_classes_make(module, collective);
    }
    return &module->ways[collective][size_class];
}

/* The way of a class, watched or not. */
static inline enum nicbarr_way nicbarr_data_way(const mca_coll_nicbarr_module_t *module,
                                                enum nicbarr_collective collective,
                                                uint32_t size_class)
{
    const struct nicbarr_class *class = &module->ways[collective][size_class];
    return NICBARR_WAY_WATCHED == class->way ? class->now : class->way;
}

/* Whose most calls of this class were, until it was tried: it is measured with that root. A program
 * that goes on naming the same one has another best way than one whose root goes round. There the
 * others can run ahead, and Open MPI's own lets them do so without bound (4 processes on 2
 * processors, MPI_Reduce of 8 bytes, 300 in a row: nicbarr's 0.45 times as fast). NICBARR_NO_ROOT:
 * in more than half of the calls it was another one than in the call before, or there is none. */
int nicbarr_data_one_root(const mca_coll_nicbarr_module_t *module,
                          enum nicbarr_collective collective, uint32_t size_class);

/* The class of a payload that is not longer than the largest. */
static inline uint32_t nicbarr_size_class(size_t bytes)
{
    uint32_t size_class = 0;
    while (bytes > nicbarr_size_classes[size_class]) {
        ++size_class;
    }
    return size_class;
}

/* Does it go by the ring, on one node? All others go by the exchange. */
static inline bool nicbarr_data_by_ring(enum nicbarr_collective collective)
{
    return NICBARR_BCAST == collective || NICBARR_SCATTER == collective;
}

/* How many of the classes `collective` has. */
static inline uint32_t nicbarr_data_classes(enum nicbarr_collective collective, bool across)
{
    return nicbarr_data_by_ring(collective) && !across ? (uint32_t)NICBARR_SIZE_CLASSES
                                                       : NICBARR_REDUCTION_CLASSES;
}

/* The greatest of them (bytes). */
static inline size_t nicbarr_data_most(enum nicbarr_collective collective, bool across)
{
    return nicbarr_size_classes[nicbarr_data_classes(collective, across) - 1];
}

/* What measuring a class may take at first (microseconds). */
static inline double nicbarr_data_budget_us(const mca_coll_nicbarr_module_t *module,
                                            enum nicbarr_collective collective)
{
    /* Whole microseconds: so what is left after some halves of it is exact. */
    return mca_coll_nicbarr_component.parameters.tune_budget * 1000 /
           (int)nicbarr_data_classes(collective, module->across);
}

/* What MPI calls it. */
const char *nicbarr_collective_name(enum nicbarr_collective collective);

/* The same of a class: whether it was measured with one root is said, too; and with its size. So
 * people, the report and the cache have it. Both return text. */
enum { NICBARR_CLASS_TEXT = 60 };
const char *nicbarr_class_collective(const mca_coll_nicbarr_module_t *module,
                                     enum nicbarr_collective collective, uint32_t size_class,
                                     char text[NICBARR_CLASS_TEXT]);
const char *nicbarr_class_name(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               char text[NICBARR_CLASS_TEXT]);

/* How it is done on one node, as a choice: by an exchange, a ring, or Open MPI's own function. */
struct nicbarr_choice nicbarr_way_choice(enum nicbarr_collective collective, enum nicbarr_way way);

/* In place of what a note says: nothing is known yet, as the cache is being read. */
#define NICBARR_READING UINT64_MAX
/* The note by which a job remembers what is best for a class, in communicators of this shape. */
uint64_t nicbarr_data_note_key(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class);

#endif
