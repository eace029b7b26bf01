/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates pages and slots in them; see pages.h. */
#include "firmware/kernel/pages.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "firmware/kernel/kernel.h"

/* The number of pages that are created together. Inserting a page into the map of maps takes about
 * 10 ms, because the system call waits for an RCU grace period. Since Linux 5.19 one system call
 * inserts many pages. On older kernels each page needs its own call, so only 16 pages are created
 * together. */
enum { MADE_AT_ONCE = 64, MADE_ONE_BY_ONE = 16 };

struct page {
    int map;
    bool owned;        /* by a user; otherwise it has never had a user */
    uint32_t uid;      /* its user, if owned */
    uint32_t taken;    /* a bit per slot */
    uint64_t released; /* the value of mcp_pages.released when the last slot was freed, for LRU */
};

struct mcp_pages {
    const struct mcp_pages_kind *kind;
    int map;    /* the map of maps */
    bool batch; /* whether the kernel has batched updates */
    mcp_account_fn account;
    const struct mcp_pages_kept *kept;
    uint64_t released;
    uint32_t count;
    struct page page[]; /* [kind->most] */
};

_Static_assert(MCP_KERNEL_LINES == 32, "as many as bits");

const struct mcp_pages_kind mcp_pages_of_lines = {
    .name = "mcp_page",
    .bytes = sizeof(struct mcp_kernel_line),
    .slots = MCP_KERNEL_LINES,
    .most = MCP_KERNEL_PAGES,
    .most_of_one = MCP_KERNEL_PAGES_OF_ONE,
    .pin = MCP_PIN_OF_LINES,
};

const struct mcp_pages_kind mcp_pages_of_buffers = {
    .name = "mcp_buffer",
    .bytes = sizeof(struct mcp_kernel_buffer),
    .slots = 1,
    .most = MCP_KERNEL_BUFFERS,
    .most_of_one = MCP_KERNEL_BUFFERS_OF_ONE,
    .permanent = true,
    .pin = MCP_PIN_OF_BUFFERS,
    .first_owner = MCP_KERNEL_PAGES,
};

/* Creates a page. The map is frozen, so that only the program can write to it. */
static int make_page(const struct mcp_pages_kind *kind)
{
    const struct bpf_map_create_opts options = {.sz = sizeof(options), .map_flags = BPF_F_MMAPABLE};
    const int page = bpf_map_create(BPF_MAP_TYPE_ARRAY, kind->name, sizeof(uint32_t), kind->bytes,
                                    kind->slots, &options);
    if (page >= 0 && bpf_map_freeze(page) < 0) {
        close(page);
        return -1;
    }
    return page;
}

/* Inserts the pages into the map of maps. Returns the number of pages inserted. */
static uint32_t insert_pages(struct mcp_pages *pages, const uint32_t *slot, const int *page,
                             uint32_t count)
{
    const struct bpf_map_batch_opts options = {.sz = sizeof(options)};
    uint32_t there = count;
    if (pages->batch &&
        (0 == bpf_map_update_batch(pages->map, slot, page, &there, &options) || 0 != there)) {
        return there;
    }
    pages->batch = false;
    there = 0;
    while (there < count && there < MADE_ONE_BY_ONE &&
           0 == bpf_map_update_elem(pages->map, &slot[there], &page[there], BPF_ANY)) {
        ++there;
    }
    return there;
}

/* ---- state that outlives this process ---- */

enum { PIN_NAME = 32 };

static void name_pin(const struct mcp_pages *pages, uint32_t page, char name[PIN_NAME])
{
    snprintf(name, PIN_NAME, "%s%u", pages->kind->pin, page);
}

static bool pin_page(const struct mcp_pages *pages, uint32_t page, int map)
{
    char name[PIN_NAME];
    name_pin(pages, page, name);
    return NULL == pages->kept || mcp_pins_put(pages->kept->pins, name, map) >= 0;
}

/* Records the owner of the page. This must be done before any process of the user can map the
 * page. */
static bool record_owner(const struct mcp_pages *pages, const struct page *page, uint32_t uid)
{
    const uint32_t slot = pages->kind->first_owner + (uint32_t)(page - pages->page);
    const struct mcp_kernel_page_owner owner = {true, uid};
    return NULL == pages->kept ||
           bpf_map_update_elem(pages->kept->owners, &slot, &owner, BPF_ANY) >= 0;
}

/* Takes over pinned pages. */
static void take_over_pinned(struct mcp_pages *pages)
{
    while (NULL != pages->kept && pages->count < pages->kind->most) {
        char name[PIN_NAME];
        struct mcp_kernel_page_owner owner = {0};
        const uint32_t slot = pages->kind->first_owner + pages->count;
        name_pin(pages, pages->count, name);
        const int map = mcp_pins_get(pages->kept->pins, name);
        if (map < 0) {
            return;
        }
        (void)bpf_map_lookup_elem(pages->kept->owners, &slot, &owner);
        pages->page[pages->count++] =
            (struct page){.map = map, .owned = 0 != owner.owned, .uid = owner.uid};
    }
}

/* ---- allocation ---- */

