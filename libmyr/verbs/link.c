/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs to other processes; see verbs.h.
 *
 * Epochs and other single words are sent as inline data, and so are data messages if the device
 * supports this. Each request generates a completion once the peer has acknowledged it. A process
 * waits for completions only if a queue is full, which is rare, or before it disconnects, because
 * destroying a queue pair would cancel the retransmission of the last words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/verbs/verbs.h"
#include "os/clock.h"

enum {
    DEPTH = 128, /* outstanding requests of a queue pair */
    /* Number of requests posted to all queue pairs together after which the completion queue is
     * polled, so that it does not overflow. */
    COLLECT_EVERY = 64,
    REPORTS = 32, /* maximum number polled in one call */
    INLINE = 96,  /* bytes sent inline: a data message with 64 bytes of data */
    /* The acknowledgement timeout is 4 us * 2^18, about 1 s, and a request fails after seven
     * retransmissions. This tolerates a switch that reboots within seconds. */
    TIMEOUT = 18,
    RETRIES = 7,
    HOPS = 64 /* hop limit */
};

/* Returns the ID of a completion, which consists of the index of the link, the number of its
 * requests so far, and a bit that marks probes. */
static uint64_t report_id(uint32_t link, uint32_t posted, bool question)
{
    return (uint64_t)question << 63 | (uint64_t)link << 32 | posted;
}

/* ---- creating links ---- */

/* Creates a queue pair with `*inline_most` bytes of inline data; `*inline_most` becomes the actual
 * limit of the device. */
static struct ibv_qp *create_pair(const struct myr_verbs_device *device, uint32_t *inline_most)
{
    struct ibv_qp_init_attr how = {
        .send_cq = device->cq,
        .recv_cq = device->cq,
        .cap = {.max_send_wr = DEPTH,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = *inline_most},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *qp = device->calls->create_qp(device->pd, &how);
    *inline_most = how.cap.max_inline_data;
    if (NULL != qp && *inline_most < sizeof(uint32_t)) {
        (void)device->calls->destroy_qp(qp);
        errno = EOPNOTSUPP; /* without inline data, a word would have to be kept until it is sent */
        qp = NULL;
    }
    return qp;
}

static struct ibv_qp *make_pair(const struct myr_verbs_device *device, uint32_t *inline_most)
{
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT,
        .pkey_index = 0,
        .port_num = device->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
    };
    *inline_most = INLINE;
    struct ibv_qp *qp = create_pair(device, inline_most);
    if (NULL == qp && EINVAL == errno) { /* some devices have space only for a word */
        *inline_most = sizeof(uint32_t);
        qp = create_pair(device, inline_most);
    }
    if (NULL == qp) {
        return NULL;
    }
    const int err = device->calls->modify_qp(
        qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (0 != err) {
        (void)device->calls->destroy_qp(qp);
        errno = err;
        return NULL;
    }
    return qp;
}

static void mark_link_broken(struct myr_verbs *nic, struct myr_verbs_link *link)
{
    nic->shown->broken += !link->broken;
    link->broken = true;
}

static struct myr_verbs_link *find_link(const struct myr_verbs *nic, uint64_t node,
                                        uint32_t process)
{
    for (uint32_t l = 0; l < nic->links; ++l) {
        if (nic->link[l]->node == node && nic->link[l]->process == process) {
            return nic->link[l];
        }
    }
    return NULL;
}

static struct myr_verbs_link *add_link(struct myr_verbs *nic, uint64_t node, uint32_t process)
{
    struct myr_verbs_link **links =
        realloc(nic->link, (nic->links + 1) * sizeof(struct myr_verbs_link *));
    if (NULL == links) {
        return NULL;
    }
    nic->link = links;
    struct myr_verbs_link *link = calloc(1, sizeof(*link));
    if (NULL == link) {
        return NULL;
    }
    *link = (struct myr_verbs_link){.node = node, .process = process, .index = nic->links};
    nic->link[nic->links++] = link;
    return link;
}

struct myr_verbs_link *myr_verbs_link(struct myr_verbs *nic, uint64_t node, uint32_t process,
                                      struct myr_error *error)
{
    struct myr_verbs_link *link = find_link(nic, node, process);
    link = NULL == link ? add_link(nic, node, process) : link;
    if (NULL == link) {
        (void)myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        return NULL;
    }
    if (NULL == link->qp) {
        link->qp = make_pair(&nic->device, &link->inline_most);
        nic->shown->links += NULL != link->qp;
    }
    if (NULL == link->qp || link->broken) {
        (void)myr_fail(error, MYR_ERR_SYSTEM, NULL == link->qp ? errno : 0,
                       link->broken ? "an RDMA connection of %s to another process has failed"
                                    : "cannot create a queue pair of the RDMA device %s (is the "
                                      "limit of locked memory, ulimit -l, large enough?)",
                       nic->device.name);
        return NULL;
    }
    return link;
}

/* ---- connecting ---- */

/* Returns the path from the exchanged addresses. Within an InfiniBand subnet the LID suffices. */
static struct ibv_ah_attr exchanged_path(const struct myr_verbs_device *device,
                                         const struct myr_verbs_address *address)
{
    struct ibv_ah_attr to = {.dlid = address->lid, .port_num = device->port};
    to.is_global = device->ethernet || 0 != memcmp(device->gid.raw, address->gid, 8);
    if (to.is_global) {
        memcpy(to.grh.dgid.raw, address->gid, sizeof(address->gid));
        to.grh.sgid_index = device->gid_index;
        to.grh.hop_limit = HOPS;
    }
    return to;
}

/* Finds the path to the peer. Both sides must use the same MTU, so either both use librdmacm or
 * neither does. Returns 0 or an error number. */
static int find_path(struct myr_verbs *nic, const struct myr_verbs_address *address,
                     struct myr_verbs_way *way)
{
    const struct myr_verbs_device *device = &nic->device;
    way->mtu = device->mtu < address->mtu ? device->mtu : address->mtu;
    if (device->routes && 0 != (address->bits & MYR_VERBS_ROUTES)) {
        ++nic->shown->routed;
        return myr_verbs_route(device, address, way);
    }
    way->to = exchanged_path(device, address);
    return 0;
}

/* Makes the queue pair ready. In each direction, both sides use the queue pair number of the sender
 * as the initial packet sequence number. */
static int make_pair_ready(const struct myr_verbs_device *device, struct ibv_qp *qp,
                           const struct myr_verbs_way *way, uint32_t remote)
{
    struct ibv_qp_attr receive = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)way->mtu,
        .dest_qp_num = remote,
        .rq_psn = remote,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 12,
        .ah_attr = way->to,
    };
    struct ibv_qp_attr send = {
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .sq_psn = qp->qp_num,
        .max_rd_atomic = 1,
    };
    const int err = device->calls->modify_qp(qp, &receive,
                                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                                 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    return 0 != err ? err
                    : device->calls->modify_qp(qp, &send,
                                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                                   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                                   IBV_QP_MAX_QP_RD_ATOMIC);
}

