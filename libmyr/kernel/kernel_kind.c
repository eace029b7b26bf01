/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel NIC as a kind of NIC (nic_kind.h). It is owned by myrd --kernel; see kernel_nic.h. */
#include <stddef.h>
#include <stdlib.h>

#include "firmware/engine.h"
#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/nic_kind.h"

static const char *const ways[] = {NULL};
static const struct myr_option options[] = {{.name = NULL}};

static enum myr_status open_kernel(const struct myr_site *site, const char *way,
                                   const union myr_value *values, void **nic,
                                   struct myr_error *error)
{
    struct myr_kernel_nic *opened = NULL;
    (void)way;
    (void)values;
    const enum myr_status status = myr_kernel_nic_open(site->hurry, &opened, error);
    *nic = opened;
    return status;
}

static void close_kernel(void *nic)
{
    myr_kernel_nic_close(nic);
}

static void query_kernel_name(const void *nic, struct myr_nic_name *name)
{
    myr_kernel_nic_get_name(nic, name);
}

/* Reads the counters that this user may see. Leaves them unchanged if the daemon does not reply. */
static void read_kernel_counters(void *nic, struct mcp_counters *counters)
{
    struct myr_kernel_report *report = malloc(sizeof(*report)); /* too large for a thread's stack */
    if (NULL != report && MYR_OK == myr_kernel_nic_report(nic, report, NULL)) {
        *counters = report->counters;
    }
    free(report);
}

static enum myr_status connect_group(void *nic, const struct myr_site *site,
                                     const struct myr_nic_members *members,
                                     myr_schedule_fn schedule_of, const void *context,
                                     const void *blobs, struct myr_nic_group *group,
                                     struct myr_error *error)
{
    (void)blobs;
    return myr_kernel_group_join(group, nic, site->segment, site->waiter, members, schedule_of,
                                 context, error);
}

const struct myr_nic_kind myr_kernel_kind = {
    .name = "kernel",
    .title = "the kernel NIC",
    .help = "BPF programs in the receive path of the nodes' kernels, if myrd --kernel runs on all "
            "nodes",
    .absent = "is myrd --kernel running on all nodes?",
    .blocked = "let UDP port 7077 (or that of myrd --kernel --port) pass between these hosts in "
               "both directions; they must be in one network, without a router between them",
    .ways = ways,
    .options = options,
    .caps =
        {
            .flags = MYR_PROGRESSES_ALONE | MYR_SHARES_SEGMENT | MYR_DEAR_GROUPS,
            .steps = MCP_KERNEL_STEPS,
            .sends = MCP_KERNEL_MESSAGES,
            .waits = MCP_KERNEL_MESSAGES,
            .buffer = MCP_KERNEL_BUFFER,
        },
    .open = open_kernel,
    .close = close_kernel,
    .query = query_kernel_name,
    .count = read_kernel_counters,
    .connect = connect_group,
};
