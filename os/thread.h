/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates threads for internal use. They have small stacks, and all signals are blocked in them, so
 * that the program's signal handlers never run in them. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    OS_THREAD_STACK = 256 << 10 /* bytes, which include the thread-local memory of all libraries */
};

/* Creates a thread. Returns 0, or an error number. */
static inline int os_thread_create(pthread_t *id, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, OS_THREAD_STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(id, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (0 == rc) {
        (void)pthread_setname_np(*id, "nicbarr");
    }
    return rc;
}

/* Gives the calling thread the lowest priority. */
static inline void os_thread_lower_priority(void)
{
    enum { LEAST_URGENT = 19 };
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LEAST_URGENT);
}

#endif