enum myr_status myr_verbs_connect(struct myr_verbs *nic, struct myr_verbs_link *link,
                                  const struct myr_verbs_address *address, uint32_t remote,
                                  struct myr_error *error)
{
    if (link->remote == remote && !link->broken) {
        return MYR_OK;
    }
    const bool ethernet = 0 != (address->bits & MYR_VERBS_ETHERNET);
    if (0 != link->remote || 0 == remote || nic->device.ethernet != ethernet) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "an RDMA connection to another process has failed, or its device is of "
                        "another kind (InfiniBand, Ethernet)");
    }
    struct myr_verbs_way way;
    int err = find_path(nic, address, &way);
    err = 0 != err ? err : make_pair_ready(&nic->device, link->qp, &way, remote);
    if (0 != err) {
        mark_link_broken(nic, link);
        return myr_fail(error, MYR_ERR_NOT_THERE, err,
                        "the RDMA device %s has no route to another node's device (are both in one "
                        "network? see coll_nicbarr_verbs_devices)",
                        nic->device.name);
    }
    link->remote = remote;
    return MYR_OK;
}

/* ---- writing ---- */

static void process_completion(struct myr_verbs *nic, const struct ibv_wc *report)
{
    struct myr_verbs_link *link = nic->link[report->wr_id << 1 >> 33];
    if (IBV_WC_SUCCESS != report->status) {
        mark_link_broken(nic, link);
    } else if (0 != report->wr_id >> 63) {
        link->asked = false;
        link->heard_ms = (uint32_t)os_now_ms() | 1; /* 0 means never */
    }
    link->completed = (uint32_t)report->wr_id;
}

void myr_verbs_collect(struct myr_verbs *nic)
{
    struct ibv_wc report[REPORTS];
    int count;
    do {
        count = ibv_poll_cq(nic->device.cq, REPORTS, report);
        for (int r = 0; r < count; ++r) {
            process_completion(nic, &report[r]);
        }
    } while (REPORTS == count);
}

/* Waits until the queue has space for another request. Usually it has, because a peer is at most
 * one epoch behind. */
static bool await_queue_space(struct myr_verbs *nic, struct myr_verbs_link *link)
{
    while (!link->broken && link->posted - link->completed >= DEPTH) {
        myr_verbs_collect(nic);
    }
    return !link->broken;
}

static void post_request(struct myr_verbs *nic, struct myr_verbs_link *link,
                         struct ibv_send_wr *request, bool question)
{
    struct ibv_send_wr *bad;
    if (!await_queue_space(nic, link)) {
        return;
    }
    ++link->posted;
    request->wr_id = report_id(link->index, link->posted, question);
    request->send_flags |= IBV_SEND_SIGNALED;
    if (0 != ibv_post_send(link->qp, request, &bad)) {
        mark_link_broken(nic, link);
    }
    if (0 == ++nic->shown->counters.packets_sent % COLLECT_EVERY) {
        myr_verbs_collect(nic);
    }
}

void myr_verbs_write(struct myr_verbs *nic, struct myr_verbs_link *link, uint64_t address,
                     uint32_t key, const void *from, uint32_t bytes, uint32_t local_key)
{
    struct ibv_sge what = {.addr = (uintptr_t)from, .length = bytes, .lkey = local_key};
    struct ibv_send_wr request = {
        .sg_list = &what,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = bytes <= link->inline_most ? IBV_SEND_INLINE : 0,
        .wr.rdma = {.remote_addr = address, .rkey = key},
    };
    post_request(nic, link, &request, false);
}

/* Probes the peer by an empty write, which accesses no memory but is acknowledged. */
void myr_verbs_probe(struct myr_verbs *nic, struct myr_verbs_link *link)
{
    struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE};
    if (!link->asked) {
        link->asked = true;
        post_request(nic, link, &request, true);
    }
}

void myr_verbs_close_links(struct myr_verbs *nic)
{
    for (uint32_t l = 0; l < nic->links; ++l) {
        while (!nic->link[l]->broken && nic->link[l]->posted != nic->link[l]->completed) {
            myr_verbs_collect(nic);
        }
    }
    for (uint32_t l = 0; l < nic->links; ++l) {
        if (NULL != nic->link[l]->qp) {
            (void)nic->device.calls->destroy_qp(nic->link[l]->qp);
        }
        free(nic->link[l]);
    }
    free(nic->link);
    nic->link = NULL;
    nic->links = 0;
    nic->shown->links = nic->shown->broken = 0;
}
