/* SPDX-License-Identifier: BSD-3-Clause */
/* See declining.h. */
#include "coll_nicbarr/declining.h"

#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/fallback.h"

/* Make all size classes undecided. A component with a higher priority may have saved nicbarr's
 * functions for collectives that carry data, and continue to call them after the communicator was
 * declined. For an undecided class, such a call reaches nicbarr_data_process_call(), which detects
 * that the communicator was declined. */
static void reopen_classes(mca_coll_nicbarr_module_t *module)
{
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        for (int k = 0; NULL != module->ways[c] && k < NICBARR_SIZE_CLASSES; ++k) {
            module->ways[c][k].way = NICBARR_WAY_OPEN;
            module->ways[c][k].until = 0;
        }
    }
}

void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why)
{
    module->declined = true;
    reopen_classes(module);
    nicbarr_explain(comm, why);
    nicbarr_report_record(module, comm, NULL, why);
    nicbarr_barrier_event(module, NICBARR_EVENT_DECLINED);
    nicbarr_restore_others(module);
}
