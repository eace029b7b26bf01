/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the numeric MCA parameters as text, as the user has written them, so that components can
 * reject invalid ones. Open MPI silently reads a text that is not a number as 0, and truncates
 * numbers that do not fit an int.
 *
 * The texts of parameters on the command line are available, because mpirun passes them in the
 * environment. Those in a parameter file are not; for such parameters the functions below use the
 * number that Open MPI has read. */
#ifndef NICBARR_NUMBER_H
#define NICBARR_NUMBER_H

#include <stdbool.h>

struct nicbarr_number {
    const char *text; /* as written by the user; NULL: unknown */
    bool is_number;
    long long value; /* with its unit (k, m, g) applied; saturates */
};

/* Returns the number in the parameter `component`_`name`, whose value in Open MPI is `given`. */
struct nicbarr_number nicbarr_number_of(const char *component, const char *name, int given);

#endif
