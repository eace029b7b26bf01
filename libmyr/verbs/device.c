/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects an RDMA port and its address; see verbs.h.
 *
 * A process uses one port, which is the best port or one that is equivalent to it. If the user
 * names ports, the best port is the first usable one of these. Otherwise it is the fastest port
 * and, among equally fast ports, the first one, so that nodes with equal hardware choose the same.
 *
 * A port is equivalent to the best port if it is on the same network, so that it reaches the same
 * nodes, and if the user has named it as well or, without names, if it is equally fast. The
 * processes of a node are distributed over the equivalent ports round-robin. Unless the user names
 * ports, ports close to the CPUs to which the process is bound take precedence.
 *
 * A network is identified by its IP network or by its InfiniBand subnet prefix. Several separate
 * networks may use the default subnet prefix; in this case the user has to name the ports.
 *
 * A RoCE port uses its first RoCE v2 GID with an IPv4 address or, if there is none, its first RoCE
 * v2 GID. An InfiniBand port uses its first GID. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/verbs/verbs.h"

/* The maximum number of pending completions, sufficient for a few hundred queue pairs that fail
 * together. */
enum { COMPLETIONS = 16384 };

/* ---- the user's list ---- */

enum { ANY = 1 };

/* Returns the next word of a list, and its length; NULL at the end. */
static const char *next_word(const char *rest, size_t *length)
{
    const char *word = rest + strspn(rest, ", ");
    *length = strcspn(word, ", ");
    return 0 == *length ? NULL : word;
}

bool myr_verbs_devices_wrong(const char *wanted, char *why, size_t bytes)
{
    size_t length;
    if (NULL == wanted || '\0' == *wanted || NULL != next_word(wanted, &length)) {
        return false;
    }
    snprintf(why, bytes, "\"%s\" names no device, such as mlx5_0 or mlx5_0:1", wanted);
    return true;
}

/* Returns the priority of the port according to the list, which is higher for earlier words.
 * Returns ANY if all ports are wanted, and 0 if the port is not named. */
static uint32_t rank_of(const char *wanted, const char *name, uint32_t port)
{
    if (NULL == wanted || '\0' == *wanted || 0 == strcmp(wanted, "all")) {
        return ANY;
    }
    char with_port[IBV_SYSFS_NAME_MAX + 16];
    snprintf(with_port, sizeof(with_port), "%s:%u", name, port);
    uint32_t before = 0;
    size_t length;
    for (const char *word = next_word(wanted, &length); NULL != word;
         word = next_word(word + length, &length), ++before) {
        if ((strlen(name) == length && 0 == memcmp(word, name, length)) ||
            (strlen(with_port) == length && 0 == memcmp(word, with_port, length))) {
            return UINT32_MAX - before;
        }
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

/* Selects the address of the port, among those whose index fits into an address handle. Returns
 * false if there is no suitable address. */
static bool find_gid(struct myr_verbs_device *device, int count)
{
    bool found = false;
    for (int i = 0; i < count && i <= UINT8_MAX; ++i) {
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
    *address = (struct myr_verbs_address){.lid = device->lid,
                                          .mtu = device->mtu,
                                          .bits = (device->ethernet ? MYR_VERBS_ETHERNET : 0) |
                                                  (device->routes ? MYR_VERBS_ROUTES : 0)};
    memcpy(address->gid, device->gid.raw, sizeof(address->gid));
}

/* ---- opening ---- */

/* Returns a measure of the port's speed. */
static uint32_t speed_of(const struct ibv_port_attr *attributes)
{
    /* By bit: the speed of a lane in units of 0.1 Gbit/s, SDR to NDR, and the number of lanes. */
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

/* Queries the port. Returns true if it is active and has an address. */
static bool read_port(struct myr_verbs_device *device, uint8_t port)
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
    if (0 != device->calls->query_pkey(device->context, port, 0, &device->pkey)) {
        device->pkey = UINT16_MAX; /* the default; only librdmacm uses it */
    }
    return find_gid(device, attributes.gid_tbl_len);
}

/* ---- selection ---- */

struct offer {
    struct myr_verbs_device device; /* its context is closed */
    struct ibv_device *from;
    uint32_t rank; /* higher is better */
    uint64_t network;
    bool near;
};

enum { OFFERS = 64 };
struct offers {
    uint32_t count;
    struct offer offer[OFFERS];
};

/* Returns a number for the IPv4 network of an address of this machine, or 0 if unknown. */
static uint64_t ip_network(const struct myr_verbs_calls *calls, const union ibv_gid *gid)
{
    struct ifaddrs *all = NULL;
    uint32_t ip;
    uint64_t network = 0;
    memcpy(&ip, gid->raw + 12, sizeof(ip));
    if (!has_ipv4(gid) || calls->getifaddrs(&all) < 0) {
        return 0;
    }
    for (const struct ifaddrs *one = all; NULL != one; one = one->ifa_next) {
        const struct sockaddr_in *address = (const struct sockaddr_in *)one->ifa_addr;
        const struct sockaddr_in *mask = (const struct sockaddr_in *)one->ifa_netmask;
        if (NULL != address && NULL != mask && AF_INET == address->sin_family &&
            ip == address->sin_addr.s_addr) {
            network = (uint64_t)(ip & mask->sin_addr.s_addr) << 32 | mask->sin_addr.s_addr;
        }
    }
    calls->freeifaddrs(all);
    return network;
}

static uint64_t network_of(const struct myr_verbs_device *device, bool named)
{
    static const uint8_t usual[8] = {0xfe, 0x80};
    uint64_t prefix;
    if (device->ethernet) {
        return ip_network(device->calls, &device->gid);
    }
    memcpy(&prefix, device->gid.raw, sizeof(prefix));
    return named || 0 != memcmp(&prefix, usual, sizeof(usual)) ? prefix : 0;
}

/* Adds the device's usable ports. */
static void query_device(struct myr_verbs_device *device, struct ibv_device *from,
                         const char *wanted, struct offers *offers)
{
    for (uint8_t port = 1; port <= 2; ++port) { /* no device has more */
        const uint32_t named = rank_of(wanted, device->name, port);
        if (0 == named || offers->count == OFFERS || !read_port(device, port)) {
            continue;
        }
        struct offer *offer = &offers->offer[offers->count++];
        *offer = (struct offer){.device = *device,
                                .from = from,
                                .rank = ANY == named ? device->speed : named,
                                .network = network_of(device, ANY != named),
                                .near = ANY == named && myr_verbs_is_near(from->ibdev_path)};
        offer->device.context = NULL;
    }
}

/* Returns whether the port is equivalent to the best one. */
static bool is_equivalent(const struct offer *offer, const struct offer *best, bool named)
{
    return offer == best || (0 != best->network && offer->network == best->network &&
                             offer->device.ethernet == best->device.ethernet &&
                             (named || offer->rank == best->rank));
}

/* Lists the ports equivalent to the best one, in order. */
static uint32_t list_equivalent(const struct offers *offers, bool named, const struct offer **good)
{
    const struct offer *best = offers->offer;
    uint32_t count = 0;
    for (uint32_t o = 1; o < offers->count; ++o) {
        best = offers->offer[o].rank > best->rank ? &offers->offer[o] : best;
    }
    for (uint32_t o = 0; o < offers->count; ++o) {
        const struct offer *offer = &offers->offer[o];
        uint32_t index = count;
        if (!is_equivalent(offer, best, named)) {
            continue;
        }
        for (; index > 0 && good[index - 1]->rank < offer->rank; --index) {
            good[index] = good[index - 1];
        }
        good[index] = offer;
        ++count;
    }
    return count;
}

/* Returns the port for that process, or NULL if there is none. */
static const struct offer *choose_offer(const struct offers *offers, bool named, uint32_t process)
{
    const struct offer *good[OFFERS], *near[OFFERS];
    const uint32_t count = list_equivalent(offers, named, good);
    uint32_t nears = 0;
    for (uint32_t o = 0; o < count; ++o) {
        if (good[o]->near) {
            near[nears++] = good[o];
        }
    }
    return 0 != nears ? near[process % nears] : 0 != count ? good[process % count] : NULL;
}

static enum myr_status allocate_resources(struct myr_verbs_device *device, struct myr_error *error)
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
                    "cannot allocate resources of the RDMA device %s (is the limit of locked "
                    "memory, ulimit -l, large enough?)",
                    device->name);
}

/* Collects the usable ports of all wanted devices. Returns 0, or the error number of a device that
 * could not be opened. */
static int query_devices(const struct myr_verbs_calls *calls, struct ibv_device *const *list,
                         int count, const char *wanted, struct offers *offers)
{
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
        } else {
            query_device(&device, list[d], wanted, offers);
            myr_verbs_device_close(&device);
        }
    }
    return refused;
}

