/* SPDX-License-Identifier: BSD-3-Clause */
/* Hides the differences between Open MPI releases. Outside of ompi/, no code depends on the
 * release.
 *
 * This file must be included before any internal header of Open MPI. Each component is built for
 * one release series (4.1, 5.0 or 6.0). When it is opened, it checks whether the running Open MPI
 * belongs to this series, because Open MPI itself does not check this. */
#ifndef NICBARR_RELEASE_H
#define NICBARR_RELEASE_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "ompi/mca/rte/rte.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"
#define NICBARR_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define NICBARR_BTL_VERSION MCA_BTL_BASE_VERSION_3_1_0
#define NICBARR_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#elif (OMPI_MAJOR_VERSION == 5 || OMPI_MAJOR_VERSION == 6) && OMPI_MINOR_VERSION == 0
#include "ompi/runtime/ompi_rte.h"
#include "ompi/runtime/params.h"
#include "opal/mca/accelerator/base/base.h"
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"
#define NICBARR_BTL_VERSION MCA_BTL_BASE_VERSION_3_3_0
#define NICBARR_MODEX_GLOBAL PMIX_GLOBAL
#if OMPI_MAJOR_VERSION == 5
#define NICBARR_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#define NICBARR_COLL_VERSION MCA_COLL_BASE_VERSION_3_0_0
#endif
#else
#error "nicbarr is written for Open MPI 4.1, 5.0 and 6.0"
#endif

/* The type of element counts in coll's functions, and of arrays of counts and displacements. */
#if OMPI_MAJOR_VERSION < 6
typedef int nicbarr_count_t;
typedef const int *nicbarr_counts_t, *nicbarr_displs_t;
#define NICBARR_COUNTS(ints) (ints)
#define NICBARR_DISPLS(ints) (ints)
#else
typedef size_t nicbarr_count_t;
typedef ompi_count_array_t nicbarr_counts_t;
typedef ompi_disp_array_t nicbarr_displs_t;
#define NICBARR_COUNTS(ints) ompi_count_array_create(ints)
#define NICBARR_DISPLS(ints) ompi_disp_array_create(ints)
#endif

/* The release series that a component is built for, "4.1", "5.0" or "6.0", and the exact release of
 * its headers. */
#define NICBARR_TEXT_(x) #x
#define NICBARR_TEXT(x) NICBARR_TEXT_(x)
#define NICBARR_SERIES NICBARR_TEXT(OMPI_MAJOR_VERSION) "." NICBARR_TEXT(OMPI_MINOR_VERSION)
#define NICBARR_BUILT_FOR NICBARR_SERIES "." NICBARR_TEXT(OMPI_RELEASE_VERSION)

/* Returns the identity of a communicator, which is the same on all its members. Two communicators
 * without a common member may have the same identity, and an identity may be reused once all
 * members have freed the communicator. In programs that survive failures, however, the same members
 * never reuse an identity, because an interrupted collective may have left state under it. */
static inline void nicbarr_comm_identity(const ompi_communicator_t *comm, uint64_t *scope,
                                         uint64_t *id)
{
#if OMPI_MAJOR_VERSION == 4
    *scope = 0;
    *id = comm->c_contextid;
#else
    const ompi_comm_extended_cid_t cid = ompi_comm_get_extended_cid(comm);
    *scope = cid.cid_base;
    *id = cid.cid_sub.u64;
#if OPAL_ENABLE_FT_MPI
    if (ompi_ftmpi_enabled) {
        *scope ^= (uint64_t)comm->c_epoch << 32;
    }
#endif
#endif
}

/* Returns whether this process can read all buffers of a program itself. It cannot on a machine
 * with GPUs whose memory this Open MPI supports. */
static inline bool nicbarr_host_memory_only(void)
{
#if OMPI_MAJOR_VERSION == 4
    return !OPAL_CUDA_SUPPORT;
#else
    return 0 ==
           strcmp(opal_accelerator_base_selected_component.base_version.mca_component_name, "null");
#endif
}

/* Returns whether MPI_Reduce and MPI_Gather across nodes may be replaced by default. With Open MPI
 * 5.0 they may not: each communicator would leak 7 KiB (measured with 5.0.7), because coll/adapt
 * never releases the coll/tuned modules of the communicators that coll/han creates. (There is no
 * leak without coll/adapt or without coll/han.) With 6.0.0rc2 the heap does not grow. */
static inline bool nicbarr_may_replace_rooted(void)
{
    return 5 != OMPI_MAJOR_VERSION;
}

/* Returns whether a module itself enters its functions into a communicator's function table when it
 * is enabled, and restores the former functions when it is disabled. Modules do this since 6.0,
 * where the entries hold no reference to the module. Up to 5.0, Open MPI fills in the table from
 * the members of the module, and each entry holds a reference to the module. */
static inline bool nicbarr_modules_fill_tables(void)
{
    return OMPI_MAJOR_VERSION > 5;
}

