/* SPDX-License-Identifier: BSD-3-Clause */
/* See threads_pthreads_mutex.h: another header that Open MPI 5.0 includes and no package
 * installs. */
#ifndef NICBARR_SHIM_THREADS_PTHREADS_THREADS_H
#define NICBARR_SHIM_THREADS_PTHREADS_THREADS_H

#include <sched.h>

#define OPAL_THREAD_YIELD_WHEN_IDLE_DEFAULT false

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
