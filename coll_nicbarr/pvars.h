/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables: the NICs' counters for MPI's tools interface; see pvars.c. Called when
 * Open MPI registers the component. */
#ifndef NICBARR_PVARS_H
#define NICBARR_PVARS_H

void nicbarr_pvars_register(void);

#endif
