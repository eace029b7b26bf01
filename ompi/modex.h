/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modex: what a process tells its peers at start-up, before anybody communicates.
 *
 * Since all members of a communicator read the same data, they can decide alike without a message.
 */
#ifndef NICBARR_MODEX_H
#define NICBARR_MODEX_H

#include "ompi/release.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tell the other processes of the job, on all nodes; call it from a component's open function. */
int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes);

/* Read what `peer` told: at most `room` bytes, into `data`. Returns how many; 0 if it told nothing,
 * or more than that. May wait for a peer that is still starting, and half a minute for one on
 * another node that told nothing (with Open MPI 4.1 only if it has ended). */
size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room);

/* One process of this job after the other, from rank 0 on: the next one's name. `walked` is how
 * many there were so far. False: there are no more. */
bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name);

#endif
