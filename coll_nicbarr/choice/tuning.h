/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of tuning one communicator; tune.c and round_trips.c write them, and report.c reads
 * them. */
#ifndef NICBARR_TUNING_H
#define NICBARR_TUNING_H

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/limits.h"
#include "coll_nicbarr/choice/model.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_tuning {
    const struct nicbarr_contest *contest;
    /* the candidates; the first one is Open MPI's own function */
    const struct nicbarr_choice *choices;
    double model_us[NICBARR_CANDIDATES]; /* predictions; 0: none */
    struct nicbarr_limits limits;        /* raw limits on one node */
    /* Raw limits across nodes, by NIC; valid on rank 0. */
    struct nicbarr_round_trips round_trips[NICBARR_NICS_MOST];
    double spent_us; /* time spent in all batches of the contest so far, and on its preparation */
    int budget_ms;   /* budget of the first batch */
    bool in_between; /* this batch is neither the first nor the last one */
    /* How busy the machine was: the maximum of the system's one-minute load, and the number of
     * involuntary context switches during measurements. The number of switches is the sum over all
     * batches of the maximum over all processes. */
    double load, switches;
};

/* ---- round_trips.c ---- */

/* Measure RTT(P) (see model.h) on each NIC: repetitions[nic] times, or not at all if that is 0. If
 * this fails on a NIC, the report merely lacks the predictions for this NIC. Collective over
 * `comm`; returns Open MPI's error. */
int nicbarr_round_trips(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        const int repetitions[NICBARR_NICS_MOST], struct nicbarr_tuning *tuning);

#endif
