/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishing long waits; see waits.h. */
#include "libmyr/node/waits.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"

/* The record with this process's entries. One is sufficient, because a program publishes its waits
 * in one segment at a time. */
static struct {
    pthread_mutex_t lock;
    struct myr_record *record; /* NULL if there is none yet */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct myr_shown_waits *entries_of(struct myr_segment *segment)
{
    const struct myr_key key =
        myr_waits_key(myr_segment_index(segment), myr_segment_number(segment));
    if (NULL == own.record && myr_segment_has_plenty(segment, sizeof(struct myr_shown_waits))) {
        own.record = myr_record_join(segment, &key, 1, sizeof(struct myr_shown_waits), 0, NULL);
        if (NULL != own.record) {
            struct myr_shown_waits *waits = (struct myr_shown_waits *)own.record->slots;
            waits->layout = MYR_WAITS_LAYOUT;
            waits->pid = (uint32_t)getpid();
        }
    }
    return NULL == own.record ? NULL : (struct myr_shown_waits *)own.record->slots;
}

struct myr_shown_wait *myr_wait_show(struct myr_segment *segment, const struct myr_shown_wait *wait)
{
    struct myr_shown_wait *entry = NULL;
    pthread_mutex_lock(&own.lock);
    struct myr_shown_waits *waits = entries_of(segment);
    for (int w = 0; NULL != waits && w < MYR_WAITS && NULL == entry; ++w) {
        if (0 == atomic_load_explicit(&waits->wait[w].since_ms, memory_order_relaxed)) {
            entry = &waits->wait[w];
        }
    }
    if (NULL != entry) {
        const size_t after = offsetof(struct myr_shown_wait, group);
        memcpy((char *)entry + after, (const char *)wait + after, sizeof(*wait) - after);
        atomic_store_explicit(&entry->since_ms, os_now_ms() - MYR_LONG_WAIT_US / 1000,
                              memory_order_release);
    }
    pthread_mutex_unlock(&own.lock);
    return entry;
}

void myr_wait_hide(struct myr_shown_wait *entry)
{
    if (NULL != entry) {
        atomic_store_explicit(&entry->since_ms, 0, memory_order_relaxed);
    }
}

void myr_waits_end(struct myr_segment *segment)
{
    pthread_mutex_lock(&own.lock);
    if (NULL != own.record) {
        myr_record_leave(segment, own.record);
        own.record = NULL;
    }
    pthread_mutex_unlock(&own.lock);
}
