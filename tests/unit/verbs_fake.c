/* SPDX-License-Identifier: BSD-3-Clause */
/* See verbs_fake.h. */
#include "tests/unit/verbs_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/crew.h"

enum {
    PAIRS = 4096,
    REGIONS = 8192,
    QUEUE = 256,
    REPORTS = 65536,
    FIRST_PAIR = 17,
    WORD = 4,
    PACKET = 16
};

struct request {
    uint64_t id, address;
    uint32_t key, local_key, bytes;
    bool reported;
    uint8_t *own;        /* inline data; NULL: read when executed */
    const uint8_t *from; /* the source address */
    uint32_t begun;      /* words in packets that have arrived */
    bool *written;       /* for each word: whether it was written */
};

struct pair {
    struct ibv_qp qp; /* first member */
    uint32_t other;   /* the number of the connected pair */
    uint32_t depth, inline_most, first, count;
    struct verbs_fake_way way;
    struct request queue[QUEUE];
};

struct queue {
    struct ibv_cq cq; /* first member */
    uint32_t first, count;
    struct ibv_wc report[REPORTS];
};

struct card {
    struct ibv_context context; /* first member */
    const struct verbs_fake_device *device;
    bool gone;
};

static struct {
    struct ibv_device device[8];
    const struct verbs_fake_device *devices;
    struct verbs_fake_network network;
    uint64_t random;
    bool may_fork;
    uint32_t refuse, held, pairs_held;
    struct pair *pair[PAIRS];
    struct ibv_mr *region[REGIONS];
    uint32_t pairs, regions;
} all;

/* Returns whether this call must fail. */
static bool refused(void)
{
    const bool now = 1 == all.refuse;
    all.refuse -= all.refuse > 0;
    errno = now ? ENOMEM : errno;
    return now;
}

void *verbs_fake_take(size_t bytes)
{
    if (refused()) {
        return NULL;
    }
    ++all.held;
    return calloc(1, bytes);
}

int verbs_fake_give_back(void *memory)
{
    --all.held;
    free(memory);
    return 0;
}

static struct card *card_of(struct ibv_context *context)
{
    return (struct card *)context;
}

/* ---- devices ---- */

static struct ibv_device **get_device_list(int *count)
{
    struct ibv_device **list = calloc(9, sizeof(struct ibv_device *));
    *count = 0;
    for (; NULL != all.devices[*count].name; ++*count) {
        list[*count] = &all.device[*count];
    }
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    free(list);
}

static const char *get_device_name(struct ibv_device *device)
{
    return all.devices[device - all.device].name;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *report);

static int fork_init(void)
{
    all.may_fork = true;
    return 0;
}

static struct ibv_context *open_device(struct ibv_device *device)
{
    if (!all.may_fork) {
        errno = EPERM;
        return NULL;
    }
    const struct verbs_fake_device *is = &all.devices[device - all.device];
    struct card *card = is->refuses ? NULL : verbs_fake_take(sizeof(*card));
    if (NULL == card) {
        errno = is->refuses ? EACCES : errno;
        return NULL;
    }
    card->device = is;
    card->context.device = device;
    card->context.ops.post_send = post_send;
    card->context.ops.poll_cq = poll_cq;
    return &card->context;
}

static int close_device(struct ibv_context *context)
{
    return verbs_fake_give_back(context);
}

static int query_port(struct ibv_context *context, uint8_t number,
                      struct _compat_ibv_port_attr *attributes)
{
    const struct verbs_fake_port *port = &card_of(context)->device->port[number - 1];
    struct ibv_port_attr *attr = (struct ibv_port_attr *)attributes;
    if (0 == port->mtu) {
        return EINVAL; /* no such port */
    }
    attr->state = port->active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attr->active_mtu = port->mtu;
    attr->lid = port->lid;
    attr->active_speed = port->speed;
    attr->active_width = port->width;
    attr->link_layer = port->ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    while (NULL != port->gids[attr->gid_tbl_len]) {
        ++attr->gid_tbl_len;
    }
    attr->gid_tbl_len += (int)port->unusable_gids;
    return 0;
}

/* Parse a port's GID. The address is 0 if it has none, and the mask 0 if no interface has the
 * address. */
