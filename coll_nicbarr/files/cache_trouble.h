/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores an error that a background thread has encountered with a file of the tuning cache, until
 * another thread prints it. nicbarr's own threads must not use Open MPI's output functions.
 *
 * Errors are stored by node_cache.c and cache_writer.c, and printed by cache.c. Any thread may call
 * these functions. */
#ifndef NICBARR_CACHE_TROUBLE_H
#define NICBARR_CACHE_TROUBLE_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "libmyr/status.h"

struct nicbarr_cache_trouble {
    pthread_mutex_t lock;
    bool any;
    char path[PATH_MAX];
    struct myr_error error;
};

static inline void nicbarr_cache_trouble_record(struct nicbarr_cache_trouble *trouble,
                                                const char path[PATH_MAX],
                                                const struct myr_error *error)
{
    pthread_mutex_lock(&trouble->lock);
    trouble->any = true;
    memcpy(trouble->path, path, sizeof(trouble->path));
    trouble->error = *error;
    pthread_mutex_unlock(&trouble->lock);
}

/* Get the latest error, and remove it. Returns whether there was one. */
static inline bool nicbarr_cache_trouble_pop(struct nicbarr_cache_trouble *trouble,
                                             char path[PATH_MAX], struct myr_error *error)
{
    pthread_mutex_lock(&trouble->lock);
    const bool any = trouble->any;
    if (any) {
        memcpy(path, trouble->path, sizeof(trouble->path));
        *error = trouble->error;
        trouble->any = false;
    }
    pthread_mutex_unlock(&trouble->lock);
    return any;
}

#endif
