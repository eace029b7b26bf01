/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake librdmacm, for the machine and the network of verbs_fake.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/verbs/cm.h"
#include "tests/unit/verbs_fake.h"

struct cm_id {
    struct rdma_cm_id id; /* first member */
    struct ibv_context context;
    const struct verbs_fake_port *port;
    union ibv_gid from, to;
    struct ibv_sa_path_rec path;
};

static struct cm_id *own(struct rdma_cm_id *id)
{
    return (struct cm_id *)id;
}

static int create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                     enum rdma_port_space space)
{
    struct cm_id *made = NULL == channel ? verbs_fake_take(sizeof(*made)) : NULL;
    (void)context;
    if (NULL == made) {
        return -1;
    }
    made->id.ps = space;
    *id = &made->id;
    return 0;
}

static int destroy_id(struct rdma_cm_id *id)
{
    return verbs_fake_give_back(id);
}

static union ibv_gid gid_of(const struct sockaddr *address)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
    if (AF_INET == address->sa_family) {
        memcpy(&gid.raw[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (AF_INET6 == address->sa_family) {
        memcpy(gid.raw, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    } else {
        memcpy(gid.raw, ((const struct sockaddr_ib *)address)->sib_addr.sib_raw, 16);
    }
    return gid;
}

/* An InfiniBand address requires its port space and the default partition. */
static int bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    struct cm_id *cm = own(id);
    const struct sockaddr_ib *ib = (const struct sockaddr_ib *)address;
    cm->from = gid_of(address);
    cm->port = verbs_fake_port_at(cm->from.raw, &cm->context.device, &id->port_num);
    if ((AF_IB == address->sa_family) != (RDMA_PS_IB == id->ps) ||
        (AF_IB == address->sa_family && 0xffff != ib->sib_pkey)) {
        errno = EINVAL;
        return -1;
    }
    if (NULL == cm->port) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    id->verbs = &cm->context;
    return 0;
}

static int resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
                        int timeout_ms)
{
    (void)from;
    if (verbs_fake_network_now()->unreachable || timeout_ms <= 0 || NULL == id->verbs) {
        errno = ETIMEDOUT;
        return -1;
    }
    own(id)->to = gid_of(to);
    return 0;
}

/* The LIDs of RoCE are meaningless. */
static int resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    struct cm_id *cm = own(id);
    const struct verbs_fake_network *network = verbs_fake_network_now();
    struct ibv_device *device;
    uint8_t port;
    const struct verbs_fake_port *to = verbs_fake_port_at(cm->to.raw, &device, &port);
    if (NULL == to || timeout_ms <= 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    const bool apart = 0 != memcmp(cm->from.raw, cm->to.raw, 8);
    cm->path = (struct ibv_sa_path_rec){
        .dgid = cm->to,
        .sgid = cm->from,
        .dlid = htons(to->ethernet ? 258 : to->lid),
        .slid = htons(to->ethernet ? 20041 : cm->port->lid + 1),
        .flow_label = htonl(0x8a065),
        .hop_limit = to->ethernet || apart ? 63 : 1,
        .traffic_class = 106,
        .sl = 3,
        .mtu = 0 != network->mtu ? network->mtu : (uint8_t)to->mtu,
        .rate = 7,
    };
    id->route.path_rec = &cm->path;
    id->route.num_paths = 1;
    return 0;
}

const struct myr_cm_calls *verbs_fake_cm(void)
{
    static const struct myr_cm_calls calls = {
        .create_id = create_id,
        .destroy_id = destroy_id,
        .bind_addr = bind_addr,
        .resolve_addr = resolve_addr,
        .resolve_route = resolve_route,
    };
    return &calls;
}
