/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces kernel_server.c in a build without the kernel NIC; see owner.h. */
#include "myrd/owner.h"

static enum myr_status refuse_check(const struct myrd_options *options, struct myr_error *error)
{
    (void)options;
    return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                    "nicbarr was built without the kernel NIC (install clang, bpftool, "
                    "libbpf-dev, and build it again)");
}

static enum myr_status refuse_serving(const struct myrd_options *options, void **serving,
                                      struct myr_error *error)
{
    (void)serving;
    return refuse_check(options, error);
}

const struct myrd_owner myrd_kernel_owner = {
    .name = "kernel",
    .letter = 'k',
    .help = "Use the kernel as the NIC, for all users of this host (not in this build)",
    .check = refuse_check,
    .open = refuse_serving,
};
