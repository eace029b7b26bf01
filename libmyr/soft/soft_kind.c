/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft NIC as a kind of NIC (nic_kind.h): either the NIC of the user's daemon, or a NIC of the
 * job itself.
 *
 * Groups are in the segment of the NIC, which belongs to the daemon or to the job. If the daemon
 * starts or ends while a job starts, some processes of a node may find the daemon, and others may
 * not. The node then has two NICs, and is treated as two nodes. */
#include <stdlib.h>
#include <string.h>

#include "firmware/soft/addresses.h"
#include "libmyr/nic_kind.h"
#include "libmyr/soft/nic_daemon.h"
#include "libmyr/soft/nic_thread.h"
#include "libmyr/soft/soft_group.h"

enum { OPTION_NETWORK, OPTION_PORT, OPTION_THREAD };

static const struct myr_option options[] = {
    [OPTION_NETWORK] = {"network", MYR_OPTION_TEXT, .usual.text = NULL, .level = 2,
                        .help = "Interfaces (eth1) or networks (10.0.0.0/8, fd00::/64) that the "
                                "soft NIC may use, best first, separated by commas. Empty: all "
                                "that are up, except loopback and point-to-point ones. It uses "
                                "IPv6 where there is no IPv4, or where an IPv6 network is named",
                        .wrong = mcp_networks_wrong},
    [OPTION_PORT] = {"port", MYR_OPTION_NUMBER, .usual.number = 0, .least = 0, .most = 65535,
                     .level = 4,
                     .help = "UDP port of the soft NIC on each node; 0: any that is free"},
    [OPTION_THREAD] = {"thread", MYR_OPTION_FLAG, .usual.flag = false, .level = 4,
                       .help = "Whether a thread of one process on each node runs the soft NIC, so "
                               "that MPI_Ibarrier progresses while all processes compute"},
    {.name = NULL},
};

static const char own_way[] = "soft", daemon_way[] = "daemon";
static const char *const ways[] = {daemon_way, NULL};

struct soft {
    struct myr_soft_nic *nic;
    struct myr_soft_daemon daemon;  /* its `nic` is NULL if the NIC belongs to the job */
    struct myr_soft_thread *thread; /* NULL if another process runs the NIC, or none does */
    struct myr_soft_watch *watch;   /* NULL if there is none */
};

static bool allows_way(const char *way, const char *wanted)
{
    return NULL == way || 0 == strcmp(way, wanted);
}

static enum myr_status open_nic(const struct myr_site *site, const char *way,
                                const union myr_value *values, struct soft *soft,
                                struct myr_error *error)
{
    const struct myr_soft_options how = {
        .network = values[OPTION_NETWORK].text,
        .port = (uint16_t)values[OPTION_PORT].number,
    };
    enum myr_status status = MYR_ERR_NOT_THERE;
    if (allows_way(way, daemon_way)) {
        status = myr_soft_daemon_open(NULL, site->hurry, &soft->daemon, error);
        soft->nic = soft->daemon.nic;
    }
    if (MYR_OK != status && MYR_ERR_NOT_YET != status && allows_way(way, own_way)) {
        if (MYR_ERR_NOT_THERE != status) { /* the daemon exists but cannot be used */
            site->print(1, error->text);
        }
        status = myr_soft_open(site->segment, &how, &soft->nic, error);
    }
    return status;
}

/* Without threads, waiting processes run the NIC, so it is not fatal if this fails. */
static void start_threads(const struct myr_site *site, bool wanted, struct soft *soft)
{
    struct myr_error error = {0};
    if (wanted &&
        MYR_OK != myr_soft_thread_start(soft->nic, MYR_SOFT_THREAD, &soft->thread, &error)) {
        site->print(0, error.text);
    }
    if (MYR_OK != myr_soft_watch_start(soft->nic, MYR_SOFT_WATCH_NS, &soft->watch, &error)) {
        site->print(1, error.text);
    }
}

static enum myr_status open_soft(const struct myr_site *site, const char *way,
                                 const union myr_value *values, void **nic, struct myr_error *error)
{
    struct soft *soft = calloc(1, sizeof(*soft));
    if (NULL == soft) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const enum myr_status status = open_nic(site, way, values, soft, error);
    if (MYR_OK != status) {
        free(soft);
        return status;
    }
    myr_soft_set_bounds(soft->nic, &site->bounds);
    start_threads(site, values[OPTION_THREAD].flag, soft);
    *nic = soft;
    return MYR_OK;
}

static void close_soft(void *nic)
{
    struct soft *soft = nic;
    myr_soft_watch_stop(soft->watch);
    myr_soft_thread_stop(soft->thread);
    if (NULL != soft->daemon.nic) {
        myr_soft_daemon_close(&soft->daemon);
    } else {
        myr_soft_close(soft->nic);
    }
    free(soft);
}

static void query_soft_name(const void *nic, struct myr_nic_name *name)
{
    myr_soft_get_name(((const struct soft *)nic)->nic, name);
}

static uint32_t poll_soft(void *nic)
{
    return myr_soft_poll(((struct soft *)nic)->nic);
}

static uint32_t tend_soft(void *nic)
{
    return myr_soft_poll_now_and_then(((struct soft *)nic)->nic);
}

static void read_soft_counters(void *nic, struct mcp_counters *counters)
{
    myr_soft_count(((struct soft *)nic)->nic, counters);
}

static enum myr_status connect_group(void *nic, const struct myr_site *site,
                                     const struct myr_nic_members *members,
                                     myr_schedule_fn schedule_of, const void *context,
                                     const void *blobs, struct myr_nic_group *group,
                                     struct myr_error *error)
{
    (void)blobs;
    return myr_soft_group_join(group, ((struct soft *)nic)->nic, site->waiter, members, schedule_of,
                               context, error);
}

const struct myr_nic_kind myr_soft_kind = {
    .name = own_way,
    .title = "the soft NIC",
    .help = "UDP packets, sent and received by the job's processes, or by the user's daemon myrd "
            "for all jobs of the user (the name daemon selects only the latter)",
    .blocked =
        "let UDP pass between these hosts in both directions (coll_nicbarr_port N, or myrd --port "
        "N, limits it to one port); or name another network with coll_nicbarr_network",
    .ways = ways,
    .options = options,
    .caps = {.steps = UINT32_MAX, .sends = UINT32_MAX, .waits = UINT32_MAX, .buffer = UINT32_MAX},
    .open = open_soft,
    .close = close_soft,
    .query = query_soft_name,
    .poll = poll_soft,
    .tend = tend_soft,
    .count = read_soft_counters,
    .connect = connect_group,
};