static struct ibv_gid_entry gid_of(const char *words, struct in_addr *ip, uint32_t *mask)
{
    struct ibv_gid_entry entry = {.gid.raw = {0xfe, 0x80}};
    char text[32] = "";
    unsigned int bits = 0, subnet = 0, number = 0;
    entry.gid_type = 'i' == words[0]   ? IBV_GID_TYPE_IB
                     : '1' == words[1] ? IBV_GID_TYPE_ROCE_V1
                                       : IBV_GID_TYPE_ROCE_V2;
    *ip = (struct in_addr){.s_addr = 0};
    if (sscanf(words, "v2 %31[0-9.]/%u", text, &bits) >= 1) {
        memset(entry.gid.raw, 0, sizeof(entry.gid.raw));
        entry.gid.raw[10] = entry.gid.raw[11] = 0xff;
        (void)inet_pton(AF_INET, text, ip);
        memcpy(&entry.gid.raw[12], ip, sizeof(*ip));
    } else if (sscanf(words, "ib %u %u", &subnet, &number) >= 1) {
        entry.gid.raw[7] = (uint8_t)subnet;
        entry.gid.raw[15] = (uint8_t)number;
    }
    *mask = 0 == bits ? 0 : htonl(UINT32_MAX << (32 - bits));
    return entry;
}

static int query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                        struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    struct in_addr ip;
    uint32_t mask;
    (void)flags;
    (void)bytes;
    const struct verbs_fake_port *table = &card_of(context)->device->port[port - 1];
    *entry = gid_of(index < table->unusable_gids ? "v1" : table->gids[index - table->unusable_gids],
                    &ip, &mask);
    return 0;
}

static int query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    (void)port;
    (void)index;
    *pkey = 0xffff;
    return 0;
}

struct walk {
    uint32_t device, port, gid;
    const char *words;
};

/* Find the next GID of the machine. `walk` is zero at first. */
static bool next_gid(struct walk *walk)
{
    while (NULL != all.devices[walk->device].name) {
        const struct verbs_fake_port *port = &all.devices[walk->device].port[walk->port];
        walk->words = walk->gid < 5 ? port->gids[walk->gid++] : NULL;
        if (NULL != walk->words) {
            return true;
        }
        walk->gid = 0;
        walk->device += walk->port;
        walk->port ^= 1;
    }
    return false;
}

struct interface {
    struct ifaddrs is; /* first member */
    struct sockaddr_in address, mask;
};

static int get_addresses(struct ifaddrs **list)
{
    struct walk walk = {.words = NULL};
    *list = NULL;
    while (next_gid(&walk)) {
        struct interface *interface = calloc(1, sizeof(*interface));
        interface->address.sin_family = interface->mask.sin_family = AF_INET;
        (void)gid_of(walk.words, &interface->address.sin_addr, &interface->mask.sin_addr.s_addr);
        interface->is = (struct ifaddrs){.ifa_next = *list,
                                         .ifa_addr = (struct sockaddr *)&interface->address,
                                         .ifa_netmask = (struct sockaddr *)&interface->mask};
        if (0 == interface->mask.sin_addr.s_addr) {
            free(interface);
        } else {
            *list = &interface->is;
        }
    }
    return 0;
}

static void free_addresses(struct ifaddrs *list)
{
    while (NULL != list) {
        struct ifaddrs *next = list->ifa_next;
        free(list);
        list = next;
    }
}

const struct verbs_fake_port *verbs_fake_port_at(const uint8_t *gid, struct ibv_device **device,
                                                 uint8_t *port)
{
    struct walk walk = {.words = NULL};
    struct in_addr ip;
    uint32_t mask;
    while (next_gid(&walk)) {
        const struct ibv_gid_entry entry = gid_of(walk.words, &ip, &mask);
        if (IBV_GID_TYPE_ROCE_V1 != entry.gid_type && 0 == memcmp(entry.gid.raw, gid, 16)) {
            *device = &all.device[walk.device];
            *port = (uint8_t)(walk.port + 1);
            return &all.devices[walk.device].port[walk.port];
        }
    }
    return NULL;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = verbs_fake_take(sizeof(*pd));
    if (NULL != pd) {
        pd->context = context;
    }
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    return verbs_fake_give_back(pd);
}

/* ---- memory ---- */

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    struct ibv_mr *region = verbs_fake_take(sizeof(*region));
    (void)access;
    if (NULL != region) {
        *region =
            (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = bytes};
        region->rkey = region->lkey = all.regions + 1;
        all.region[all.regions++] = region;
    }
    return region;
}

/* Store some of the remaining words of packets that have arrived. Returns true if none is left. */
static bool write_some(struct request *request)
{
    const uint8_t *from = NULL != request->own ? request->own : request->from;
    bool all_written = true;
    for (uint32_t w = 0; w < request->begun; ++w) {
        const bool alone = WORD == request->bytes;
        if (!request->written[w] && (alone || 0 != crew_below(&all.random, 3))) {
            uint32_t word;
            memcpy(&word, from + (size_t)w * WORD, WORD);
            atomic_store((_Atomic uint32_t *)(uintptr_t)(request->address + w * WORD), word);
            request->written[w] = true;
        }
        all_written = all_written && request->written[w];
    }
    return all_written;
}

