/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects the death of processes of this node, in programs that survive failures (survival.h).
 *
 * The detection of Open MPI depends on PRRTE, which reaps the process and notifies the others, and
 * on the event loop, which opal_progress() runs every 10 ms only. To detect deaths sooner, each
 * process holds a pidfd of each member of its communicators, in one epoll set. Its progress
 * function polls the set once a millisecond and reports a death to Open MPI. When descriptors run
 * out, and for other nodes, only the detection of Open MPI is available.
 *
 * Threads: any thread may call nicbarr_exits_watch(). One thread opens before all other calls, and
 * closes after them. */
#ifndef NICBARR_EXITS_H
#define NICBARR_EXITS_H

#include "ompi/release.h"

#include <stdint.h>

#include "libmyr/node/segment.h"

/* Start and end the detection of deaths among the processes of `segment`. */
void nicbarr_exits_open(struct myr_segment *segment);
void nicbarr_exits_close(void);

/* Monitors the process with this name, whose number in the segment is `number`, from now on. Does
 * nothing unless open. */
void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number);

#endif
