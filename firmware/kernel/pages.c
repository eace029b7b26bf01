/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages, made ahead; see pages.h. */
#include "firmware/kernel/pages.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "firmware/kernel/kernel.h"

enum {
    READY_LEAST = 64, /* with fewer, make more */
    READY_MOST = 128,
};

enum state {
    FREE,
    MAKING, /* a page is being put there */
    READY,  /* for a group to come */
    TAKEN,
    SPENT,   /* its group is closed; running programs may know it */
    RESTING, /* the same, but after the calls under way no program does */
};

struct mcp_pages {
    int map;
    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t changed;
    pthread_t maker;
    bool has_maker, wanted, making, ending;
    uint32_t ready;
    struct {
        enum state state;
        int page; /* ready: its descriptor */
    } place[MCP_KERNEL_GROUPS];
};

/* Places that are being worked on. */
struct batch {
    uint32_t count;
    uint32_t place[READY_MOST];
    int page[READY_MOST];
};

/* A map of one page. From now on only the program may write it. */
static int make_page(void)
{
    const struct bpf_map_create_opts options = {.sz = sizeof(options), .map_flags = BPF_F_MMAPABLE};
    const int page = bpf_map_create(BPF_MAP_TYPE_ARRAY, "mcp_page", sizeof(uint32_t),
                                    sizeof(struct mcp_kernel_page), 1, &options);
    if (page >= 0 && bpf_map_freeze(page) < 0) {
        close(page);
        return -1;
    }
    return page;
}

/* Choose a place for each page that is missing. Places that are spent begin to rest. */
static void choose_places(struct mcp_pages *pages, struct batch *batch)
{
    batch->count = 0;
    for (uint32_t p = 0; p < MCP_KERNEL_GROUPS; ++p) {
        if (FREE == pages->place[p].state && pages->ready + batch->count < READY_MOST) {
            pages->place[p].state = MAKING;
            batch->place[batch->count++] = p;
        } else if (SPENT == pages->place[p].state) {
            pages->place[p].state = RESTING;
        }
    }
}

/* Put new pages there. Returns how many. The caller does not have the lock. */
static uint32_t put_pages(const struct mcp_pages *pages, struct batch *batch)
{
    const struct bpf_map_batch_opts options = {.sz = sizeof(options)};
    uint32_t made = 0;
    while (made < batch->count && (batch->page[made] = make_page()) >= 0) {
        ++made;
    }
    uint32_t put = made;
    if (0 != made) {
        (void)bpf_map_update_batch(pages->map, batch->place, batch->page, &put, &options);
    }
    for (uint32_t i = put; i < made; ++i) {
        close(batch->page[i]);
    }
    return put;
}

/* A place that rests; MCP_KERNEL_GROUPS: none does. */
static uint32_t find_resting(const struct mcp_pages *pages)
{
    uint32_t p = 0;
    while (p < MCP_KERNEL_GROUPS && RESTING != pages->place[p].state) {
        ++p;
    }
    return p;
}

/* Called with the lock, which it gives up meanwhile; nobody else does the same at that time. False
 * if there is nothing to do. */
static bool make_some(struct mcp_pages *pages)
{
    struct batch batch;
    choose_places(pages, &batch);
    const uint32_t resting = find_resting(pages);
    if (0 == batch.count && MCP_KERNEL_GROUPS == resting) {
        return false;
    }
    pages->making = true;
    pthread_mutex_unlock(&pages->lock);
    const uint32_t put = put_pages(pages, &batch);
    if (0 == put && MCP_KERNEL_GROUPS != resting) {
        /* No page was put, so the system did not wait for programs. Taking a page away makes it
         * wait, too. */
        (void)bpf_map_delete_elem(pages->map, &resting);
    }
    pthread_mutex_lock(&pages->lock);
    pages->making = false;
    for (uint32_t i = 0; i < batch.count; ++i) {
        pages->place[batch.place[i]].state = i < put ? READY : FREE;
        pages->place[batch.place[i]].page = batch.page[i];
    }
    pages->ready += put;
    for (uint32_t p = 0; p < MCP_KERNEL_GROUPS; ++p) {
        if (RESTING == pages->place[p].state) {
            pages->place[p].state = FREE;
        }
    }
    pthread_cond_broadcast(&pages->changed);
    return 0 != put || MCP_KERNEL_GROUPS != resting;
}

static void *make_ahead(void *context)
{
    struct mcp_pages *pages = context;
    pthread_mutex_lock(&pages->lock);
    while (!pages->ending) {
        if (!pages->wanted || pages->making || pages->ready >= READY_LEAST) {
            pthread_cond_wait(&pages->changed, &pages->lock);
        } else {
            pages->wanted = false; /* a caller that takes one asks again */
            (void)make_some(pages);
        }
    }
    pthread_mutex_unlock(&pages->lock);
    return NULL;
}

struct mcp_pages *mcp_pages_make(int map)
{
    struct mcp_pages *pages = calloc(1, sizeof(*pages));
    if (NULL != pages) {
        pages->map = map;
        pthread_mutex_init(&pages->lock, NULL);
        pthread_cond_init(&pages->changed, NULL);
    }
    return pages;
}

void mcp_pages_free(struct mcp_pages *pages)
{
    if (pages->has_maker) {
        pthread_mutex_lock(&pages->lock);
        pages->ending = true;
        pthread_cond_broadcast(&pages->changed);
        pthread_mutex_unlock(&pages->lock);
        pthread_join(pages->maker, NULL);
    }
    for (uint32_t p = 0; p < MCP_KERNEL_GROUPS; ++p) {
        if (READY == pages->place[p].state) {
            close(pages->place[p].page);
        }
    }
    pthread_cond_destroy(&pages->changed);
    pthread_mutex_destroy(&pages->lock);
    free(pages);
}

/* With the lock. */
static void want_more(struct mcp_pages *pages)
{
    if (pages->ready < READY_LEAST && !pages->wanted) {
        pages->wanted = true;
        pthread_cond_broadcast(&pages->changed);
    }
}

void mcp_pages_prepare(struct mcp_pages *pages)
{
    if (!pages->has_maker) {
        pages->has_maker = 0 == pthread_create(&pages->maker, NULL, make_ahead, pages);
        pthread_mutex_lock(&pages->lock);
        want_more(pages);
        pthread_mutex_unlock(&pages->lock);
    }
}

int mcp_pages_take(struct mcp_pages *pages, uint32_t *place)
{
    int page = -1;
    bool more = true;
    pthread_mutex_lock(&pages->lock);
    while (0 == pages->ready && more) {
        if (pages->making) {
            pthread_cond_wait(&pages->changed, &pages->lock);
        } else {
            more = make_some(pages);
        }
    }
    if (0 != pages->ready) {
        *place = 0;
        while (READY != pages->place[*place].state) {
            ++*place;
        }
        page = pages->place[*place].page;
        pages->place[*place].state = TAKEN;
        --pages->ready;
        want_more(pages);
    }
    pthread_mutex_unlock(&pages->lock);
    if (page < 0) {
        errno = ENOSPC;
    }
    return page;
}

void mcp_pages_spend(struct mcp_pages *pages, uint32_t place)
{
    pthread_mutex_lock(&pages->lock);
    pages->place[place].state = SPENT;
    pthread_mutex_unlock(&pages->lock);
}
