/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects the death of processes of this node, in programs that survive failures (survival.h).
 *
 * Open MPI itself detects a death late: first PRRTE reaps the process, then it notifies the other
 * processes, and these only look for notifications every 10 ms, when opal_progress() runs the event
 * loop. To detect deaths sooner, each process opens a pidfd for each process of this node with
 * which it shares a communicator, and adds it to an epoll set. A progress function polls the set
 * once a millisecond and reports deaths to Open MPI. For processes on other nodes, or when
 * descriptors run out, only Open MPI's own detection is available.
 *
 * Any thread may call nicbarr_exits_watch(). A single thread calls nicbarr_exits_open() before all
 * other calls, and nicbarr_exits_close() after them. */
#ifndef NICBARR_EXITS_H
#define NICBARR_EXITS_H

#include "ompi/release.h"

#include <stdint.h>

#include "libmyr/node/segment.h"

/* Start and end the detection of deaths among the processes of `segment`. */
void nicbarr_exits_open(struct myr_segment *segment);
void nicbarr_exits_close(void);

/* Monitors a process from now on, given by its name and by its number in the segment. Has no effect
 * unless the detection was started. */
void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number);

#endif
