/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory: receive buffers, and fragments (descriptors with memory) of two sizes for
 * messages, and of two sizes for windows.
 *
 * All memory is allocated at once and cut into slices; the port frees it when it is closed. The
 * number of fragments is fixed, with twice as many small ones as send tokens. When ob1 cannot send,
 * it retries only after one of its own fragments has completed. Therefore fragments that complete
 * without a callback may use only half of the small ones (send.c), and windows have fragments of
 * their own. By default, the numbers are such that a process allocates 4 MiB in total.
 *
 * If the processes of a node would allocate more than half of its shared memory, each allocates 2
 * MiB, 1 MiB or 512 KiB instead. With the default of 256 MiB, this is so from 33, 65 and 129
 * processes on. Numbers that the user has set are kept. */
#include "btl_myr/btl_myr.h"

OBJ_CLASS_INSTANCE(mca_btl_myr_fragment_t, mca_btl_base_descriptor_t, NULL, NULL);

enum {
    TOKENS = 64, /* default numbers of the port */
    BUFFERS = 64,
    HALVINGS = 3, /* maximum number of halvings, so at least an eighth remains */
    /* enough for a pipeline of several messages with about 3 fragments each */
    LARGE_FRAGMENTS = 32,
    LETTERS = 120,
    CHUNKS = 15,
    LETTER_BYTES = MYR_SHORT_BYTES - sizeof(struct mca_btl_myr_header),
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

static int make_fragment(opal_free_list_item_t *item, void *context)
{
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)item;
    struct mca_btl_myr_pool *pool = context;
    fragment->header = take_slice(pool->payload);
    if (NULL == fragment->header) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    fragment->pool = pool;
    fragment->base.des_segments = &fragment->segment;
    fragment->base.des_segment_count = 1;
    return OPAL_SUCCESS;
}

/* Opens a pool and creates all of its fragments. */
static bool open_pool(struct mca_btl_myr_pool *pool, size_t payload, int fragments)
{
    OBJ_CONSTRUCT(&pool->list, opal_free_list_t);
    pool->payload = payload;
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

/* Returns the numbers, of which those that the user has not set were halved `halvings` times. */
static struct numbers numbers_after(int halvings)
{
    const mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const int buffers = component->parameters.buffers, tokens = component->parameters.tokens;
    return (struct numbers){.buffers = 0 != buffers ? buffers : BUFFERS >> halvings,
                            .eager = 2 * (0 != tokens ? tokens : TOKENS >> halvings),
                            .large = LARGE_FRAGMENTS >> halvings,
                            .chunks = ((CHUNKS + 1) >> halvings) - 1};
}

static size_t bytes_of(const struct numbers *numbers)
{
    const mca_btl_base_module_t *direct = &mca_btl_myr_module[MCA_BTL_MYR_DIRECT].super;
    return (size_t)(numbers->buffers + numbers->large + numbers->chunks) *
               slice_bytes(direct->btl_max_send_size) +
           (size_t)numbers->eager * slice_bytes(direct->btl_eager_limit) +
           LETTERS * slice_bytes(LETTER_BYTES);
}

/* Allocates the arena: as much as fits into the process's share of the memory, but at least the
 * minimum, even if that exceeds the share. */
static enum myr_status take_arena(struct numbers *numbers, struct myr_error *error)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const size_t share = nicbarr_memory_share(myr_segment_size(component->segment));
    size_t bytes = 0;
    for (int halvings = 0; NULL == component->arena && halvings <= HALVINGS; ++halvings) {
        *numbers = numbers_after(halvings);
        bytes = bytes_of(numbers);
        if (HALVINGS == halvings || bytes + MYR_LINE <= share) {
            component->arena = myr_port_alloc(component->port, bytes);
        }
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
    component->pools = true;
    component->without_callback_most = (uint32_t)numbers.eager / 2;
    const bool made = open_pool(&component->eager, small, numbers.eager) &
                      open_pool(&component->large, large, numbers.large) &
                      open_pool(&component->letter, LETTER_BYTES, LETTERS) &
                      open_pool(&component->chunk, large, numbers.chunks);
    return made ? MYR_OK : myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
}

void mca_btl_myr_memory_close(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (component->pools) {
        OBJ_DESTRUCT(&component->chunk.list);
        OBJ_DESTRUCT(&component->letter.list);
        OBJ_DESTRUCT(&component->large.list);
        OBJ_DESTRUCT(&component->eager.list);
        component->pools = false;
    }
}

mca_btl_myr_fragment_t *mca_btl_myr_take_fragment(struct mca_btl_myr_pool *pool, size_t size,
                                                  uint8_t order, uint32_t flags)
{
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)opal_free_list_get(&pool->list);
    if (NULL == fragment) {
        return NULL;
    }
    fragment->segment.seg_addr.pval = fragment->header + 1;
    fragment->segment.seg_len = size;
    fragment->base.des_cbfunc = NULL; /* not all senders set it */
    fragment->base.des_flags = flags;
    fragment->base.order = order;
    fragment->counted = false;
    return fragment;
}

mca_btl_base_descriptor_t *mca_btl_myr_alloc(mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             uint8_t order, size_t size, uint32_t flags)
{
    (void)btl;
    (void)endpoint;
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct mca_btl_myr_pool *pool =
        size <= component->eager.payload ? &component->eager : &component->large;
    /* The descriptor is the fragment's first member, so NULL is converted to NULL. */
    return size > pool->payload
               ? NULL
               : (mca_btl_base_descriptor_t *)mca_btl_myr_take_fragment(pool, size, order, flags);
}

int mca_btl_myr_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void)btl;
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)descriptor;
    opal_free_list_return(&fragment->pool->list, &fragment->base.super);
    return OPAL_SUCCESS;
}

mca_btl_base_descriptor_t *mca_btl_myr_prepare_src(mca_btl_base_module_t *btl,
                                                   struct mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   uint8_t order, size_t reserve, size_t *size,
                                                   uint32_t flags)
{
    const size_t most = mca_btl_myr_component.large.payload;
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
