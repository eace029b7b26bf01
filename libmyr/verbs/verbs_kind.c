/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA NIC as a kind of NIC (nic_kind.h); see verbs.h.
 *
 * The name of the NIC identifies the segment of the node, because the processes that share a
 * segment form a node. Addresses and queue pairs are exchanged when a group is joined. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/node/segment.h"
#include "libmyr/verbs/verbs.h"

enum { OPTION_DEVICES, OPTION_THREAD };

static const struct myr_option options[] = {
    [OPTION_DEVICES] =
        {"verbs_devices", MYR_OPTION_TEXT, .usual.text = NULL, .level = 2,
         .help =
             "Devices (mlx5_0) or ports (mlx5_0:1) that the RDMA NIC may use, best first, "
             "separated by commas. Those in the network of the first are distributed over a node's "
             "processes. Empty or all: the fastest active ports, preferably near the process",
         .wrong = myr_verbs_devices_wrong},
    [OPTION_THREAD] = {"verbs_thread", MYR_OPTION_FLAG, .usual.flag = false, .level = 4,
                       .help = "Whether each process that executes barriers has a progress thread, "
                               "so that MPI_Ibarrier progresses while the process computes"},
    {.name = NULL},
};

static const char *const ways[] = {NULL};

/* Returns whether there are RDMA devices. This is checked first because libibverbs takes a long
 * time if there are none. */
static bool has_devices(void)
{
    DIR *dir = opendir("/sys/class/infiniband_verbs");
    bool found = false;
    if (NULL != dir) {
        for (const struct dirent *entry = readdir(dir); NULL != entry; entry = readdir(dir)) {
            found = found || 0 == strncmp(entry->d_name, "uverbs", 6);
        }
        closedir(dir);
    }
    return found;
}

static void publish_nic(struct myr_verbs *nic)
{
    struct myr_segment *segment = nic->segment;
    const struct myr_key key =
        myr_verbs_shown_key(myr_segment_index(segment), myr_segment_number(segment));
    nic->record = myr_record_join(segment, &key, 1, sizeof(*nic->shown), 0, NULL);
    nic->shown = NULL == nic->record ? &nic->hidden : (struct myr_verbs_shown *)nic->record->slots;
    *nic->shown = (struct myr_verbs_shown){
        .layout = MYR_VERBS_SHOWN, .pid = (uint32_t)getpid(), .port = nic->device.port};
    snprintf(nic->shown->device, sizeof(nic->shown->device), "%s", nic->device.name);
}

enum myr_status myr_verbs_open(struct myr_segment *segment, const struct myr_verbs_calls *calls,
                               const char *wanted, struct myr_verbs **opened,
                               struct myr_error *error)
{
    struct myr_verbs *nic = calloc(1, sizeof(*nic));
    if (NULL == nic) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    enum myr_status status =
        myr_verbs_device_open(calls, wanted, myr_segment_index(segment), &nic->device, error);
    if (MYR_OK == status) {
        status = myr_verbs_words_open(nic, error);
        if (MYR_OK != status) {
            myr_verbs_device_close(&nic->device);
        }
    }
    if (MYR_OK != status) {
        free(nic);
        return status;
    }
    nic->segment = segment;
    pthread_mutex_init(&nic->mutex, NULL);
    publish_nic(nic);
    *opened = nic;
    return MYR_OK;
}

void myr_verbs_close(struct myr_verbs *nic)
{
    myr_verbs_thread_stop(nic);
    myr_verbs_close_links(nic);
    myr_verbs_free_left_groups(nic);
    myr_verbs_words_close(nic);
    myr_verbs_device_close(&nic->device);
    pthread_mutex_destroy(&nic->mutex);
    if (NULL != nic->record) {
        myr_record_leave(nic->segment, nic->record);
    }
    free(nic);
}

static enum myr_status open_verbs(const struct myr_site *site, const char *way,
                                  const union myr_value *values, void **opened,
                                  struct myr_error *error)
{
    (void)way;
    if (!has_devices()) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "this machine has no RDMA device");
    }
    const struct myr_verbs_calls *calls = myr_verbs_load();
    if (NULL == calls) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "libibverbs.so.1 is not installed, or too old (on Debian: libibverbs1 and "
                        "ibverbs-providers)");
    }
    struct myr_verbs *nic;
    const enum myr_status status =
        myr_verbs_open(site->segment, calls, values[OPTION_DEVICES].text, &nic, error);
    if (MYR_OK != status) {
        return status;
    }
    if (!nic->device.routes) {
        site->print(1, "the RDMA NIC exchanges addresses itself, as librdmacm finds no routes from "
                       "this host (on Debian: librdmacm1; and the kernel's module rdma_ucm)");
    }
    struct myr_error why = {0};
    if (values[OPTION_THREAD].flag && MYR_OK != myr_verbs_thread_start(nic, &why)) {
        site->print(0, why.text); /* not fatal */
    }
    *opened = nic;
    return MYR_OK;
}

static void close_verbs(void *opened)
{
    myr_verbs_close(opened);
}

static void query_verbs_name(const void *opened, struct myr_nic_name *name)
{
    const struct myr_verbs *nic = opened;
    *name = (struct myr_nic_name){.key = myr_segment_identity(nic->segment), .count = 0};
}

static uint32_t poll_verbs(void *nic)
{
    myr_verbs_poll(nic);
    return 0;
}

static void read_verbs_counters(void *opened, struct mcp_counters *counters)
{
    *counters = ((const struct myr_verbs *)opened)->shown->counters;
}

static enum myr_status prepare_verbs_group(void *nic, const struct myr_site *site,
                                           const struct myr_nic_members *members,
                                           myr_schedule_fn schedule_of, const void *context,
                                           struct myr_nic_group *group, void *blob,
                                           struct myr_error *error)
{
    return myr_verbs_prepare(nic, site->waiter, members, schedule_of, context, group, blob, error);
}

static enum myr_status connect_group(void *nic, const struct myr_site *site,
                                     const struct myr_nic_members *members,
                                     myr_schedule_fn schedule_of, const void *context,
                                     const void *blobs, struct myr_nic_group *group,
                                     struct myr_error *error)
{
    (void)site;
    return myr_verbs_join(nic, members, schedule_of, context, blobs, group, error);
}

const struct myr_nic_kind myr_verbs_kind = {
    .name = "verbs",
    .title = "the RDMA NIC",
    .help = "RDMA writes by InfiniBand or RoCE cards (libibverbs)",
    .absent = "does each node have an RDMA device that is active (ibv_devinfo)?",
    .blocked = "can these hosts reach each other by RDMA at all (ibv_rc_pingpong, rping)? Other "
               "ports may be named with coll_nicbarr_verbs_devices",
    .ways = ways,
    .options = options,
    .caps =
        {
            .flags = MYR_SHARES_SEGMENT,
            .steps = UINT32_MAX,
            .sends = MYR_VERBS_PEERS / 2,
            .waits = MYR_VERBS_PEERS / 2,
            .blob = sizeof(struct myr_verbs_blob),
            .buffer = UINT32_MAX,
        },
    .open = open_verbs,
    .close = close_verbs,
    .query = query_verbs_name,
    .poll = poll_verbs,
    .tend = poll_verbs,
    .count = read_verbs_counters,
    .prepare = prepare_verbs_group,
    .connect = connect_group,
};
