/* SPDX-License-Identifier: BSD-3-Clause */
/* Fitting a machine's parameters to the papers' figures that may be fitted to. */
#ifndef NICSIM_FIT_H
#define NICSIM_FIT_H

#include "bench/nicsim/paper.h"

/* Find values of all fitted parameters of all machines, and print them. False when out of memory,
 * or where this program was built without GSL. */
bool nicsim_fit(struct nicsim_papers *papers);

#endif
