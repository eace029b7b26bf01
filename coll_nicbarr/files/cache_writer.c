/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_writer.h.
 *
 * A queue contains the additions that are not written yet. While it is not empty, a thread
 * processes it; there is never more than one such thread. The thread uses no data of the component,
 * because a slow file system may respond only after the component was closed. */
#include "coll_nicbarr/files/cache_writer.h"

#include <stdlib.h>
#include <time.h>

#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_locations.h"
#include "os/thread.h"

enum { LONGEST_MS = 1000 /* timeout at the end of a job */ };

static struct {
    pthread_mutex_t lock;
    struct nicbarr_cache_addition *first, *last;
    bool writing; /* a thread is running, and writes the first addition */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct nicbarr_cache_trouble nicbarr_cache_writer_trouble = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- one addition ---- */

static bool add_to_file(const struct nicbarr_cache_location *location,
                        const struct nicbarr_cache_addition *addition, struct myr_error *error)
{
    const struct nicbarr_cache_file file = {location->path, location->below, addition->machine,
                                            '\0' == addition->what[0] ? NULL : addition->what};
    return nicbarr_cache_file_add(&file, &addition->shape, &addition->measurement, error);
}

/* Write an addition to the first file that accepts it. If no file does, the first failure is
 * reported. */
static void write_addition(const struct nicbarr_cache_addition *addition)
{
    struct nicbarr_cache_location location, failed = {.path = ""};
    struct myr_error why = {.text = ""};
    const char *list = addition->list;
    bool written = false;
    while (!written && nicbarr_cache_next_location(&list, &location)) {
        struct myr_error error = {.text = ""};
        const bool none = '\0' == location.path[0] && !location.remeasure;
        written = none || (!location.remeasure && add_to_file(&location, addition, &error));
        if (!written && !location.remeasure && '\0' == failed.path[0]) {
            failed = location;
            why = error;
        }
    }
    if (!written && '\0' != failed.path[0]) {
        nicbarr_cache_trouble_record(&nicbarr_cache_writer_trouble, failed.path, &why);
    }
}

/* ---- the queue ---- */

/* Returns the first addition of the queue, or NULL if the queue is empty, so that the thread must
 * end. */
static struct nicbarr_cache_addition *next_addition(void)
{
    pthread_mutex_lock(&queue.lock);
    struct nicbarr_cache_addition *addition = queue.first;
    queue.writing = NULL != addition;
    pthread_mutex_unlock(&queue.lock);
    return addition;
}

static void remove_addition(struct nicbarr_cache_addition *addition)
{
    pthread_mutex_lock(&queue.lock);
    queue.first = addition->next;
    pthread_mutex_unlock(&queue.lock);
    free(addition->list);
    free(addition);
}

static void write_queue(void)
{
    struct nicbarr_cache_addition *addition;
    while (NULL != (addition = next_addition())) {
        write_addition(addition);
        remove_addition(addition);
    }
}

static void *run_writer(void *unused)
{
    (void)unused;
    os_thread_lower_priority();
    write_queue();
    return NULL;
}

void nicbarr_cache_writer_add(struct nicbarr_cache_addition *addition)
{
    pthread_t thread;
    pthread_mutex_lock(&queue.lock);
    const bool idle = !queue.writing;
    addition->next = NULL;
    *(NULL == queue.first ? &queue.first : &queue.last->next) = addition;
    queue.last = addition;
    queue.writing = true;
    pthread_mutex_unlock(&queue.lock);
    if (!idle) {
        return;
    }
    if (0 == os_thread_create(&thread, run_writer, NULL)) {
        (void)pthread_detach(thread);
    } else {
        write_queue();
    }
}

static bool is_writing(void)
{
    pthread_mutex_lock(&queue.lock);
    const bool writing = queue.writing;
    pthread_mutex_unlock(&queue.lock);
    return writing;
}

/* Report the first file that was not written before the timeout. */
static void report_unwritten(void)
{
    struct nicbarr_cache_location location = {.path = ""};
    struct myr_error error;
    pthread_mutex_lock(&queue.lock);
    const char *list = NULL == queue.first ? "" : queue.first->list;
    while ('\0' == location.path[0] && nicbarr_cache_next_location(&list, &location)) {
    }
    pthread_mutex_unlock(&queue.lock);
    myr_write_error(&error, MYR_ERR_FULL, 0, "writing takes more than %d ms", (int)LONGEST_MS);
    nicbarr_cache_trouble_record(&nicbarr_cache_writer_trouble, location.path, &error);
}

void nicbarr_cache_writer_close(void)
{
    const struct timespec moment = {.tv_nsec = 200000};
    bool writing = is_writing();
    for (int left = LONGEST_MS * 5; writing && left > 0; --left) {
        (void)nanosleep(&moment, NULL);
        writing = is_writing();
    }
    if (writing) {
        report_unwritten();
    }
}
