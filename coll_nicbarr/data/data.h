/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that carry data, on one node: MPI_Allreduce, MPI_Iallreduce, MPI_Reduce, MPI_Ireduce,
 * MPI_Bcast, MPI_Ibcast, MPI_Allgather, MPI_Iallgather, MPI_Gather, MPI_Igather, MPI_Scatter,
 * MPI_Iscatter, and persistent ones.
 *
 * - Blocking collectives use Open MPI's own functions until a communicator has called one often
 *   enough to evaluate alternatives (coll_nicbarr_tune_after). Then nicbarr allocates memory for
 *   them, and compares its implementation with Open MPI's, by size class (data_tune.c).
 * - Non-blocking collectives are nicbarr's after a few calls. They are not at once, because
 *   creating a communicator takes two or three MPI_Iallreduce of one integer on the parent.
 * - Persistent collectives are nicbarr's from the start, because they are made for frequent use.
 *
 * All members make the same decisions, because they count the same calls, and a call has the same
 * number of bytes on all of them (the type signature's). */
#ifndef NICBARR_DATA_H
#define NICBARR_DATA_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/classes.h"

/* Returns whether a module offers `collective` at all. It does not if the user has selected Open
 * MPI's own function, or if buffers may be in memory that only Open MPI can access (on a GPU). */
bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes);

/* Process a call of an undecided or periodically re-evaluated class whose count of calls has
 * expired. Returns whether nicbarr serves this call. The call may take long, because it may
 * allocate memory and measure. */
bool nicbarr_data_process_call(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class, int root);

/* Returns whether nicbarr serves a call with `bytes` bytes and this root (or NICBARR_NO_ROOT). */
static inline bool nicbarr_data_serves(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       enum nicbarr_collective collective, size_t bytes, int root)
{
    if (bytes > nicbarr_data_most(collective, module->across)) {
        return false;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (NICBARR_WAY_NICBARR == class->way || NICBARR_WAY_OPENMPI == class->way) {
        return NICBARR_WAY_NICBARR == class->way;
    }
    if (0 != class->until) { /* open, or periodically re-evaluated */
        --class->until;
        nicbarr_record_root(class, root);
        return NICBARR_WAY_NICBARR == class->now;
    }
    return nicbarr_data_process_call(module, comm, collective, size_class, root);
}

/* Returns the exchange for blocking calls with `bytes` bytes from each process. */
static inline struct nicbarr_reducer *nicbarr_data_reducer(mca_coll_nicbarr_module_t *module,
                                                           size_t bytes)
{
    return bytes > MYR_SLOT_BYTES && NULL != module->wide.exchange.record ? &module->wide
                                                                          : &module->reducer;
}

/* Decide at once, without counting calls first, whether nicbarr serves a collective that will be
 * called often, and return that. Returns false for 0 bytes. */
bool nicbarr_data_serves_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                 enum nicbarr_collective collective, size_t bytes);

/* Returns whether nicbarr serves a non-blocking call whose size permits it. It does so without a
 * contest, because Open MPI's own implementation needs several messages, each of which waits until
 * a process makes progress. The first few calls on a communicator are left to Open MPI, because a
 * communicator that only serves as the parent of one or two others is not worth the memory. Only
 * non-blocking calls are counted, because all members start these in the same order (as Open MPI's
 * libnbc requires, too), whereas the number of blocking calls before them may differ. */
bool nicbarr_data_serves_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective);

/* Returns whether the size is within the limits of the exchange for non-blocking and persistent
 * collectives. These send the whole vector at once, and are not measured against Open MPI's own
 * functions. Therefore the limits are the sizes up to which nicbarr's implementation is faster.
 *
 * Measured on an idle EPYC with persistent collectives and Open MPI 4.1.4: with 3 processes, 1120
 * bytes are 1.06 to 3.0 times as fast, and 1344 bytes 0.87 to 2.6 times; with 2 processes, 560
 * bytes are 1.4 to 1.7 times as fast, and 1008 bytes 0.75 to 1.3 times. */
