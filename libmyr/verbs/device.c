/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which RDMA device, and which of its addresses; see verbs.h.
 *
 * The fastest port is taken if the person does not name others; of equally fast ones the first, as
 * nodes that are alike should take the same.
 *
 * Of a RoCE port's addresses (GIDs) the first is taken that is RoCE v2's with an IPv4 address, else
 * the first of RoCE v2. InfiniBand's is the first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/verbs/verbs.h"

/* Requests that may be completed at once: those of a few hundred queue pairs that break together.
 */
enum { COMPLETIONS = 16384 };

/* ---- what the person wants ---- */

enum { ANY = 1 };

/* How far in front the port stands among the words; ANY where all are wanted; 0: it does not. */
static uint32_t rank_of(const char *wanted, const char *name, uint32_t port)
{
    if (NULL == wanted || '\0' == *wanted || 0 == strcmp(wanted, "all")) {
        return ANY;
    }
    char with_port[IBV_SYSFS_NAME_MAX + 16];
    snprintf(with_port, sizeof(with_port), "%s:%u", name, port);
    uint32_t before = 0;
    for (const char *word = wanted; NULL != word; ++before) {
        const char *comma = strchr(word, ',');
        const size_t length = NULL == comma ? strlen(word) : (size_t)(comma - word);
        if ((strlen(name) == length && 0 == memcmp(word, name, length)) ||
            (strlen(with_port) == length && 0 == memcmp(word, with_port, length))) {
            return UINT32_MAX - before;
        }
        word = NULL == comma ? NULL : comma + 1;
    }
    return 0;
}

/* ---- addresses ---- */

static bool has_ipv4(const union ibv_gid *gid)
{
    struct in6_addr address;
    memcpy(&address, gid->raw, sizeof(address));
    return IN6_IS_ADDR_V4MAPPED(&address);
}

/* False where the port has no address that fits. */
static bool find_gid(struct myr_verbs_device *device, int count)
{
    bool found = false;
    for (int i = 0; i < count; ++i) {
        struct ibv_gid_entry entry;
        if (0 != device->calls->query_gid_ex(device->context, device->port, (uint32_t)i, &entry, 0,
                                             sizeof(entry)) ||
            (device->ethernet && IBV_GID_TYPE_ROCE_V2 != entry.gid_type)) {
            continue;
        }
        const bool best = !device->ethernet || has_ipv4(&entry.gid);
        if (!found || best) {
            device->gid = entry.gid;
            device->gid_index = (uint8_t)i;
            found = true;
        }
        if (best) {
            break;
        }
    }
    return found;
}

void myr_verbs_device_address(const struct myr_verbs_device *device,
                              struct myr_verbs_address *address)
{
    *address = (struct myr_verbs_address){
        .lid = device->lid, .mtu = device->mtu, .ethernet = device->ethernet};
    memcpy(address->gid, device->gid.raw, sizeof(address->gid));
}

/* ---- opening ---- */

/* How fast the port is; some number, the more the faster. */
static uint32_t speed_of(const struct ibv_port_attr *attributes)
{
    /* By bits: a lane's 0.1 Gbit/s from single data rate to NDR, and the lanes. */
    static const uint32_t rates[8] = {25, 50, 100, 100, 140, 250, 500, 1000};
    static const uint32_t widths[5] = {1, 4, 8, 12, 2};
    uint32_t rate = rates[0], width = widths[0];
    for (uint32_t bit = 0; bit < 8; ++bit) {
        rate = 0 != (attributes->active_speed >> bit & 1) ? rates[bit] : rate;
    }
    for (uint32_t bit = 0; bit < 5; ++bit) {
        width = 0 != (attributes->active_width >> bit & 1) ? widths[bit] : width;
    }
    return rate * width;
}

