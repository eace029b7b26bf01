/* SPDX-License-Identifier: BSD-3-Clause */
/* Path resolution by librdmacm; see verbs.h.
 *
 * As for any program that connects by librdmacm, the kernel resolves first the address and then the
 * route. For RoCE v2 it uses the routing and neighbour tables; for InfiniBand it queries the subnet
 * manager, which knows the routes to other subnets. The result is a path record with the MTU and
 * the fields of the packet headers, including the service level and the traffic class that the
 * administrator has configured. iWARP has no path records and is not supported.
 *
 * No additional data need to be exchanged, because the GID of a RoCE port is its IP address, and
 * InfiniBand GIDs are addresses themselves (AF_IB).
 *
 * Queue pairs are still connected by the numbers in the blobs, and not by the handshake of
 * librdmacm (listen, connect, accept). The handshake would only exchange the same numbers, but two
 * processes would have to wait for each other in the second phase of joining. Resolution, in
 * contrast, involves no other process. Joining therefore takes only as long as the network takes to
 * reply, and no process waits for a process that has failed meanwhile. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/verbs/cm.h"
#include "libmyr/verbs/verbs.h"

enum { WAIT_MS = 2000 /* for each of the two resolutions */ };

/* The device file is checked first, because librdmacm waits for seconds if this file is missing,
 * for example in a container that has access to the RDMA devices only. */
const struct myr_cm_calls *myr_verbs_load_cm(void)
{
    static struct myr_cm_calls calls;
    void *library = 0 == access("/dev/infiniband/rdma_cm", R_OK | W_OK)
                        ? myr_verbs_library("librdmacm.so.1")
                        : NULL;
    bool loaded = NULL != library;
#define FIND(name, symbol) loaded = loaded && myr_verbs_find(library, #symbol, &calls.name);
    MYR_CM_CALLS(FIND)
#undef FIND
    return loaded ? &calls : NULL;
}

union endpoint {
    struct sockaddr any;
    struct sockaddr_in ip;
    struct sockaddr_in6 ip6;
    struct sockaddr_ib ib;
};

/* Converts the GID to a socket address for librdmacm. Returns false if a GID alone is not
 * sufficient for this device. */
static bool endpoint_of(const struct myr_verbs_device *device, const uint8_t *gid,
                        union endpoint *endpoint)
{
    struct in6_addr address;
    memcpy(&address, gid, sizeof(address));
    *endpoint = (union endpoint){.ip6 = {.sin6_family = AF_INET6, .sin6_addr = address}};
    if (!device->ethernet) {
        *endpoint = (union endpoint){.ib = {.sib_family = AF_IB, .sib_pkey = device->pkey}};
        memcpy(endpoint->ib.sib_addr.sib_raw, gid, sizeof(endpoint->ib.sib_addr));
    } else if (IN6_IS_ADDR_V4MAPPED(&address)) {
        *endpoint = (union endpoint){.ip = {.sin_family = AF_INET}};
        memcpy(&endpoint->ip.sin_addr, gid + 12, sizeof(endpoint->ip.sin_addr));
    }
    return !device->ethernet || !IN6_IS_ADDR_LINKLOCAL(&address);
}

/* Creates an identifier bound to this device's address. Without an event channel, calls on it are
 * synchronous. */
static int bind_own(const struct myr_verbs_device *device, struct rdma_cm_id **id)
{
    const struct myr_cm_calls *cm = device->calls->cm;
    union endpoint own;
    if (NULL == cm || !endpoint_of(device, device->gid.raw, &own)) {
        return ENOENT;
    }
    if (0 != cm->create_id(NULL, id, NULL, device->ethernet ? RDMA_PS_TCP : RDMA_PS_IB)) {
        return errno;
    }
    if (0 != cm->bind_addr(*id, &own.any)) {
        const int err = errno;
        (void)cm->destroy_id(*id);
        return err;
    }
    return 0;
}

/* Returns whether librdmacm finds this device by its address. It may find another device, because
 * two devices on separate networks may have the same address. */
bool myr_verbs_can_route(const struct myr_verbs_device *device)
{
    struct rdma_cm_id *id;
    if (0 != bind_own(device, &id)) {
        return false;
    }
    const bool ours = NULL != id->verbs && device->port == id->port_num &&
                      0 == strcmp(device->calls->get_device_name(id->verbs->device), device->name);
    (void)device->calls->cm->destroy_id(id);
    return ours;
}

static void take_path(const struct myr_verbs_device *device, const struct ibv_sa_path_rec *path,
                      struct myr_verbs_way *way)
{
    way->mtu = path->mtu < way->mtu ? path->mtu : way->mtu;
    way->to = (struct ibv_ah_attr){
        .sl = path->sl,
        .static_rate = path->rate,
        .port_num = device->port,
        .is_global = device->ethernet || path->hop_limit > 1,
        .grh = {.dgid = path->dgid,
                .flow_label = ntohl(path->flow_label),
                .sgid_index = device->gid_index,
                .hop_limit = path->hop_limit,
                .traffic_class = path->traffic_class},
    };
    if (!device->ethernet) { /* not set in RoCE path records */
        way->to.dlid = ntohs(path->dlid);
        way->to.src_path_bits = (uint8_t)(ntohs(path->slid) - device->lid);
    }
}

int myr_verbs_route(const struct myr_verbs_device *device, const struct myr_verbs_address *address,
                    struct myr_verbs_way *way)
{
    const struct myr_cm_calls *cm = device->calls->cm;
    union endpoint other;
    struct rdma_cm_id *id;
    if (!endpoint_of(device, address->gid, &other)) {
        return EADDRNOTAVAIL;
    }
    int err = bind_own(device, &id);
    if (0 != err) {
        return err;
    }
    if (0 != cm->resolve_addr(id, NULL, &other.any, WAIT_MS) ||
        0 != cm->resolve_route(id, WAIT_MS)) {
        err = errno;
    } else if (0 == id->route.num_paths) {
        err = EHOSTUNREACH;
    } else {
        take_path(device, &id->route.path_rec[0], way);
    }
    (void)cm->destroy_id(id);
    return err;
}