/* As with a card, packets that have arrived are stored before the region is removed. */
static int dereg_mr(struct ibv_mr *region)
{
    for (uint32_t p = 0; p < all.pairs; ++p) {
        struct request *request =
            NULL == all.pair[p] ? NULL : &all.pair[p]->queue[all.pair[p]->first % QUEUE];
        while (NULL != request && all.pair[p]->count > 0 && request->key == region->rkey &&
               !write_some(request)) {
            continue;
        }
    }
    all.region[region->rkey - 1] = NULL;
    return verbs_fake_give_back(region);
}

static bool is_within(uint32_t key, uint64_t address, uint32_t bytes)
{
    const struct ibv_mr *region = key - 1 < all.regions ? all.region[key - 1] : NULL;
    return NULL != region && address >= (uintptr_t)region->addr &&
           address + bytes <= (uintptr_t)region->addr + region->length;
}

static bool may_write(const struct request *request)
{
    return 0 == request->bytes || is_within(request->key, request->address, request->bytes);
}

static bool may_read(const struct request *request)
{
    return 0 == request->bytes || NULL != request->own ||
           is_within(request->local_key, (uintptr_t)request->from, request->bytes);
}

/* ---- completions ---- */

static struct ibv_cq *create_cq(struct ibv_context *context, int count, void *user,
                                struct ibv_comp_channel *channel, int vector)
{
    struct queue *queue = verbs_fake_take(sizeof(*queue));
    (void)count;
    (void)user;
    (void)channel;
    (void)vector;
    if (NULL == queue) {
        return NULL;
    }
    queue->cq.context = context;
    return &queue->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
    return verbs_fake_give_back(cq);
}

static void report(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
    struct queue *queue = (struct queue *)cq;
    const uint32_t place = (queue->first + queue->count++) % REPORTS;
    queue->report[place] = (struct ibv_wc){.wr_id = id, .status = status};
}

/* Some completions are delayed. Each poll also advances the network. */
static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *report)
{
    struct queue *queue = (struct queue *)cq;
    int count = 0;
    (void)verbs_fake_step();
    while (count < most && queue->count > 0 && 0 != crew_below(&all.random, 4)) {
        report[count++] = queue->report[queue->first++ % REPORTS];
        --queue->count;
    }
    return count;
}

/* ---- queue pairs ---- */

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *how)
{
    const uint32_t most = card_of(pd->context)->device->inline_most;
    if (0 != most && how->cap.max_inline_data > most) {
        errno = EINVAL;
        return NULL;
    }
    struct pair *pair = verbs_fake_take(sizeof(*pair));
    if (NULL == pair) {
        return NULL;
    }
    if (0 != card_of(pd->context)->device->inline_got) {
        how->cap.max_inline_data = card_of(pd->context)->device->inline_got;
    }
    pair->inline_most = how->cap.max_inline_data;
    pair->qp.context = pd->context;
    pair->qp.send_cq = how->send_cq;
    pair->qp.qp_num = FIRST_PAIR + all.pairs;
    pair->depth = how->cap.max_send_wr;
    all.pair[all.pairs++] = pair;
    ++all.pairs_held;
    return &pair->qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    struct pair *pair = (struct pair *)qp;
    (void)mask;
    if (refused()) {
        return ENOMEM;
    }
    qp->state = attributes->qp_state;
    if (IBV_QPS_RTR == qp->state) {
        pair->other = attributes->dest_qp_num;
        pair->way = (struct verbs_fake_way){attributes->ah_attr, attributes->path_mtu};
    }
    return 0;
}

static void drop_request(struct request *request)
{
    free(request->own);
    free(request->written);
}

static int destroy_qp(struct ibv_qp *qp)
{
    struct pair *pair = (struct pair *)qp;
    for (; pair->count > 0; --pair->count) {
        drop_request(&pair->queue[pair->first++ % QUEUE]);
    }
    all.pair[qp->qp_num - FIRST_PAIR] = NULL;
    --all.pairs_held;
    return verbs_fake_give_back(qp);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct pair *pair = (struct pair *)qp;
    struct request request = {.id = wr->wr_id,
                              .address = wr->wr.rdma.remote_addr,
                              .key = wr->wr.rdma.rkey,
                              .reported = 0 != (wr->send_flags & IBV_SEND_SIGNALED)};
    *bad = wr;
    if (IBV_WR_RDMA_WRITE != wr->opcode || pair->count == pair->depth ||
        (IBV_QPS_RTS != qp->state && IBV_QPS_ERR != qp->state)) {
        return EINVAL;
    }
    if (1 == wr->num_sge) {
        request.bytes = wr->sg_list->length;
        request.from = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
        request.local_key = wr->sg_list->lkey;
        request.written = calloc(request.bytes / WORD, sizeof(bool));
        if (0 != (wr->send_flags & IBV_SEND_INLINE)) {
            if (request.bytes > pair->inline_most) {
                return EINVAL;
            }
            request.own = malloc(request.bytes);
            memcpy(request.own, request.from, request.bytes);
        }
    }
    pair->queue[(pair->first + pair->count++) % QUEUE] = request;
    return 0;
}

