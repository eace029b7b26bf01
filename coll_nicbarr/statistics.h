/* Medians and quartiles of a few samples; pure functions. */
#ifndef NICBARR_STATISTICS_H
#define NICBARR_STATISTICS_H

#include <stddef.h>

struct nicbarr_quartiles {
    double q1, median, q3;
};

/* Sorts `samples`. All 0 for no samples. Between two samples it interpolates. */
struct nicbarr_quartiles nicbarr_quartiles(double *samples, size_t count);

#endif
