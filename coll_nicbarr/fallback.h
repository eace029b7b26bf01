/* SPDX-License-Identifier: BSD-3-Clause */
/* Manages a communicator's table of functions: saves the previous functions, and installs those of
 * this component. No other file writes into this table. While one of Open MPI's own functions is
 * called, a second table takes its place (openmpi.h).
 *
 * An entry of the table is written only while it contains nicbarr's module. A component above, such
 * as coll/monitoring, may have wrapped one of nicbarr's functions; it then continues to call the
 * function that it has saved, whatever the table contains. Therefore each of nicbarr's functions
 * must still work after it was replaced in the table, or after the communicator was declined. */
#ifndef NICBARR_FALLBACK_H
#define NICBARR_FALLBACK_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Save the functions that the table of `comm` contains before nicbarr's functions are installed, as
 * the fallback. If modules fill the table themselves (nicbarr_modules_fill_tables()), this also
 * installs nicbarr's functions. Returns false if a function is missing; then the module cannot be
 * used, because it would have no fallback. */
bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
/* Called when the communicator is freed. The first function restores the saved functions, and the
 * second one only releases them. */
void nicbarr_fallback_restore(mca_coll_nicbarr_module_t *module);
void nicbarr_fallback_release(mca_coll_nicbarr_module_t *module);

/* The functions of MPI_Barrier, by state; defined in barrier.c. */
extern const mca_coll_base_module_barrier_fn_t nicbarr_barrier_functions[NICBARR_BARRIER_STATES];

/* Enter `state`: install its function of MPI_Barrier. NICBARR_BARRIER_OPENMPI restores Open MPI's
 * own function. Called by barrier_state.c only. */
void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_state state);

/* Restore Open MPI's own functions of a collective that carries data: the blocking function, and
 * the function that creates persistent operations. nicbarr's non-blocking function is kept: Open
 * MPI may call it from within progress, at a different point of the program on each process, so the
 * members could not replace it before the same call. */
void nicbarr_restore_data(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective);

/* Restore all of Open MPI's own functions except MPI_Barrier. */
void nicbarr_restore_others(mca_coll_nicbarr_module_t *module);

/* Save and restore functions in modules that only compare calls (checking.h). */
struct nicbarr_checker;
bool nicbarr_checker_save(struct nicbarr_checker *module, ompi_communicator_t *comm);
void nicbarr_checker_restore(struct nicbarr_checker *module);

#endif
