/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of MCA parameters as the user wrote them. Open MPI takes what is no number for 0, and
 * cuts off what does not fit an int, both without a word. Called by the components' parameters.
 *
 * What mpirun was given is in the environment. What a file of parameters says, Open MPI keeps to
 * itself: then its own number is all there is.
 */
#ifndef NICBARR_NUMBER_H
#define NICBARR_NUMBER_H

#include <stdbool.h>

struct nicbarr_number {
    const char *text; /* as it was written; NULL: it is not known */
    bool is_number;
    long long value; /* with units (k, m, g); what has more bits than this is the last there is */
};

/* The parameter `component`_`name`, of which Open MPI says that it is `given`. */
struct nicbarr_number nicbarr_number_of(const char *component, const char *name, int given);

#endif
