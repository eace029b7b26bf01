/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits the parameters of the machines to the values of the papers that are listed for this
 * purpose. */
#ifndef NICSIM_FIT_H
#define NICSIM_FIT_H

#include "bench/nicsim/paper.h"

/* Finds the values of all fitted parameters of all machines, and prints them. Returns false if
 * memory runs out, or if this program was built without GSL. */
bool nicsim_fit(struct nicsim_papers *papers);

#endif
