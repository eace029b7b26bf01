/* SPDX-License-Identifier: BSD-3-Clause */
/* See copy.h. Each copy of the component contains this file. */
#include "tests/fibres/copy.h"

#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/files/cache.h"
#include "libmyr/node/segment_inside.h"

static uint64_t stored_choice(const mca_coll_nicbarr_module_t *module,
                              enum nicbarr_collective collective, uint32_t size_class)
{
    return myr_kv_get(mca_coll_nicbarr_component.segment,
                      nicbarr_data_kv_key(module, collective, size_class));
}

static uint32_t read_shape(struct nicbarr_shape *shape)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    shape->processors = myr_segment_processors(component->segment);
    shape->oversubscribed = myr_waiter_oversubscribed(&component->waiter);
    shape->nics = 1;
    if (shape->nodes > 1) {
        shape->nics = 0;
        for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
            shape->nics |= NULL == component->nics.nic[nic] ? 0 : UINT32_C(1) << nic;
        }
    }
    return myr_segment_home(component->segment, myr_segment_number(component->segment));
}

/* ---- what earlier jobs and communicators have left ---- */

/* Add to the cache a tuning run that the choice has won. */
static void cache(const struct nicbarr_shape *shape, const char *what, const struct fake_past *past,
                  char *path)
{
    const bool own = NICBARR_OPENMPI == past->choice.algorithm;
    const struct nicbarr_choice loser = {NICBARR_PAIRWISE, 0, 0};
    const struct nicbarr_choice choices[] = {{NICBARR_OPENMPI, 0, 0}, own ? loser : past->choice};
    struct nicbarr_contest contest;
    nicbarr_contest_begin(&contest, 2);
    for (int c = 0; c < 2; ++c) {
        const double us = own == (0 == c) ? 1 : 2;
        contest.of[c].rounds = NICBARR_CONTEST_ROUNDS;
        contest.of[c].us = (struct nicbarr_quartiles){us, us, us};
    }
    contest.provisional = !past->sure;
    contest.confidence = past->sure ? 1 : 0.8;
    char *list = mca_coll_nicbarr_component.parameters.cache;
    mca_coll_nicbarr_component.parameters.cache = path;
    nicbarr_cache_add(shape, what, choices, &contest);
    mca_coll_nicbarr_component.parameters.cache = list;
}

static void store(const struct nicbarr_shape *shape, const struct fake_past *past, char *path)
{
    char text[NICBARR_CLASS_TEXT];
    struct nicbarr_class classes[NICBARR_SIZE_CLASSES] = {{.way = NICBARR_WAY_OPEN}};
    static mca_coll_nicbarr_module_t module;
    const bool barrier = NICBARR_COLLECTIVES == past->collective;
    if (!barrier) {
        classes[past->size_class].root_seen = past->one_root ? 1 : NICBARR_ROOTS_DIFFER;
        module.ways[past->collective] = classes;
        module.shape = *shape;
        module.across = shape->nodes > 1;
    }
    if (!past->in_table) {
        cache(shape,
              barrier ? NULL
                      : nicbarr_class_name(&module, past->collective, past->size_class, text),
              past, path);
    } else if (nicbarr_runnable(shape, past->choice)) {
        (void)myr_kv_set(mca_coll_nicbarr_component.segment,
                         barrier ? nicbarr_shape_key(shape)
                                 : nicbarr_data_kv_key(&module, past->collective, past->size_class),
                         nicbarr_choice_encode(past->choice, past->source));
    }
    if (!barrier) {
        module.ways[past->collective] = NULL;
    }
}

/* Fill the key-value table with entries that `used` does not count, so that the table does not grow
 * when a further key is stored. */
static void fill_table(void)
{
    static const uint64_t unused = UINT64_C(0x7fff) << 32; /* no such key is in use */
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    myr_segment_lock(segment);
    struct myr_kv_table *table =
        (struct myr_kv_table *)(myr_segment_base(segment) + segment->sram->kv_table);
    for (uint32_t i = 0; i < table->capacity; ++i) {
        if (0 == table->entry[i].key) {
            table->entry[i] = (struct myr_kv_entry){unused + i, 1};
        }
    }
    myr_segment_unlock(segment);
}

extern const struct fake_copy fake_copy;
__attribute__((visibility("default")))
const struct fake_copy fake_copy = {stored_choice, read_shape, store, fill_table};