static bool is_connected(const struct pair *pair)
{
    const struct pair *other =
        pair->other - FIRST_PAIR < all.pairs ? all.pair[pair->other - FIRST_PAIR] : NULL;
    return NULL != other && !card_of(other->qp.context)->gone && other->other == pair->qp.qp_num &&
           other->way.mtu == pair->way.mtu &&
           (IBV_QPS_RTR == other->qp.state || IBV_QPS_RTS == other->qp.state);
}

/* Begin the next packet. Access rights are checked for each packet. */
static enum ibv_wc_status begin_packet(struct pair *pair, struct request *request)
{
    const uint32_t words = request->bytes / WORD;
    request->begun = request->begun + PACKET < words ? request->begun + PACKET : words;
    return IBV_QPS_ERR == pair->qp.state     ? IBV_WC_WR_FLUSH_ERR
           : card_of(pair->qp.context)->gone ? IBV_WC_FATAL_ERR
           : !is_connected(pair)             ? IBV_WC_RETRY_EXC_ERR
           : !may_read(request)              ? IBV_WC_LOC_PROT_ERR
           : !may_write(request)             ? IBV_WC_REM_ACCESS_ERR
                                             : IBV_WC_SUCCESS;
}

static void execute(struct pair *pair)
{
    struct request *request = &pair->queue[pair->first % QUEUE];
    const uint32_t words = request->bytes / WORD;
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    if (0 == request->begun || (request->begun < words && write_some(request))) {
        status = begin_packet(pair, request);
    }
    if (IBV_WC_SUCCESS != status) {
        pair->qp.state = IBV_QPS_ERR;
    } else if (!write_some(request) || request->begun < words) {
        return;
    }
    if (request->reported || IBV_WC_SUCCESS != status) {
        report(pair->qp.send_cq, request->id, status);
    }
    drop_request(request);
    ++pair->first;
    --pair->count;
}

bool verbs_fake_step(void)
{
    const uint32_t start = 0 == all.pairs ? 0 : crew_below(&all.random, all.pairs);
    for (uint32_t p = 0; p < all.pairs; ++p) {
        struct pair *pair = all.pair[(start + p) % all.pairs];
        if (NULL != pair && pair->count > 0) {
            execute(pair);
            return true;
        }
    }
    return false;
}

void verbs_fake_remove(const struct ibv_context *context)
{
    card_of((struct ibv_context *)context)->gone = true;
}

void verbs_fake_refuse(uint32_t call)
{
    all.refuse = call;
}

const struct verbs_fake_way *verbs_fake_way(uint32_t number)
{
    const struct pair *pair = all.pair[number - FIRST_PAIR];
    return 0 == pair->other ? NULL : &pair->way;
}

void verbs_fake_network(struct verbs_fake_network network)
{
    all.network = network;
}

const struct verbs_fake_network *verbs_fake_network_now(void)
{
    return &all.network;
}

uint32_t verbs_fake_held(void)
{
    return all.held;
}

uint32_t verbs_fake_pairs(void)
{
    return all.pairs_held;
}

const struct myr_verbs_calls *verbs_fake(const struct verbs_fake_device *devices, uint64_t seed)
{
    static const struct myr_verbs_calls calls = {
        .get_device_list = get_device_list,
        .free_device_list = free_device_list,
        .get_device_name = get_device_name,
        .fork_init = fork_init,
        .open_device = open_device,
        .close_device = close_device,
        .query_port = query_port,
        .query_gid_ex = query_gid_ex,
        .alloc_pd = alloc_pd,
        .dealloc_pd = dealloc_pd,
        .reg_mr = reg_mr,
        .dereg_mr = dereg_mr,
        .create_cq = create_cq,
        .destroy_cq = destroy_cq,
        .create_qp = create_qp,
        .modify_qp = modify_qp,
        .destroy_qp = destroy_qp,
        .query_pkey = query_pkey,
        .getifaddrs = get_addresses,
        .freeifaddrs = free_addresses,
    };
    memset(&all, 0, sizeof(all));
    all.devices = devices;
    for (uint32_t d = 0; NULL != devices[d].name; ++d) {
        snprintf(all.device[d].ibdev_path, sizeof(all.device[d].ibdev_path), "%s",
                 NULL == devices[d].dir ? "" : devices[d].dir);
    }
    all.random = seed;
    return &calls;
}
