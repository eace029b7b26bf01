/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of MCA parameters as the user wrote them. Open MPI silently reads a text that is not a
 * number as 0, and truncates numbers that do not fit an int. Called by the components when they
 * read their parameters.
 *
 * Parameters on mpirun's command line are in the environment. Those of a parameter file are not
 * accessible, so only Open MPI's own number is available. */
#ifndef NICBARR_NUMBER_H
#define NICBARR_NUMBER_H

#include <stdbool.h>

struct nicbarr_number {
    const char *text; /* as written; NULL: not known */
    bool is_number;
    long long value; /* with units (k, m, g); saturates */
};

/* The parameter `component`_`name`, whose value in Open MPI is `given`. */
struct nicbarr_number nicbarr_number_of(const char *component, const char *name, int given);

#endif
