/* SPDX-License-Identifier: BSD-3-Clause */
/* Manages a communicator's table of functions: saves the previous functions, and installs this
 * component's. No other file writes into the table. During a call of Open MPI's own function the
 * communicator has a second table instead (openmpi.h).
 *
 * An entry of the table is written only while its module is nicbarr's. A component above
 * (coll/monitoring, or any other that wraps functions) has saved nicbarr's function and continues
 * to call it. Therefore each of these functions must still work after it was replaced or the
 * communicator was declined. */
#ifndef NICBARR_FALLBACK_H
#define NICBARR_FALLBACK_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Save the functions that the table of `comm` has before nicbarr's are installed, as the fallback.
 * If modules fill the table themselves (nicbarr_modules_fill_tables()), this also installs
 * nicbarr's. Returns false if a function is missing; then the module cannot be used, because it
 * would have no fallback. */
bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
/* Called when the communicator is freed: the first function restores the saved functions, the
 * second one only releases them. */
void nicbarr_fallback_restore(mca_coll_nicbarr_module_t *module);
void nicbarr_fallback_release(mca_coll_nicbarr_module_t *module);

/* The functions of MPI_Barrier, by state; defined in barrier.c. */
extern const mca_coll_base_module_barrier_fn_t nicbarr_barrier_functions[NICBARR_BARRIER_STATES];

/* Enter `state`: install its function of MPI_Barrier. NICBARR_BARRIER_OPENMPI restores Open MPI's
 * own function. Called by barrier_state.c only. */
void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_state state);

/* Restore Open MPI's own functions of a collective that carries data: the blocking function, and
 * the one that creates persistent operations. The non-blocking function stays, because Open MPI may
 * call it from within progress, at a different point of the program on each process. */
void nicbarr_restore_data(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective);

/* Restore all of Open MPI's own functions except MPI_Barrier. */
void nicbarr_restore_others(mca_coll_nicbarr_module_t *module);

/* Save and restore functions in modules that only compare calls (checking.h). */
struct nicbarr_checker;
bool nicbarr_checker_save(struct nicbarr_checker *module, ompi_communicator_t *comm);
void nicbarr_checker_restore(struct nicbarr_checker *module);

#endif
