/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report: how each communicator does its collectives, and what was measured; see report.c.
 *
 * Called where that becomes known (fallback.c, setup.c, across.c, tune.c; data.c, data_tune.c), and
 * at the end. Any thread.
 */
#ifndef NICBARR_REPORT_H
#define NICBARR_REPORT_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_tuning;  /* see tuning.h */
struct nicbarr_contest; /* see contest.h */
struct nicbarr_duel;    /* see duel.h */

/* Where the report goes; all of this must outlive nicbarr_report_close(). */
struct nicbarr_report_site {
    const char *path;                  /* of the file; NULL or "": there is none */
    const struct myr_segment *segment; /* NULL: this process has joined none, and writes nothing */
    int output;                        /* the stream of the lines for people */
};

/* Before all others, by one thread. */
void nicbarr_report_open(const struct nicbarr_report_site *site);

/* Is there a report to write? Processes need not agree. */
bool nicbarr_report_wanted(void);

/* Note which barrier `comm` uses, once it is known, with what was measured, if anything; `declined`
 * says why Open MPI's own runs. What the communicator's tuning has noted before is replaced. Only
 * rank 0's process does anything. */
void nicbarr_report_note(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_tuning *tuning, const char *declined);

/* Take back what nicbarr_report_note() noted without tuning, as `comm` has learnt better since. */
void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const char *declined);

/* A duel of these `choices` is over, the first of which was in use, and `comm` goes by its winner.
 * (What was noted of a communicator that shares an entry was taken back.) Likewise. */
void nicbarr_report_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_duel *duel, const struct nicbarr_choice *choices);

/* Note how `comm` does `collective` in this class of size, once the module's `ways` say so; with
 * the contest between Open MPI's own (the first) and nicbarr's, if it was measured here. `choices`
 * are the candidates across nodes, NULL on one. What was noted of it before is replaced. Only rank
 * 0's process does anything. */
void nicbarr_report_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class,
                         enum nicbarr_source source, const struct nicbarr_contest *contest,
                         const struct nicbarr_choice *choices);

void nicbarr_report_write(void); /* bring the file up to date */
void nicbarr_report_close(void); /* the same, for the last time */

#endif