static inline bool nicbarr_data_small(size_t bytes, ompi_communicator_t *comm)
{
    const uint32_t slots = 2 == ompi_comm_size(comm) ? 5 : 10;
    _Static_assert(10 <= MYR_EXCHANGE_WINDOW, "all slots of a vector fit into the window");
    return 0 != bytes && bytes <= slots * MYR_SLOT_BYTES;
}

/* Returns whether nicbarr's `collective`, in which processes can run ahead of others by a window
 * only, is preferable to Open MPI's own. The latter lets them run ahead without bound, so it may be
 * faster if the node is oversubscribed. The first member to join `record` has stored whether it is,
 * so all members get the same answer. The user may force nicbarr's implementation in any case. */
bool nicbarr_data_window_suffices(enum nicbarr_collective collective,
                                  const struct myr_record *record);

/* ---- data_tune.c ---- */

/* Measure nicbarr's implementation against Open MPI's with payloads of this class, or adopt a
 * measurement of another communicator of this shape. Sets `way`. Collective; returns Open MPI's
 * error. */
int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class);

/* Measure a decided class again. Collective; returns Open MPI's error. */
int nicbarr_data_tune_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class);

/* ---- data_across.c: across nodes ---- */

struct nicbarr_carrier; /* carrier.h */

/* Decide on a class: join groups of NICs, and compare them with Open MPI's own function. With
 * `forced` the choice is among nicbarr's candidates, if there are any. Sets `way`. Collective;
 * returns Open MPI's error. */
int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool forced);

/* Measure a decided class again: the carrier in use and some other candidates. Collective; returns
 * Open MPI's error. */
int nicbarr_data_across_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  enum nicbarr_collective collective, uint32_t size_class);

/* Count a non-blocking call. Such a call cannot set up anything, because that would block.
 * Therefore, once there were enough of them, the next blocking collective sets up what they need,
 * by nicbarr_data_decide_pending(). All members count the same calls. */
void nicbarr_data_record_call(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                              uint32_t size_class, int root);
void nicbarr_data_decide_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

static inline void nicbarr_data_check_pending(mca_coll_nicbarr_module_t *module,
                                              ompi_communicator_t *comm)
{
    if (__builtin_expect(0 != module->pending, 0)) {
        nicbarr_data_decide_pending(module, comm);
    }
}

/* Returns whether a call may be one that Open MPI issues from within progress, judging by its size.
 * To agree on the context id of a new communicator, Open MPI issues MPI_Iallreduce with MPI_MAX or
 * MPI_MIN, and MPI_Ibcast, of one MPI_INT (ompi/communicator/comm_cid.c).
 *
 * While MPI_Comm_idup is outstanding, the order of such a call and a blocking one differs between
 * processes. Across nodes, some blocking calls change the implementation, and others count both
 * kinds of calls, so the members would diverge. Therefore calls of this size always use Open MPI's
 * own functions. (For one node see module->nonblocking.) The size decides because members agree on
 * the number of bytes, but not on the type, which may be a derived one on some of them. */
static inline bool nicbarr_from_progress(size_t bytes)
{
    return sizeof(int) == bytes;
}

/* Count a non-blocking call of `bytes` bytes (0: cannot be carried). Returns its carrier, or NULL
 * if Open MPI's own function serves it. */
struct nicbarr_carrier *nicbarr_data_carrier_for_call(mca_coll_nicbarr_module_t *module,
                                                      enum nicbarr_collective collective,
                                                      size_t bytes, int root);

struct nicbarr_carried;

/* Complete the operation that was begun, waiting for the other processes. Returns an MPI error. */
int nicbarr_carry(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Allgather with this carrier: concatenate the bytes of all ranks in `to`, on each process that
 * `reads` them. `from` may point to this process's bytes within `to`. Returns an MPI error. */
int nicbarr_carry_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            size_t bytes);

