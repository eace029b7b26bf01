/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library simulates a system that has no threads left for nicbarr:
 * pthread_create() fails for threads with stacks as small as nicbarr's (os/thread.h). The component
 * then reads the tuning cache synchronously, so that the results of a test do not depend on timing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "os/thread.h"

#define EXPORTED __attribute__((visibility("default")))

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

EXPORTED int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *),
                            void *context)
{
    size_t bytes = 0;
    create_fn *create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
    if (NULL != attributes) {
        (void)pthread_attr_getstacksize(attributes, &bytes);
    }
    return OS_THREAD_STACK == bytes ? EAGAIN : create(id, attributes, run, context);
}
