/* SPDX-License-Identifier: BSD-3-Clause */
/* See threads_pthreads_mutex.h: another header that Open MPI 5.0 includes and no package
 * installs. */
#ifndef NICBARR_SHIM_THREADS_PTHREADS_TSD_H
#define NICBARR_SHIM_THREADS_PTHREADS_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_key_delete(opal_tsd_key_t key)
{
    return 0 == pthread_key_delete(key) ? 0 : -1;
}

static inline int opal_tsd_set(opal_tsd_key_t key, void *value)
{
    return 0 == pthread_setspecific(key, value) ? 0 : -1;
}

static inline int opal_tsd_get(opal_tsd_key_t key, void **value)
{
    *value = pthread_getspecific(key);
    return 0;
}

#endif
