/* SPDX-License-Identifier: BSD-3-Clause */
/* The report shows how each communicator's collectives are implemented, and the measurements behind
 * these choices; see report.c.
 *
 * The functions are called when an implementation is chosen, and when the component closes. Any
 * thread may call them. */
#ifndef NICBARR_REPORT_H
#define NICBARR_REPORT_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_tuning;     /* see tuning.h */
struct nicbarr_contest;    /* see contest.h */
struct nicbarr_comparison; /* see comparison.h */

/* Print a message if a report is requested and its file cannot be written. Called by one process of
 * the job, at the start, so that the user can still choose another file. */
void nicbarr_report_check(void);

/* Returns whether there is a report to write. The result may differ between processes. */
bool nicbarr_report_wanted(void);

/* Record the choice of MPI_Barrier for `comm`, with its measurements if there are any. `declined`
 * is the reason why Open MPI's own function is used, or NULL. The record replaces an earlier one of
 * the same communicator. Has an effect in rank 0's process only. */
void nicbarr_report_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct nicbarr_tuning *tuning, const char *declined);

/* Remove a record that nicbarr_report_record() has added without measurements, because the choice
 * of `comm` has changed since. */
void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const char *declined);

/* Record the result of a comparison of `choices`. The first one was in use when the comparison
 * began; `comm` now uses the winner. If the communicator shares its previous record with other
 * communicators, the caller must have removed it by nicbarr_report_retract(). Has an effect in rank
 * 0's process only. */
void nicbarr_report_comparison(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               const struct nicbarr_comparison *comparison,
                               const struct nicbarr_choice *choices);

/* Record how `comm` implements `collective` in this size class, after the caller has set the
 * module's `ways`. `contest` contains the measurements of Open MPI's own function (the first
 * candidate) and of nicbarr's implementations; it is NULL if nothing was measured on this
 * communicator. `choices` are the candidates across nodes, or NULL on one node. Replaces the
 * previous record. Has an effect in rank 0's process only. */
void nicbarr_report_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class,
                         enum nicbarr_source source, const struct nicbarr_contest *contest,
                         const struct nicbarr_choice *choices);

void nicbarr_report_write(void); /* update the file */
void nicbarr_report_close(void); /* update the file for the last time */

#endif
