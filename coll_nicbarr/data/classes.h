/* SPDX-License-Identifier: BSD-3-Clause */
/* Size classes of collectives that carry data. A communicator chooses an implementation for each
 * class of each collective. Messages, the report and the cache refer to the classes by their names.
 *
 * data.c chooses the implementation of a class. Any thread may read it. */
#ifndef NICBARR_CLASSES_H
#define NICBARR_CLASSES_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The upper bounds of the size classes in bytes; for collectives with several blocks, they apply to
 * the sum of all blocks. Each class is measured separately. Collectives on one node have all of
 * these classes, and collectives across nodes only the first NICBARR_ACROSS_CLASSES.
 *
 * The bounds are the sizes at which implementations change their behaviour:
 * - 8 bytes, one number, is the size of most calls, and Open MPI sends it in fewer steps than 12.
 * - Across nodes 30 contributions of the second class fit into a packet, and 10 of the third.
 * - From 256 to 512 bytes the time of Open MPI 4.1's own functions grows several times over.
 * - Up to the sixth class, the vector of one process fits into a packet.
 * - Between 32 KiB and 256 KiB, Open MPI's own reductions overtake nicbarr's. Where they do so
 *   depends on the number of processes, and the function that is faster at one end of this range is
 *   up to 1.6 times slower at the other end. */
static const uint32_t nicbarr_size_classes[NICBARR_SIZE_CLASSES] = {
    8, 32, 112, 256, 512, 1152, 2048, 4096, 32768, 65536, 131072, 262144, 1048576, 4194304};

enum {
    NICBARR_ACROSS_CLASSES = 8,
    NICBARR_EXCHANGE_MOST = 4096, /* bytes; the upper bound of the last of these classes */
    /* with more processes than this, a collective in which each process reads a cache line of every
     * other process is not the fastest implementation */
    NICBARR_DATA_PROCESSES = 128,
};

/* Returns whether a parameter forces nicbarr's implementation. If so, it is not measured. */
static inline bool nicbarr_data_forced(enum nicbarr_collective collective)
{
    return NICBARR_WAY_NICBARR == mca_coll_nicbarr_component.forced_ways[collective];
}

/* Return the state of a class. The first call for a collective allocates the state of all its
 * classes. If there is no memory for it, the job is aborted with a message, because the other
 * members wait for this one. */
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

/* Returns the implementation of a class, whether or not it is periodically re-evaluated. */
static inline enum nicbarr_way nicbarr_data_way(const mca_coll_nicbarr_module_t *module,
                                                enum nicbarr_collective collective,
                                                uint32_t size_class)
{
    const struct nicbarr_class *class = &module->ways[collective][size_class];
    return NICBARR_WAY_WATCHED == class->way ? class->now : class->way;
}

/* Returns the root with which this class is measured: the root of its latest call, or
 * NICBARR_NO_ROOT if there is none, or if the root changed in more than half of the calls.
 *
 * The best implementation for a constant root is not the best for a changing root. With a constant
 * root the other processes can run ahead, and Open MPI's own functions let them do so without
 * limit. (In sequences of 300 MPI_Reduce of 8 bytes with 4 processes on 2 CPUs, nicbarr's
 * implementation reached 0.45 times the speed of Open MPI's.) */
int nicbarr_data_one_root(const mca_coll_nicbarr_module_t *module,
                          enum nicbarr_collective collective, uint32_t size_class);

/* Record the root of a call, for nicbarr_data_one_root(). */
enum { NICBARR_ROOTS_DIFFER = -1 /* root_seen if roots differ (0: none was seen yet) */ };
static inline void nicbarr_record_root(struct nicbarr_class *class, int root)
{
    if (root + 1 != class->root_seen && NICBARR_ROOTS_DIFFER != class->root_seen) {
        class->root_changes += 0 != class->root_seen;
        class->root_seen = root + 1;
    }
}

/* Returns the class of a payload, which must not exceed the largest class. */
static inline uint32_t nicbarr_size_class(size_t bytes)
{
    uint32_t size_class = 0;
    while (bytes > nicbarr_size_classes[size_class]) {
        ++size_class;
    }
    return size_class;
}

/* Returns whether the collective uses the ring, on one node. All others use the exchange. */
static inline bool nicbarr_data_by_ring(enum nicbarr_collective collective)
{
    return NICBARR_BCAST == collective || NICBARR_SCATTER == collective;
}

/* Returns the number of classes of a collective. */
static inline uint32_t nicbarr_data_classes(bool across)
{
    return across ? NICBARR_ACROSS_CLASSES : (uint32_t)NICBARR_SIZE_CLASSES;
}

/* Returns the upper bound of the last class (bytes). */
static inline size_t nicbarr_data_most(bool across)
{
    return nicbarr_size_classes[nicbarr_data_classes(across) - 1];
}

/* Returns the initial budget for measuring a class (microseconds). */
static inline double nicbarr_data_budget_us(const mca_coll_nicbarr_module_t *module)
{
    /* A whole number, so that halves of the budget can be added and subtracted (trial.c) without
     * rounding errors. */
    return mca_coll_nicbarr_component.parameters.tune_budget * 1000 /
           (int)nicbarr_data_classes(module->across);
}

/* Returns the MPI name of a collective. */
const char *nicbarr_collective_name(enum nicbarr_collective collective);

/* Write the name of a class into `text`; returns text. The name states the collective, and whether
 * it was measured with a fixed root. The second function adds the size. These names appear in
 * messages to users, in the report and in the cache. */
enum { NICBARR_CLASS_TEXT = 60 };
const char *nicbarr_class_collective(const mca_coll_nicbarr_module_t *module,
                                     enum nicbarr_collective collective, uint32_t size_class,
                                     char text[NICBARR_CLASS_TEXT]);
const char *nicbarr_class_name(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               char text[NICBARR_CLASS_TEXT]);

/* Returns the implementation of a collective on one node as a choice: an exchange, a ring, or Open
 * MPI's own function. */
struct nicbarr_choice nicbarr_way_choice(enum nicbarr_collective collective, enum nicbarr_way way);

/* Returned instead of a stored choice if the choice is not known yet, because the cache is still
 * being read. */
#define NICBARR_READING UINT64_MAX
/* Returns the key under which the job stores the best choice for a class, in communicators of this
 * shape. */
uint64_t nicbarr_data_kv_key(const mca_coll_nicbarr_module_t *module,
                             enum nicbarr_collective collective, uint32_t size_class);

#endif
