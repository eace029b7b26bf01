/* SPDX-License-Identifier: BSD-3-Clause */
/* What tuning one communicator has found out; made by tune.c and round_trips.c, read by report.c.
 */
#ifndef NICBARR_TUNING_H
#define NICBARR_TUNING_H

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/limits.h"
#include "coll_nicbarr/choice/model.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_tuning {
    const struct nicbarr_contest *contest;
    const struct nicbarr_choice *choices; /* the candidates; the first is Open MPI's own */
    double model_us[NICBARR_CANDIDATES];  /* predictions; 0: there is none */
    struct nicbarr_limits limits;         /* on one node */
    /* Raw limits across nodes, by NIC; rank 0 knows them. */
    struct nicbarr_round_trips round_trips[NICBARR_NICS_MOST];
    double spent_us; /* in all portions of the contest so far, and on what it needs */
    int budget_ms;   /* of the first */
    bool in_between; /* this is neither the first portion nor the last one */
    /* Was the machine busy? The system's load (of a minute) where it was highest; and how often a
     * process lost its processor while it measured, in each portion the one that lost it most. */
    double load, switches;
};

/* ---- round_trips.c ---- */

/* Measure RTT(P) (see model.h) on those NICs that are to take more than 0 `turns`, so many each.
 * Where it fails there are no round trips, and nothing else comes of it. Collective over `comm`;
 * Open MPI's error otherwise. */
int nicbarr_round_trips(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        const int turns[NICBARR_NICS_MOST], struct nicbarr_tuning *tuning);

#endif
