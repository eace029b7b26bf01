/* SPDX-License-Identifier: BSD-3-Clause */
/* Manages the receive buffers and the fragments. A fragment is a descriptor of an outgoing message,
 * together with registered memory for it. Messages of ob1 and messages for windows use separate
 * pools, with two sizes of fragments each.
 *
 * All registered memory is allocated in one piece, by default 4 MiB in each process, and cut into
 * slices. The port frees it when the port is closed.
 *
 * Windows do not use the fragments of ob1, because ob1 retries a failed send only when one of its
 * own fragments completes. If windows had occupied all fragments, ob1 would have none in flight,
 * and would never retry.
 *
 * If the processes of a node would allocate more than half of its shared memory in total, each
 * process allocates only 2 MiB, 1 MiB or 512 KiB. With 256 MiB of shared memory (the default),
 * these reductions apply from 33, 65 and 129 processes on. They do not apply to numbers of
 * fragments and buffers that the user has set. */
#include "btl_myr/btl_myr.h"

#include <stdlib.h>
#include <string.h>

OBJ_CLASS_INSTANCE(mca_btl_myr_fragment_t, mca_btl_base_descriptor_t, NULL, NULL);

enum {
    BUFFERS = 64,
    EAGER_FRAGMENTS = 128,
    /* sufficient for a pipeline of several messages with about 3 fragments each */
    LARGE_FRAGMENTS = 32,
    ACTIVE_MESSAGES = 120,
    CHUNKS = 15,
    HALVINGS = 3, /* maximum number of halvings, so at least an eighth remains */
    ACTIVE_BYTES = MYR_SHORT_BYTES - sizeof(struct mca_btl_myr_header),
    OVERFLOW_MOST = 256, /* overflow fragments of an endpoint */
    CONTROL_BYTES = 256, /* ob1's control packets have at most this size */
    ADDED_LEAST = 64,    /* limits of the fragments that can be added */
    ADDED_MOST = 1 << 15,
    TOKEN_BYTES = 256, /* size of a send token in the port's rings, which are powers of two */
};

static size_t slice_bytes(size_t payload)
{
    return myr_whole_lines(sizeof(struct mca_btl_myr_header) + payload);
}

/* Returns the next slice, or NULL if the arena is used up. */
static void *take_slice(size_t payload)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const size_t bytes = slice_bytes(payload);
    if (bytes > (size_t)(component->arena_end - component->arena)) {
        return NULL;
    }
    component->arena += bytes;
    return component->arena - bytes;
}

/* Sets what does not change as long as the fragment exists. */
static void init_fragment(mca_btl_myr_fragment_t *fragment, enum mca_btl_myr_pools pool,
                          bool overflow)
{
    fragment->pool = pool;
    fragment->overflow = overflow;
    fragment->registered = NULL;
    fragment->base.des_segments = &fragment->segment;
    fragment->base.des_segment_count = 1;
}

static int make_fragment(opal_free_list_item_t *item, void *context)
{
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)item;
    struct mca_btl_myr_pool *pool = context;
    fragment->header = take_slice(pool->payload);
    if (NULL == fragment->header) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    init_fragment(fragment, (enum mca_btl_myr_pools)(pool - mca_btl_myr_component.pool), false);
    return OPAL_SUCCESS;
}

/* Opens a pool and creates all of its fragments. */
static bool open_pool(enum mca_btl_myr_pools which, size_t payload, int fragments)
{
    struct mca_btl_myr_pool *pool = &mca_btl_myr_component.pool[which];
    OBJ_CONSTRUCT(&pool->list, opal_free_list_t);
    pool->payload = payload;
    pool->left = (uint32_t)fragments;
    pool->quarter = fragments < 8 ? 1 : (uint32_t)fragments / 4;
    return OPAL_SUCCESS == opal_free_list_init(&pool->list, sizeof(mca_btl_myr_fragment_t),
                                               MYR_LINE, OBJ_CLASS(mca_btl_myr_fragment_t), 0,
                                               MYR_LINE, fragments, fragments, fragments, NULL, 0,
                                               NULL, make_fragment, pool) &&
           (size_t)fragments == pool->list.fl_num_allocated;
}

/* Numbers of buffers and fragments in the arena. */
struct numbers {
    int buffers, eager, large, chunks;
};

/* Returns the numbers of buffers and fragments. Those that the user has not set are halved
 * `halvings` times. */
