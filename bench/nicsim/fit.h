/* SPDX-License-Identifier: BSD-3-Clause */
/* Fitting of the machines' parameters to those figures of the papers that are listed for it. */
#ifndef NICSIM_FIT_H
#define NICSIM_FIT_H

#include "bench/nicsim/paper.h"

/* Find the values of all fitted parameters of all machines, and print them. False if memory runs
 * out, or if this program was built without GSL. */
bool nicsim_fit(struct nicsim_papers *papers);

#endif
