/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of librdmacm that nicbarr calls, as a table; see calls.h. The table is separate
 * because librdmacm is another library with its own headers, and a machine may have only
 * libibverbs. */
#ifndef MYR_VERBS_CM_H
#define MYR_VERBS_CM_H

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

/* Pairs of the name here and the symbol of librdmacm. */
#define MYR_CM_CALLS(entry)                                                                        \
    entry(create_id, rdma_create_id) entry(destroy_id, rdma_destroy_id)                            \
        entry(bind_addr, rdma_bind_addr) entry(resolve_addr, rdma_resolve_addr)                    \
            entry(resolve_route, rdma_resolve_route)

struct myr_cm_calls {
#define MYR_CM_CALL(name, symbol) __typeof__(&symbol) name;
    MYR_CM_CALLS(MYR_CM_CALL)
#undef MYR_CM_CALL
};

#endif
