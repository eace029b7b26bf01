/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of kernel_server.c where this build has no kernel NIC; see kernel_server.h. */
#include "myrd/kernel_server.h"

enum myr_status myrd_kernel_server_open(const struct myrd_options *options,
                                        struct myrd_kernel_server **server, struct myr_error *error)
{
    (void)options;
    (void)server;
    return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                    "nicbarr was built without the kernel's NIC (install clang, bpftool, "
                    "libbpf-dev, and build it again)");
}

enum myr_status myrd_kernel_server_confine(struct myr_error *error)
{
    (void)error;
    return MYR_OK;
}

enum myr_status myrd_kernel_server_run(struct myrd_kernel_server *server, int end,
                                       struct myr_error *error)
{
    (void)server;
    (void)end;
    (void)error;
    return MYR_OK;
}

void myrd_kernel_server_close(struct myrd_kernel_server *server)
{
    (void)server;
}
