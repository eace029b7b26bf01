/* SPDX-License-Identifier: BSD-3-Clause */
/* Detecting that a process of this node has died, in programs that survive failures (survival.h).
 *
 * Each process holds a pidfd of each member of its communicators, in one epoll set that its
 * progress polls once a millisecond, and reports a death to Open MPI. Open MPI's own detection
 * depends on PRRTE, which reaps the process and notifies the others, and on the event loop, which
 * opal_progress() runs every 10 ms only. Where there are no descriptors left, and for other nodes,
 * Open MPI's own detection is what there is.
 *
 * Threads: any; one opens and closes, before and after everything else. */
#ifndef NICBARR_EXITS_H
#define NICBARR_EXITS_H

#include "ompi/release.h"

#include <stdint.h>

#include "libmyr/node/segment.h"

/* Begin; the processes are those of `segment`. */
void nicbarr_exits_open(struct myr_segment *segment);
void nicbarr_exits_close(void);

/* Watch the process with this name, and this number in the segment, from now on. Does nothing
 * unless open. */
void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number);

#endif
