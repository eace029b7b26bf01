/* SPDX-License-Identifier: BSD-3-Clause */
/* See data_watch.h. */
#include "coll_nicbarr/data/data_watch.h"

#include <stdatomic.h>

#include "coll_nicbarr/choice/remeasure.h"
#include "coll_nicbarr/choice/expense.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/data/classes.h"

static _Atomic unsigned long long remeasured, switches;

struct nicbarr_remeasure_counters nicbarr_data_watch_count(void)
{
    return (struct nicbarr_remeasure_counters){remeasured, switches};
}

void nicbarr_data_watch(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, enum nicbarr_way way, bool proven)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    const bool best = NICBARR_WAY_OPENMPI == way && proven;
    if (best || !nicbarr_watched(proven ? NICBARR_MEASURED : NICBARR_FROM_CACHE)) {
        class->way = way;
        return;
    }
    if (0 == class->pause) {
        class->pause = nicbarr_remeasure_pause(0, proven);
    }
    class->until = class->pause;
    class->now = way;
    class->way = NICBARR_WAY_WATCHED;
}

void nicbarr_data_watch_record(mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool switched, bool proven)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    ++class->remeasured;
    class->switches += switched;
    class->pause = nicbarr_remeasure_pause(class->pause, proven);
    atomic_fetch_add_explicit(&remeasured, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&switches, switched, memory_order_relaxed);
}

bool nicbarr_data_watch_due(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    const bool due = nicbarr_affordable(module, comm, nicbarr_data_budget_us(module), true);
    if (!due) {
        class->until = nicbarr_remeasure_postpone(&class->pause);
    }
    return due;
}