/* Creates more pages, up to the limit. */
static void create_pages(struct mcp_pages *pages)
{
    uint32_t slot[MADE_AT_ONCE], made = 0;
    const uint32_t most = pages->batch ? MADE_AT_ONCE : MADE_ONE_BY_ONE;
    int page[MADE_AT_ONCE];
    while (made < most && pages->count + made < pages->kind->most &&
           (page[made] = make_page(pages->kind)) >= 0) {
        slot[made] = pages->count + made;
        ++made;
    }
    const uint32_t there = 0 == made ? 0 : insert_pages(pages, slot, page, made);
    bool good = true;
    for (uint32_t p = 0; p < made; ++p) {
        good = good && p < there && pin_page(pages, pages->count, page[p]);
        if (good) {
            pages->page[pages->count++] = (struct page){.map = page[p]};
        } else {
            close(page[p]);
        }
    }
}

static uint32_t account_by_uid(uint32_t uid)
{
    return uid;
}

void mcp_pages_count_by(struct mcp_pages *pages, mcp_account_fn account)
{
    pages->account = account;
}

struct mcp_pages *mcp_pages_make(int map, const struct mcp_pages_kind *kind, bool batch,
                                 const struct mcp_pages_kept *kept)
{
    struct mcp_pages *pages = calloc(1, sizeof(*pages) + kind->most * sizeof(pages->page[0]));
    if (NULL == pages) {
        return NULL;
    }
    pages->kind = kind;
    pages->map = map;
    pages->batch = batch;
    pages->account = account_by_uid;
    pages->kept = kept;
    take_over_pinned(pages);
    if (0 == pages->count) {
        create_pages(pages);
    }
    if (0 == pages->count) {
        const int err = errno;
        free(pages);
        errno = err;
        return NULL;
    }
    return pages;
}

void mcp_pages_free(struct mcp_pages *pages)
{
    for (uint32_t p = 0; NULL != pages && p < pages->count; ++p) {
        close(pages->page[p].map);
    }
    free(pages);
}

/* Returns the value of `taken` of a full page. */
static uint32_t full_mask(const struct mcp_pages *pages)
{
    return UINT32_MAX >> (32 - pages->kind->slots);
}

static bool is_of_account(const struct mcp_pages *pages, const struct page *page, uint32_t account)
{
    return page->owned && account == pages->account(page->uid);
}

/* Returns a page of this user with a free slot, or NULL. `count` gets the number of pages of the
 * user's account. */
static struct page *find_own_page(struct mcp_pages *pages, uint32_t uid, uint32_t *count)
{
    const uint32_t account = pages->account(uid);
    *count = 0;
    for (uint32_t p = 0; p < pages->count; ++p) {
        struct page *page = &pages->page[p];
        *count += is_of_account(pages, page, account);
        if (page->owned && uid == page->uid && full_mask(pages) != page->taken) {
            return page;
        }
    }
    return NULL;
}

/* Returns a page that has never had a user. */
static struct page *find_unowned_page(struct mcp_pages *pages)
{
    for (uint32_t p = 0; p < pages->count; ++p) {
        if (!pages->page[p].owned) {
            return &pages->page[p];
        }
    }
    return NULL;
}

/* Returns the page that has been idle for the longest time, among the pages of all users or of this
 * user's account. */
static struct page *find_idle_page(struct mcp_pages *pages, bool own, uint32_t uid)
{
    const uint32_t account = pages->account(uid);
    struct page *idle = NULL;
    for (uint32_t p = 0; p < pages->count; ++p) {
        struct page *page = &pages->page[p];
        if (0 == page->taken && (!own || is_of_account(pages, page, account)) &&
            (NULL == idle || page->released < idle->released)) {
            idle = page;
        }
    }
    return idle;
}

static struct page *choose_page(struct mcp_pages *pages, uint32_t uid)
{
    uint32_t count;
    struct page *page = find_own_page(pages, uid, &count);
    if (NULL != page) {
        return page;
    }
    if (count >= pages->kind->most_of_one) {
        return pages->kind->permanent ? NULL : find_idle_page(pages, true, uid);
    }
    page = find_unowned_page(pages);
    if (NULL == page) {
        create_pages(pages);
        page = find_unowned_page(pages);
    }
    return NULL != page || pages->kind->permanent ? page : find_idle_page(pages, false, 0);
}

int mcp_pages_allocate(struct mcp_pages *pages, uint32_t uid, uint32_t *slot)
{
    struct page *page = choose_page(pages, uid);
    uint32_t free_one = 0;
    if (NULL == page) {
        errno = ENOSPC;
        return -1;
    }
    while (0 != (page->taken >> free_one & 1)) {
        ++free_one;
    }
    if ((!page->owned || uid != page->uid) && !record_owner(pages, page, uid)) {
        return -1;
    }
    page->owned = true;
    page->uid = uid;
    page->taken |= UINT32_C(1) << free_one;
    *slot = (uint32_t)(page - pages->page) * pages->kind->slots + free_one;
    return page->map;
}

int mcp_pages_reserve(struct mcp_pages *pages, uint32_t uid, uint32_t slot)
{
    struct page *page = &pages->page[slot / pages->kind->slots];
    const uint32_t bit = UINT32_C(1) << slot % pages->kind->slots;
    if (slot / pages->kind->slots >= pages->count || !page->owned || uid != page->uid ||
        0 != (page->taken & bit)) {
        return -1;
    }
    page->taken |= bit;
    return page->map;
}

int mcp_pages_of(const struct mcp_pages *pages, uint32_t slot)
{
    return pages->page[slot / pages->kind->slots].map;
}

void mcp_pages_release(struct mcp_pages *pages, uint32_t slot)
{
    struct page *page = &pages->page[slot / pages->kind->slots];
    page->taken &= ~(UINT32_C(1) << slot % pages->kind->slots);
    page->released = ++pages->released;
}
