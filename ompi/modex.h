/* SPDX-License-Identifier: BSD-3-Clause */
/* The modex: data that a process publishes to its peers at start-up, before any communication.
 *
 * All members of a communicator read the same data, so they can come to the same decision without a
 * message. */
#ifndef NICBARR_MODEX_H
#define NICBARR_MODEX_H

#include "ompi/release.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Publish data to the other processes of the job, on all nodes; call it from a component's open
 * function. */
int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes);

/* Read the data of `peer`: at most `room` bytes, into `data`. Returns the number of bytes; 0 if
 * there are none, or more than `room`. May wait for a peer that is still starting, and half a
 * minute for one on another node that has published nothing (with Open MPI 4.1 only if it has
 * ended). */
size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room);

/* Iterate over the names of this job's processes, from rank 0. `walked` counts them. False at the
 * end. */
bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name);

#endif
