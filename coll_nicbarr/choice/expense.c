/* SPDX-License-Identifier: BSD-3-Clause */
/* See expense.h. */
#include "coll_nicbarr/choice/expense.h"

#include <stdatomic.h>

#include "coll_nicbarr/choice/remeasure.h"
#include "coll_nicbarr/choice/measuring.h"

static double opened_us;
static _Atomic unsigned long long spent_ns;

void nicbarr_expense_open(void)
{
    opened_us = nicbarr_now_us();
    atomic_store(&spent_ns, 0);
}

bool nicbarr_expense_limited(void)
{
    return mca_coll_nicbarr_component.parameters.tune_share < 100;
}

bool nicbarr_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, double us,
                        bool remeasured)
{
    if (!remeasured && !nicbarr_expense_limited()) {
        return true;
    }
    double excess_us = nicbarr_excess_us(
        us, (double)atomic_load(&spent_ns) * 1e-3, nicbarr_now_us() - opened_us,
        remeasured ? NICBARR_REMEASURE_PERCENT : mca_coll_nicbarr_component.parameters.tune_share);
    return OMPI_SUCCESS == nicbarr_maximum(module, comm, &excess_us, 1) && excess_us <= 0;
}

void nicbarr_expense_record(double us, bool remeasured)
{
    if (remeasured || nicbarr_expense_limited()) {
        atomic_fetch_add_explicit(&spent_ns, (unsigned long long)(us * 1e3), memory_order_relaxed);
    }
}
