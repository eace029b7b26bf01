/* What tuning one communicator has found out; made by tune.c, read by report.c. */
#ifndef NICBARR_TUNING_H
#define NICBARR_TUNING_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/statistics.h"

struct nicbarr_candidate {
    struct nicbarr_choice choice;
    struct nicbarr_quartiles us; /* of a barrier, over rounds; a round counts its slowest rank */
    uint32_t rounds;
    double model_us; /* 0: no prediction */
};

struct nicbarr_tuning {
    int count;
    struct nicbarr_candidate candidates[NICBARR_CANDIDATES]; /* the first is Open MPI's own */
    double line_us;   /* raw limit: a cache line from rank 0 to rank 1, one way; 0: they share
                         processors */
    double switch_us; /* raw limit: from one process to the next on a processor */
    double spent_us;
};

#endif
