/* SPDX-License-Identifier: BSD-3-Clause */
/* The modex: data that a process publishes to its peers at start-up, before any communication.
 *
 * All members of a communicator read the same data, so they can reach the same decision without
 * exchanging messages. */
#ifndef NICBARR_MODEX_H
#define NICBARR_MODEX_H

#include "ompi/release.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Publishes data to the other processes of the job, on all nodes; to be called by a component's
 * open function. */
int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes);

/* Copies the data that `peer` has published into `data`, which has a capacity of `room` bytes.
 * Returns the number of bytes, or 0 if the peer has published nothing, or more than `room` bytes.
 * May wait for a peer that is still starting. If a peer on another node has published nothing, the
 * call takes half a minute (with Open MPI 4.1 only if the peer has ended). */
size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room);

/* Iterates over the names of this job's processes, from rank 0; `walked` counts them. Returns false
 * at the end. */
bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name);

#endif