static enum myr_status open_best_port(struct ibv_device *const *list, int count, const char *wanted,
                                      uint32_t process, struct myr_verbs_device *device,
                                      struct myr_error *error)
{
    const struct myr_verbs_calls *calls = device->calls;
    struct offers offers = {.count = 0};
    int refused = query_devices(calls, list, count, wanted, &offers);
    const struct offer *offer = choose_offer(&offers, ANY != rank_of(wanted, "", 1), process);
    if (NULL != offer) {
        *device = offer->device;
        device->context = calls->open_device(offer->from);
        if (NULL != device->context) {
            device->routes = myr_verbs_can_route(device);
            return allocate_resources(device, error);
        }
        refused = errno;
    }
    if (0 != refused) {
        return myr_fail(error, MYR_ERR_SYSTEM, refused,
                        "the RDMA devices cannot be opened (may this user write to "
                        "/dev/infiniband/uverbs*?)");
    }
    return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                    "no RDMA device that coll_nicbarr_verbs_devices allows has an active port with "
                    "an address (see ibv_devinfo)");
}

enum myr_status myr_verbs_device_open(const struct myr_verbs_calls *calls, const char *wanted,
                                      uint32_t process, struct myr_verbs_device *device,
                                      struct myr_error *error)
{
    int count = 0;
    /* After a fork the child must not share the memory of the queues, which older kernels prevent
     * only after this call. It fails if other code in the process has already registered memory;
     * this is not considered an error. */
    (void)calls->fork_init();
    struct ibv_device **list = calls->get_device_list(&count);
    *device = (struct myr_verbs_device){.calls = calls};
    const enum myr_status status =
        NULL == list || 0 == count
            ? myr_fail(error, MYR_ERR_NOT_THERE, 0, "this machine has no RDMA device")
            : open_best_port(list, count, wanted, process, device, error);
    if (NULL != list) {
        calls->free_device_list(list);
    }
    return status;
}

struct ibv_mr *myr_verbs_register(const struct myr_verbs_device *device, void *memory, size_t bytes,
                                  struct myr_error *error)
{
    struct ibv_mr *registered = device->calls->reg_mr(
        device->pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (NULL == registered) {
        (void)myr_fail(error, MYR_ERR_SYSTEM, errno,
                       "the RDMA device %s cannot register memory (is the limit of locked memory, "
                       "ulimit -l, large enough?)",
                       device->name);
    }
    return registered;
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