/* Creates a reduction operation like MPI_Op_create. Returns NULL if out of memory. */
typedef void (*nicbarr_op_fn)(void *left, void *right, int *count, ompi_datatype_t **type);
static inline ompi_op_t *nicbarr_op_create(nicbarr_op_fn combine)
{
#if OMPI_MAJOR_VERSION < 6
    return ompi_op_create_user(true, (ompi_op_fortran_handler_fn_t *)combine);
#else
    return ompi_op_create_user(true, false, (ompi_op_fortran_handler_fn_t *)combine);
#endif
}

/* The error code of a collective with a failed process: MPI's own code, if the release has one
 * (since 5.0). */
#ifdef MPI_ERR_PROC_FAILED
#define NICBARR_PROC_FAILED MPI_ERR_PROC_FAILED
#else
#define NICBARR_PROC_FAILED MPI_ERR_OTHER
#endif

/* Returns the host name of a rank, or NULL if it is unknown. */
static inline const char *nicbarr_rank_host(ompi_communicator_t *comm, int rank)
{
    return opal_get_proc_hostname(&ompi_comm_peer_lookup(comm, rank)->super);
}

/* Passes a received message to the callback that is registered for its tag, which does not use the
 * segment after this function has returned. `endpoint` is the endpoint of the sender; it may be
 * NULL if nicbarr_btl_wants_endpoint() returns false for this tag. Returns false if no callback is
 * registered. */
static inline bool nicbarr_btl_deliver(mca_btl_base_module_t *btl,
                                       struct mca_btl_base_endpoint_t *endpoint,
                                       mca_btl_base_tag_t tag, mca_btl_base_segment_t *segment)
{
    const mca_btl_active_message_callback_t *callback = &mca_btl_base_active_message_trigger[tag];
    if (NULL == callback->cbfunc) {
        return false;
    }
#if OMPI_MAJOR_VERSION == 4
    (void)endpoint;
    mca_btl_base_descriptor_t descriptor = {.des_segments = segment, .des_segment_count = 1};
    callback->cbfunc(btl, tag, &descriptor, callback->cbdata);
#else
    const mca_btl_base_receive_descriptor_t descriptor = {.endpoint = endpoint,
                                                          .des_segments = segment,
                                                          .des_segment_count = 1,
                                                          .tag = tag,
                                                          .cbdata = callback->cbdata};
    callback->cbfunc(btl, &descriptor);
#endif
    return true;
}

/* Flags of a module that serves only osc/rdma; ob1 ignores modules with these flags. (Without such
 * a module, Open MPI 5.0 would implement one-sided operations by messages, and 5.0.7 computes wrong
 * results in that case.) */
#if OMPI_MAJOR_VERSION == 4
#define NICBARR_BTL_ONESIDED                                                                       \
    (MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS)
#else
#define NICBARR_BTL_ONESIDED                                                                       \
    (MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS |                   \
     MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION)
#endif

/* Defines a callback for mca_btl_base_active_message_trigger[] that passes the message's segment to
 * `receive`. */
#if OMPI_MAJOR_VERSION == 4
#define NICBARR_BTL_RECEIVER(name, receive)                                                        \
    static void name(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,                           \
                     mca_btl_base_descriptor_t *descriptor, void *data)                            \
    {                                                                                              \
        (void)btl;                                                                                 \
        (void)tag;                                                                                 \
        (void)data;                                                                                \
        receive(descriptor->des_segments);                                                         \
    }
#else
#define NICBARR_BTL_RECEIVER(name, receive)                                                        \
    static void name(mca_btl_base_module_t *btl,                                                   \
                     const mca_btl_base_receive_descriptor_t *descriptor)                          \
    {                                                                                              \
        (void)btl;                                                                                 \
        receive(descriptor->des_segments);                                                         \
    }
#endif

/* Defines an MTL's mtl_init, which calls `init` and returns the module that `init` returns. */
#if OMPI_MAJOR_VERSION == 4
#define NICBARR_MTL_INIT(name, init)                                                               \
    static mca_mtl_base_module_t *name(bool progress_threads, bool mpi_threads)                    \
    {                                                                                              \
        (void)progress_threads;                                                                    \
        (void)mpi_threads;                                                                         \
        return init();                                                                             \
    }
#else
#define NICBARR_MTL_INIT(name, init)                                                               \
    static mca_mtl_base_module_t *name(bool progress_threads, bool mpi_threads,                    \
                                       bool *accelerators)                                         \
    {                                                                                              \
        (void)progress_threads;                                                                    \
        (void)mpi_threads;                                                                         \
        *accelerators = false;                                                                     \
        return init();                                                                             \
    }
#endif

/* Returns whether the callback of this tag needs the sender's endpoint. Since 5.0, Open MPI can
 * implement one-sided operations by messages, for which it has reserved tags; it replies to such a
 * message through the endpoint. */
static inline bool nicbarr_btl_wants_endpoint(mca_btl_base_tag_t tag)
{
#if OMPI_MAJOR_VERSION == 4
    (void)tag;
    return false;
#else
    return tag >= MCA_BTL_TAG_BTL_BASE && tag < MCA_BTL_TAG_BTL;
#endif
}

#endif
