/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables of components: counters in MPI's tools interface (MPI_T_pvar_...). */
#ifndef NICBARR_OMPI_PVARS_H
#define NICBARR_OMPI_PVARS_H

#include "ompi/release.h"

#include "opal/mca/base/mca_base_pvar.h"

typedef int (*nicbarr_pvar_fn)(const struct mca_base_pvar_t *pvar, void *value, void *object);

/* Registers a 64-bit counter. `read` reads its value. `context` is passed to `read`, and must
 * remain valid. */
void nicbarr_pvar_add(const mca_base_component_t *component, const char *name, const char *text,
                      nicbarr_pvar_fn read, void *context);

/* Copies one counter of a structure to `value`; to be called by `read` functions. The variable's
 * context is the counter's offset, a size_t. */
int nicbarr_pvar_give(const void *counted, const struct mca_base_pvar_t *pvar, void *value);

#endif
