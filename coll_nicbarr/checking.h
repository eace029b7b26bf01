/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds mismatched collective calls if the parameter coll_nicbarr_check is set. Without this check,
 * a program with such calls hangs or gets wrong data.
 *
 * Before each blocking collective the members of the communicator compare their calls. If the calls
 * differ in the function, its root, operation, type or number of bytes, all members return an
 * error, and the first one prints a message with the calls and the code that made them.
 *
 * The module of a checked communicator implements no collective itself, but calls the functions of
 * the components below it (openmpi.h). It does not compare non-blocking and persistent collectives,
 * because their calls must not wait for other members. Nor does it compare the calls that Open MPI
 * makes within a collective, because these do not reach the module. */
#ifndef NICBARR_CHECKING_H
#define NICBARR_CHECKING_H

#include "coll_nicbarr/coll_nicbarr.h"

typedef struct nicbarr_checker {
    mca_coll_base_module_t super;
    struct nicbarr_openmpi openmpi;
    bool examined; /* it is known whether all members compare their calls: */
    bool all_compare;
} nicbarr_checker_t;

OBJ_CLASS_DECLARATION(nicbarr_checker_t);

/* Returns the module for an intracommunicator, or NULL if its calls are not checked. */
mca_coll_base_module_t *nicbarr_checker_new(ompi_communicator_t *comm);

#endif
