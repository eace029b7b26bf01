/* SPDX-License-Identifier: BSD-3-Clause */
/* See node_cache.h.
 *
 * The contents of the files are stored in the segment one after the other, each with a terminating
 * 0, and an entry of the segment's key-value table contains their location. While the files are
 * being read, this entry contains the number of the reading process, so that other processes do not
 * wait for a reader that has died. If the segment has no memory for the entry, the job runs without
 * the cache.
 *
 * A thread that hangs in a file system cannot be joined. Therefore the thread uses its own memory,
 * and does not publish its result if the component has been closed since the thread was started. */
#include "coll_nicbarr/files/node_cache.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_lines.h"
#include "coll_nicbarr/files/cache_locations.h"
#include "os/thread.h"

enum {
    KV_KEY = 100, /* key of the entry; for other keys see enum nicbarr_message */
    FILES_MOST = 8,
};

struct reading {
    unsigned opened; /* `state.opened` at the start of the thread */
    int count;
    char path[FILES_MOST][PATH_MAX];
    struct nicbarr_cache_location location; /* not on the stack, which may be small */
};

static struct {
    pthread_mutex_t lock;
    unsigned opened; /* how often the component was closed; afterwards it may be opened again */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct nicbarr_cache_trouble nicbarr_node_cache_trouble = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the key-value entry ---- */

static const uint64_t have_been_read = UINT64_C(1) << 63;

static uint64_t word_of(size_t offset, size_t bytes)
{
    return have_been_read | (uint64_t)offset << 32 | bytes;
}

static const char *texts_at(struct myr_segment *segment, size_t *bytes)
{
    const uint64_t word = myr_kv_get(segment, KV_KEY);
    *bytes = 0 == (word & have_been_read) ? 0 : (uint32_t)word;
    return (const char *)myr_segment_base(segment) + (word >> 32 & INT32_MAX);
}

/* ---- reading ---- */

/* Append a file's content to `texts`. If memory is exhausted, the file is ignored. */
static void append_text(char **texts, size_t *bytes, const char *text, size_t more)
{
    char *longer = realloc(*texts, *bytes + more + 1);
    if (NULL != longer) {
        memcpy(longer + *bytes, text, more);
        longer[*bytes + more] = '\0';
        *texts = longer;
        *bytes += more + 1;
    }
}

/* Publish the contents. If the segment has no memory for them, the job runs without the cache.
 * Called with the lock held. */
static void publish_texts(const char *texts, size_t bytes)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    char *shared = 0 == bytes ? NULL : myr_segment_alloc_if_plenty(segment, bytes);
    if (NULL == shared) {
        (void)myr_kv_set(segment, KV_KEY, word_of(0, 0));
        return;
    }
    memcpy(shared, texts, bytes);
    const size_t offset = (size_t)(shared - (const char *)myr_segment_base(segment));
    (void)myr_kv_set(segment, KV_KEY, word_of(offset, bytes));
}

static void read_files(struct reading *reading)
{
    char *texts = NULL;
    size_t bytes = 0;
    int failed = FILES_MOST;
    struct myr_error first = {.text = ""};
    for (int f = 0; f < reading->count; ++f) {
        struct myr_error error = {.text = ""};
        size_t more;
        char *text = nicbarr_cache_file_text(reading->path[f], &more, &error);
        if (NULL != text) {
            append_text(&texts, &bytes, text, more);
        } else if (FILES_MOST == failed) {
            failed = f;
            first = error;
        }
        free(text);
    }
    pthread_mutex_lock(&state.lock);
    if (reading->opened == state.opened) {
        if (FILES_MOST != failed) {
            nicbarr_cache_trouble_record(&nicbarr_node_cache_trouble, reading->path[failed],
                                         &first);
        }
        publish_texts(texts, bytes);
    }
    pthread_mutex_unlock(&state.lock);
    free(texts);
    free(reading);
}

/* The thread that reads the files. It runs at the lowest priority, so that it does not delay a
 * process on the same core. */
static void *run_reader(void *context)
{
    os_thread_lower_priority();
    read_files(context);
    return NULL;
}

/* Start reading the files of the list, up to the keyword "remeasure". */
static void begin_reading(void)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    const char *list = mca_coll_nicbarr_component.parameters.cache;
    pthread_t thread;
    pthread_mutex_lock(&state.lock);
    if (NULL == reading) {
        publish_texts(NULL, 0);
    } else {
        reading->opened = state.opened;
    }
    pthread_mutex_unlock(&state.lock);
    if (NULL == reading) {
        return;
    }
    struct nicbarr_cache_location *location = &reading->location;
    while (reading->count < FILES_MOST && nicbarr_cache_next_location(&list, location) &&
           !location->remeasure) {
        if ('\0' != location->path[0]) {
            memcpy(reading->path[reading->count++], location->path, sizeof(location->path));
        }
    }
    if (0 == reading->count || 0 != os_thread_create(&thread, run_reader, reading)) {
        read_files(reading);
    } else {
        (void)pthread_detach(thread);
    }
}

bool nicbarr_node_cache_ready(void)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    if (NULL == segment) {
        return true;
    }
    if (0 == myr_kv_get(segment, KV_KEY) &&
        myr_kv_add(segment, KV_KEY, myr_segment_number(segment)) &&
        0 != myr_kv_get(segment, KV_KEY)) { /* 0: the segment had no memory for the entry */
        begin_reading();
    }
    const uint64_t word = myr_kv_get(segment, KV_KEY);
    return 0 == word || 0 != (word & have_been_read) ||
           myr_segment_gone(segment, (uint32_t)word, false);
}

void nicbarr_node_cache_close(void)
{
    pthread_mutex_lock(&state.lock);
    ++state.opened;
    pthread_mutex_unlock(&state.lock);
}

/* ---- queries ---- */

void nicbarr_node_cache_find(const char *key, struct nicbarr_evidence *evidence)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    size_t bytes;
    const char *text = texts_at(segment, &bytes);
    const char *end = text + bytes;
    while (text < end) {
        const size_t length = strlen(text);
        nicbarr_cache_lines_read(text, length, key, evidence);
        text += length + 1;
    }
}
