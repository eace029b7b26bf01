/* SPDX-License-Identifier: BSD-3-Clause */
/* See split.h. */
#include "coll_nicbarr/split.h"

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/files/report.h"

const char nicbarr_too_few_barriers[] =
    "it has executed too few barriers so far (see coll_nicbarr_tune_after)";

int nicbarr_across_leave_first(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (0 != module->barriers) {
        nicbarr_report_retract(module, comm, nicbarr_too_few_barriers);
    }
    return nicbarr_across_set_up(module, comm);
}

int nicbarr_across_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    int rc = OMPI_SUCCESS;
    if (NICBARR_BARRIER_ACROSS_FIRST == module->barrier_state) {
        rc = nicbarr_across_leave_first(module, comm);
    }
    if (OMPI_SUCCESS == rc && NICBARR_BARRIER_ACROSS_UNDECIDED == module->barrier_state) {
        rc = nicbarr_tune(module, comm);
    }
    if (OMPI_SUCCESS == rc && NICBARR_BARRIER_ACROSS_KNOWN == module->barrier_state) {
        rc = nicbarr_across_install(module, comm);
    }
    return rc;
}
