/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of the blocking collectives, for programs that survive failures (failures.h). They check
 * for process failures before and after each call. */
#ifndef NICBARR_SURVIVING_H
#define NICBARR_SURVIVING_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Wrap the blocking collectives that a module offers, on one node. */
void nicbarr_wrap_to_survive(mca_coll_base_module_t *module);

#endif
