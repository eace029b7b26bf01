/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the RDMA NIC in a build without libibverbs' headers. */
#include <stddef.h>

#include "libmyr/nic_kind.h"

static const char *const ways[] = {NULL};
static const struct myr_option options[] = {{.name = NULL}};

static enum myr_status open_none(const struct myr_site *site, const char *way,
                                 const union myr_value *values, void **nic, struct myr_error *error)
{
    (void)site;
    (void)way;
    (void)values;
    (void)nic;
    return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                    "nicbarr was built without libibverbs (on Debian: libibverbs-dev)");
}

const struct myr_nic_kind myr_verbs_kind = {
    .name = "verbs",
    .title = "the RDMA NIC",
    .help = "RDMA writes by InfiniBand or RoCE cards (not in this build)",
    .ways = ways,
    .options = options,
    .open = open_none,
};