static struct numbers numbers_after(int halvings)
{
    const mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const int buffers = component->parameters.buffers, tokens = component->parameters.tokens;
    return (struct numbers){.buffers = 0 != buffers ? buffers : BUFFERS >> halvings,
                            .eager = 0 != tokens ? tokens : EAGER_FRAGMENTS >> halvings,
                            .large = LARGE_FRAGMENTS >> halvings,
                            .chunks = ((CHUNKS + 1) >> halvings) - 1};
}

static size_t arena_bytes(const struct numbers *numbers)
{
    const mca_btl_base_module_t *direct = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    return (size_t)(numbers->buffers + numbers->large + numbers->chunks) *
               slice_bytes(direct->btl_max_send_size) +
           (size_t)numbers->eager * slice_bytes(direct->btl_eager_limit) +
           ACTIVE_MESSAGES * slice_bytes(ACTIVE_BYTES);
}

/* Returns how many times the numbers of fragments and buffers must be halved until they fit into
 * the process's share of the memory. At least the minimum is allocated, even if it exceeds the
 * share. */
static int least_halvings(void)
{
    const size_t share = nicbarr_memory_share(myr_segment_size(mca_btl_myr_component.segment));
    int halvings = 0;
    for (; halvings < HALVINGS; ++halvings) {
        const struct numbers numbers = numbers_after(halvings);
        if (arena_bytes(&numbers) + MYR_LINE <= share) {
            break;
        }
    }
    return halvings;
}

/* Returns how many fragments may be added to the pools. Ideally this is one of each size for each
 * process of the job, so that a busy receiver never delays messages to others. However, the port
 * allocates tokens for all of these fragments when it is opened. To limit these tokens to an eighth
 * of the process's share of the memory, a large job gets fewer fragments, but at least ADDED_LEAST.
 */
static uint32_t added_most(void)
{
    const size_t share = nicbarr_memory_share(myr_segment_size(mca_btl_myr_component.segment));
    const size_t wanted = 2 * (size_t)ompi_process_info.num_procs, fit = share / 8 / TOKEN_BYTES;
    const size_t most = wanted < fit ? wanted : fit;
    return most < ADDED_LEAST ? ADDED_LEAST : most > ADDED_MOST ? ADDED_MOST : (uint32_t)most;
}

uint32_t mca_btl_myr_tokens(void)
{
    const struct numbers numbers = numbers_after(least_halvings());
    return (uint32_t)(numbers.eager + numbers.large + ACTIVE_MESSAGES + numbers.chunks) +
           added_most();
}

/* Allocates the arena. If there is not enough memory for it, the numbers are halved. */
static enum myr_status take_arena(struct numbers *numbers, struct myr_error *error)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    size_t bytes = 0;
    for (int halvings = least_halvings(); NULL == component->arena && halvings <= HALVINGS;
         ++halvings) {
        *numbers = numbers_after(halvings);
        bytes = arena_bytes(numbers);
        component->arena = myr_port_alloc(component->port, bytes);
    }
    if (NULL == component->arena) {
        return myr_fail(error, MYR_ERR_FULL, 0,
                        "the node's shared memory is used up: %zu KiB are needed (increase "
                        "btl_myr_memory, or reduce btl_myr_buffers and btl_myr_tokens)",
                        bytes >> 10);
    }
    component->arena_end = component->arena + bytes;
    return MYR_OK;
}

enum myr_status mca_btl_myr_memory_open(struct myr_error *error)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const mca_btl_base_module_t *direct = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    const size_t small = direct->btl_eager_limit, large = direct->btl_max_send_size;
    struct numbers numbers = numbers_after(0);
    if (MYR_OK != take_arena(&numbers, error)) {
        return MYR_ERR_FULL;
    }
    for (int b = 0; b < numbers.buffers; ++b) {
        (void)myr_port_provide(component->port, take_slice(large), component->self.buffer_bytes);
    }
    component->added_most = added_most();
    component->added = calloc(component->added_most, sizeof(mca_btl_myr_fragment_t *));
    component->pools = true;
    const bool made = open_pool(MCA_BTL_MYR_EAGER, small, numbers.eager) &
                      open_pool(MCA_BTL_MYR_LARGE, large, numbers.large) &
                      open_pool(MCA_BTL_MYR_ACTIVE, ACTIVE_BYTES, ACTIVE_MESSAGES) &
                      open_pool(MCA_BTL_MYR_CHUNK, large, numbers.chunks);
    return made && NULL != component->added
               ? MYR_OK
               : myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
}

