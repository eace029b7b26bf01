/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: the implementation of each communicator's collectives, and the measurements; see
 * report.c.
 *
 * Called when these are decided (fallback.c, setup.c, across.c, tune.c; data.c, data_tune.c), and
 * at the end. Any thread. */
#ifndef NICBARR_REPORT_H
#define NICBARR_REPORT_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_tuning;  /* see tuning.h */
struct nicbarr_contest; /* see contest.h */
struct nicbarr_duel;    /* see duel.h */

/* The destination of the report; all of this must outlive nicbarr_report_close(). */
struct nicbarr_report_site {
    const char *path;                  /* of the file; NULL or "": none */
    const struct myr_segment *segment; /* NULL: this process has joined none, and writes nothing */
    int output;                        /* the output stream of the readable lines */
};

/* Before all others, by one thread. */
void nicbarr_report_open(const struct nicbarr_report_site *site);

/* Print a line if a report is requested and its file cannot be written. Called at the start of the
 * job, when it is not too late for the user to name another file, and by one process of the job. */
void nicbarr_report_check(void);

/* Is there a report to write? May differ between processes. */
bool nicbarr_report_wanted(void);

/* Record the barrier of `comm` once it is decided, with its measurements, if any; `declined` is why
 * Open MPI's own is used. Replaces the previous record of the communicator's tuning. Only acts in
 * rank 0's process. */
void nicbarr_report_note(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_tuning *tuning, const char *declined);

/* Remove a record of nicbarr_report_note() without tuning, because the choice of `comm` has been
 * improved since. */
void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const char *declined);

/* Record the end of a duel of these `choices`, the first of which was in use; `comm` uses the
 * winner. (The record of a communicator that shared an entry was removed.) Only acts in rank 0's
 * process. */
void nicbarr_report_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_duel *duel, const struct nicbarr_choice *choices);

/* Record how `comm` implements `collective` in this size class, once the module's `ways` are set,
 * with the contest between Open MPI's own function (the first candidate) and nicbarr's if it was
 * measured here. `choices` are the candidates across nodes, NULL on one. Replaces the previous
 * record. Only acts in rank 0's process. */
void nicbarr_report_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class,
                         enum nicbarr_source source, const struct nicbarr_contest *contest,
                         const struct nicbarr_choice *choices);

void nicbarr_report_write(void); /* update the file */
void nicbarr_report_close(void); /* the same, for the last time */

#endif