/* Take the port up, if it is active and has an address. */
static bool look_at_port(struct myr_verbs_device *device, uint8_t port)
{
    struct ibv_port_attr attributes = {0};
    device->port = port;
    if (0 != device->calls->query_port(device->context, port,
                                       (struct _compat_ibv_port_attr *)&attributes) ||
        IBV_PORT_ACTIVE != attributes.state) {
        return false;
    }
    device->ethernet = IBV_LINK_LAYER_ETHERNET == attributes.link_layer;
    device->mtu = (uint8_t)attributes.active_mtu;
    device->lid = attributes.lid;
    device->speed = speed_of(&attributes);
    return find_gid(device, attributes.gid_tbl_len);
}

/* Of one device: the best of its ports. `rank` is that of the best port so far. */
static bool look_at(struct myr_verbs_device *device, const char *wanted, uint32_t *rank)
{
    struct myr_verbs_device best = *device;
    bool found = false;
    for (uint8_t port = 1; port <= 2; ++port) { /* (no card has more) */
        const uint32_t named = rank_of(wanted, device->name, port);
        if (0 == named || !look_at_port(device, port)) {
            continue;
        }
        const uint32_t this_rank = ANY == named ? device->speed : named;
        if (this_rank > *rank) {
            best = *device;
            *rank = this_rank;
            found = true;
        }
    }
    *device = best;
    return found;
}

static enum myr_status take(struct myr_verbs_device *device, struct myr_error *error)
{
    device->pd = device->calls->alloc_pd(device->context);
    device->cq = NULL == device->pd
                     ? NULL
                     : device->calls->create_cq(device->context, COMPLETIONS, NULL, NULL, 0);
    if (NULL != device->cq) {
        return MYR_OK;
    }
    const int err = errno;
    myr_verbs_device_close(device);
    return myr_fail(error, MYR_ERR_SYSTEM, err,
                    "the RDMA device %s gives no resources (is the limit of locked memory, ulimit "
                    "-l, large enough?)",
                    device->name);
}

/* Open the best of all; the others are closed again. */
static enum myr_status open_best(struct ibv_device *const *list, int count, const char *wanted,
                                 struct myr_verbs_device *best, struct myr_error *error)
{
    const struct myr_verbs_calls *calls = best->calls;
    uint32_t rank = 0;
    int refused = 0;
    for (int d = 0; d < count; ++d) {
        struct myr_verbs_device device = {.calls = calls};
        snprintf(device.name, sizeof(device.name), "%s", calls->get_device_name(list[d]));
        if (0 == rank_of(wanted, device.name, 1) && 0 == rank_of(wanted, device.name, 2)) {
            continue;
        }
        device.context = calls->open_device(list[d]);
        if (NULL == device.context) {
            refused = errno;
            continue;
        }
        if (look_at(&device, wanted, &rank)) {
            myr_verbs_device_close(best);
            *best = device;
        } else {
            myr_verbs_device_close(&device);
        }
    }
    if (NULL != best->context) {
        return take(best, error);
    }
    if (0 != refused) {
        return myr_fail(error, MYR_ERR_SYSTEM, refused,
                        "the RDMA devices cannot be opened (may this user write to "
                        "/dev/infiniband/uverbs*?)");
    }
    return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                    "no RDMA device that coll_nicbarr_verbs_devices allows has a port that is "
                    "active and has an address (see ibv_devinfo)");
}

enum myr_status myr_verbs_device_open(const struct myr_verbs_calls *calls, const char *wanted,
                                      struct myr_verbs_device *device, struct myr_error *error)
{
    int count = 0;
    struct ibv_device **list = calls->get_device_list(&count);
    *device = (struct myr_verbs_device){.calls = calls};
    const enum myr_status status =
        NULL == list || 0 == count
            ? myr_fail(error, MYR_ERR_NOT_THERE, 0, "this machine has no RDMA device")
            : open_best(list, count, wanted, device, error);
    if (NULL != list) {
        calls->free_device_list(list);
    }
    return status;
}

void myr_verbs_device_close(struct myr_verbs_device *device)
{
    if (NULL != device->cq) {
        (void)device->calls->destroy_cq(device->cq);
    }
    if (NULL != device->pd) {
        (void)device->calls->dealloc_pd(device->pd);
    }
    if (NULL != device->context) {
        (void)device->calls->close_device(device->context);
    }
    device->cq = NULL;
    device->pd = NULL;
    device->context = NULL;
}