void mca_btl_myr_memory_close(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    for (int p = 0; component->pools && p < MCA_BTL_MYR_POOLS; ++p) {
        OBJ_DESTRUCT(&component->pool[p].list);
    }
    while (0 != component->nadded) {
        free(component->added[--component->nadded]);
    }
    free(component->added);
    component->added = NULL;
    component->pools = false;
}

/* ---- fragments ---- */

static mca_btl_myr_fragment_t *prepare_fragment(mca_btl_myr_fragment_t *fragment,
                                                struct mca_btl_base_endpoint_t *endpoint,
                                                size_t size, uint8_t order, uint32_t flags)
{
    fragment->endpoint = endpoint;
    fragment->segment.seg_addr.pval = fragment->header + 1;
    fragment->segment.seg_len = size;
    fragment->base.des_cbfunc = NULL; /* not all senders set it */
    fragment->base.des_flags = flags;
    fragment->base.order = order;
    return fragment;
}

static mca_btl_myr_fragment_t *get_fragment(enum mca_btl_myr_pools which,
                                            struct mca_btl_base_endpoint_t *endpoint, size_t size,
                                            uint8_t order, uint32_t flags)
{
    struct mca_btl_myr_pool *pool = &mca_btl_myr_component.pool[which];
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)opal_free_list_get(&pool->list);
    if (NULL == fragment) {
        return NULL;
    }
    mca_btl_myr_subtract(&pool->left, 1);
    mca_btl_myr_add(&endpoint->held[which], 1);
    return prepare_fragment(fragment, endpoint, size, order, flags);
}

static uint32_t fragments_held_by(const struct mca_btl_base_endpoint_t *endpoint,
                                  enum mca_btl_myr_pools pool)
{
    return atomic_load_explicit(&endpoint->held[pool], memory_order_relaxed);
}

/* Returns whether the endpoint may have another fragment, and there is one. */
static bool may_have_fragment(const struct mca_btl_base_endpoint_t *endpoint,
                              enum mca_btl_myr_pools which)
{
    const struct mca_btl_myr_pool *pool = &mca_btl_myr_component.pool[which];
    const uint32_t held = fragments_held_by(endpoint, which);
    const uint32_t left = atomic_load_explicit(&pool->left, memory_order_relaxed);
    const uint32_t added = atomic_load_explicit(&pool->added, memory_order_relaxed);
    return left > pool->quarter + added || (0 == held && 0 != left) || held + added < left;
}

static mca_btl_myr_fragment_t *get_fragment_if_fair(enum mca_btl_myr_pools which,
                                                    struct mca_btl_base_endpoint_t *endpoint,
                                                    size_t size, uint8_t order, uint32_t flags)
{
    return may_have_fragment(endpoint, which) ? get_fragment(which, endpoint, size, order, flags)
                                              : NULL;
}

/* Adds a fragment to a pool. */
static void grow_pool(enum mca_btl_myr_pools which)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct mca_btl_myr_pool *pool = &component->pool[which];
    if (component->added_most == component->nadded) {
        return;
    }
    void *memory = myr_port_alloc(component->port, slice_bytes(pool->payload));
    mca_btl_myr_fragment_t *fragment = NULL != memory ? OBJ_NEW(mca_btl_myr_fragment_t) : NULL;
    if (NULL == fragment) {
        myr_port_free(component->port, memory);
        return;
    }
    fragment->header = memory;
    init_fragment(fragment, which, false);
    component->added[component->nadded++] = fragment;
    mca_btl_myr_add(&pool->added, 1);
    mca_btl_myr_add(&pool->left, 1);
    opal_free_list_return(&pool->list, &fragment->base.super);
}

mca_btl_myr_fragment_t *mca_btl_myr_take_fragment(enum mca_btl_myr_pools which,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  size_t size, uint8_t order, uint32_t flags)
{
    mca_btl_myr_fragment_t *fragment = get_fragment_if_fair(which, endpoint, size, order, flags);
    if (NULL == fragment && 0 == fragments_held_by(endpoint, which)) {
        grow_pool(which);
        fragment = get_fragment(which, endpoint, size, order, flags);
    }
    return fragment;
}

static void return_fragment(mca_btl_myr_fragment_t *fragment)
{
    struct mca_btl_myr_pool *pool = &mca_btl_myr_component.pool[fragment->pool];
    mca_btl_myr_subtract(&fragment->endpoint->held[fragment->pool], 1);
    mca_btl_myr_add(&pool->left, 1);
    opal_free_list_return(&pool->list, &fragment->base.super);
}

