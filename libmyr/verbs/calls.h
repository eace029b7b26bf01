/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of libibverbs that nicbarr calls, as a table.
 *
 * The library is loaded on demand, so that an MPI program can start on a node without RDMA, and
 * tests can replace the table with a mock. (Posting and polling, which happen for each message, are
 * inline functions of libibverbs that call through the table of the device.) */
#ifndef MYR_VERBS_CALLS_H
#define MYR_VERBS_CALLS_H

#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

/* Each entry of the table consists of its name and of a symbol in libibverbs. Some of these symbols
 * are macros, too. getifaddrs() is a function of libc, on which libibverbs depends; it is in the
 * table so that tests can replace it. */
/* clang-format off */
#define MYR_VERBS_CALLS(entry)                                                                     \
    entry(fork_init, ibv_fork_init)                                                                \
    entry(get_device_list, ibv_get_device_list)                                                    \
    entry(free_device_list, ibv_free_device_list)                                                  \
    entry(get_device_name, ibv_get_device_name)                                                    \
    entry(open_device, ibv_open_device)                                                            \
    entry(close_device, ibv_close_device)                                                          \
    entry(query_port, ibv_query_port)                                                              \
    entry(query_gid_ex, _ibv_query_gid_ex)                                                         \
    entry(query_pkey, ibv_query_pkey)                                                              \
    entry(alloc_pd, ibv_alloc_pd)                                                                  \
    entry(dealloc_pd, ibv_dealloc_pd)                                                              \
    entry(reg_mr, ibv_reg_mr)                                                                      \
    entry(dereg_mr, ibv_dereg_mr)                                                                  \
    entry(create_cq, ibv_create_cq)                                                                \
    entry(destroy_cq, ibv_destroy_cq)                                                              \
    entry(create_qp, ibv_create_qp)                                                                \
    entry(modify_qp, ibv_modify_qp)                                                                \
    entry(destroy_qp, ibv_destroy_qp)                                                              \
    entry(getifaddrs, getifaddrs)                                                                  \
    entry(freeifaddrs, freeifaddrs)
/* clang-format on */

struct myr_cm_calls;

struct myr_verbs_calls {
#define MYR_VERBS_CALL(name, symbol) __typeof__(&symbol) name;
    MYR_VERBS_CALLS(MYR_VERBS_CALL)
#undef MYR_VERBS_CALL
    const struct myr_cm_calls *cm; /* librdmacm's (cm.h); NULL if not available */
};

/* Returns the table of the libraries on this machine, or NULL if there is no libibverbs. The
 * libraries stay loaded. */
const struct myr_verbs_calls *myr_verbs_load(void);

/* Load the library `soname`, and look up functions in it. */
void *myr_verbs_library(const char *soname);
bool myr_verbs_find(void *library, const char *name, void *call);

#endif