/* Reduce with this carrier; each process that `reads` the result gets it. Returns an MPI error. */
int nicbarr_carry_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op);

/* Broadcast `*bytes` bytes with this carrier; `*bytes` becomes the number of bytes that the root
 * has sent. Returns an MPI error. */
int nicbarr_carry_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_carrier *carrier, void *data, size_t *bytes, int root);

/* Broadcast in steps: the first function begins, and reserves the broadcast's place in the order of
 * operations; the second one advances as far as possible, and returns whether the broadcast is
 * complete. */
struct nicbarr_carried_bcast;
void nicbarr_carried_bcast_begin(const mca_coll_nicbarr_module_t *module,
                                 const ompi_communicator_t *comm, struct nicbarr_carrier *carrier,
                                 struct nicbarr_carried_bcast *carried, void *data, size_t bytes,
                                 int root);
bool nicbarr_carried_bcast_progress(struct nicbarr_carrier *carrier,
                                    struct nicbarr_carried_bcast *carried);

/* Scatter with this carrier: the root sends the contiguous blocks at `from`, and each other rank
 * stores its own block, up to `*bytes` bytes, at `to`. `*bytes` becomes the size of a block that
 * the root has sent; excess bytes are dropped. Returns an MPI error. */
int nicbarr_carry_scattering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, const void *from, void *to,
                             size_t *bytes, int root);

/* Returns the size (bytes) of a block in a group for broadcasts of up to `bytes`. */
uint32_t nicbarr_bcast_unit(uint32_t bytes);

/* ---- the MPI functions ---- */

int nicbarr_bcast_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_ibcast_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int nicbarr_allreduce_across(const void *from, void *to, nicbarr_count_t count,
                             ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                             mca_coll_base_module_t *module);
int nicbarr_reduce_across(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                          ompi_op_t *op, int root, ompi_communicator_t *comm,
                          mca_coll_base_module_t *module);
int nicbarr_iallreduce_across(const void *from, void *to, nicbarr_count_t count,
                              ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                              ompi_request_t **request, mca_coll_base_module_t *module);

int nicbarr_allreduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                      ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_iallreduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                       ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module);
int nicbarr_reduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                   ompi_op_t *op, int root, ompi_communicator_t *comm,
                   mca_coll_base_module_t *module);
int nicbarr_ireduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                    ompi_op_t *op, int root, ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module);
int nicbarr_allreduce_init(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                           ompi_op_t *op, ompi_communicator_t *comm, MPI_Info info,
                           ompi_request_t **request, mca_coll_base_module_t *module);
int nicbarr_allreduce_init_across(const void *from, void *to, nicbarr_count_t count,
                                  ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                                  MPI_Info info, ompi_request_t **request,
                                  mca_coll_base_module_t *module);
int nicbarr_reduce_init(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                        ompi_op_t *op, int root, ompi_communicator_t *comm, MPI_Info info,
                        ompi_request_t **request, mca_coll_base_module_t *module);
int nicbarr_bcast_init(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                       ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                       mca_coll_base_module_t *module);
int nicbarr_ibcast(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                   ompi_communicator_t *comm, ompi_request_t **request,
                   mca_coll_base_module_t *module);
int nicbarr_bcast_init_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                              ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                              mca_coll_base_module_t *module);
int nicbarr_bcast(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                  ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_allgather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                      void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                      ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_iallgather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                       void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                       ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module);
int nicbarr_gather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                   void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_scatter(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                    void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                    ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_igather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                    void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                    ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module);
int nicbarr_iscatter(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                     void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                     ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_allgather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                           void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                           ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                           mca_coll_base_module_t *module);
int nicbarr_gather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                        void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                        ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                        mca_coll_base_module_t *module);
int nicbarr_scatter_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                         void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                         ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
