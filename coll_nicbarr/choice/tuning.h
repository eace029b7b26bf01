/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of tuning one communicator; written by tune.c and round_trips.c, read by report.c. */
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
    double model_us[NICBARR_CANDIDATES];  /* predictions; 0: none */
    struct nicbarr_limits limits;         /* on one node */
    /* Raw limits across nodes, by NIC; valid on rank 0. */
    struct nicbarr_round_trips round_trips[NICBARR_NICS_MOST];
    double spent_us; /* in all portions of the contest so far, and on its preparation */
    int budget_ms;   /* of the first portion */
    bool in_between; /* neither the first portion nor the last one */
    /* Was the machine busy? The maximum of the system's load (of a minute); and the involuntary
     * context switches while measuring, in each portion of the process with the most. */
    double load, switches;
};

/* ---- round_trips.c ---- */

/* Measure RTT(P) (see model.h) on the NICs with `turns` above 0, so many times each. On failure
 * there are no round trips, without further consequences. Collective over `comm`; returns Open
 * MPI's error. */
int nicbarr_round_trips(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        const int turns[NICBARR_NICS_MOST], struct nicbarr_tuning *tuning);

#endif