static mca_btl_myr_fragment_t *make_overflow(enum mca_btl_myr_pools pool,
                                             struct mca_btl_base_endpoint_t *endpoint, size_t size,
                                             uint8_t order, uint32_t flags)
{
    mca_btl_myr_fragment_t *fragment = OBJ_NEW(mca_btl_myr_fragment_t);
    struct mca_btl_myr_header *header = malloc(sizeof(*header) + size);
    if (NULL == fragment || NULL == header) {
        free(header);
        free(fragment);
        return NULL;
    }
    init_fragment(fragment, pool, true);
    fragment->header = header;
    mca_btl_myr_add(&endpoint->overflow, 1);
    return prepare_fragment(fragment, endpoint, size, order, flags);
}

static void free_overflow(mca_btl_myr_fragment_t *fragment)
{
    if (NULL != fragment->registered) {
        return_fragment(fragment->registered);
    } else {
        mca_btl_myr_subtract(&fragment->endpoint->overflow, 1);
    }
    free(fragment->header);
    OBJ_RELEASE(fragment);
}

mca_btl_myr_fragment_t *mca_btl_myr_fragment_for(struct mca_btl_base_endpoint_t *endpoint,
                                                 bool is_control, size_t size, uint8_t order,
                                                 uint32_t flags)
{
    const struct mca_btl_myr_pool *pools = mca_btl_myr_component.pool;
    const uint32_t overflow = atomic_load_explicit(&endpoint->overflow, memory_order_relaxed);
    const uint32_t backlog = atomic_load_explicit(&endpoint->backlog.count, memory_order_relaxed);
    const enum mca_btl_myr_pools pool =
        size <= pools[MCA_BTL_MYR_EAGER].payload ? MCA_BTL_MYR_EAGER : MCA_BTL_MYR_LARGE;
    const uint32_t most = is_control ? UINT32_MAX : OVERFLOW_MOST;
    mca_btl_myr_fragment_t *fragment = NULL;
    if (size > pools[pool].payload) {
        return NULL;
    }
    if (0 == overflow) {
        fragment = get_fragment_if_fair(pool, endpoint, size, order, flags);
    }
    if (NULL == fragment && overflow + backlog < most) {
        fragment = make_overflow(pool, endpoint, size, order, flags);
    }
    return fragment;
}

bool mca_btl_myr_register(mca_btl_myr_fragment_t *fragment)
{
    struct mca_btl_base_endpoint_t *endpoint = fragment->endpoint;
    const size_t size = fragment->segment.seg_len;
    mca_btl_myr_fragment_t *registered =
        mca_btl_myr_take_fragment(fragment->pool, endpoint, size, MCA_BTL_NO_ORDER, 0);
    if (NULL == registered) {
        return false;
    }
    memcpy(registered->header, fragment->header, sizeof(*fragment->header) + size);
    fragment->registered = registered;
    mca_btl_myr_subtract(&endpoint->overflow, 1);
    return true;
}

mca_btl_base_descriptor_t *mca_btl_myr_alloc(mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             uint8_t order, size_t size, uint32_t flags)
{
    (void)btl;
    /* The descriptor is the first member of the fragment, so NULL is converted to NULL. */
    return (mca_btl_base_descriptor_t *)mca_btl_myr_fragment_for(endpoint, size <= CONTROL_BYTES,
                                                                 size, order, flags);
}

int mca_btl_myr_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void)btl;
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)descriptor;
    if (fragment->overflow) {
        free_overflow(fragment);
    } else {
        return_fragment(fragment);
    }
    return OPAL_SUCCESS;
}

mca_btl_base_descriptor_t *mca_btl_myr_prepare_src(mca_btl_base_module_t *btl,
                                                   struct mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   uint8_t order, size_t reserve, size_t *size,
                                                   uint32_t flags)
{
    const size_t most = mca_btl_myr_component.pool[MCA_BTL_MYR_LARGE].payload;
    if (reserve > most) {
        return NULL;
    }
    if (*size > most - reserve) {
        *size = most - reserve;
    }
    mca_btl_base_descriptor_t *descriptor =
        mca_btl_myr_alloc(btl, endpoint, order, reserve + *size, flags);
    if (NULL == descriptor) {
        return NULL;
    }
    uint32_t iov_count = 1;
    struct iovec to = {.iov_base = (uint8_t *)descriptor->des_segments->seg_addr.pval + reserve,
                       .iov_len = *size};
    if (opal_convertor_pack(convertor, &to, &iov_count, size) < 0) {
        mca_btl_myr_free(btl, descriptor);
        return NULL;
    }
    descriptor->des_segments->seg_len = reserve + *size;
    return descriptor;
}
