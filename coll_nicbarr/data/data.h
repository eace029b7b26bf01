/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that carry data, on one node: MPI_Allreduce, MPI_Iallreduce, MPI_Reduce, MPI_Ireduce,
 * MPI_Bcast, MPI_Ibcast, MPI_Allgather, MPI_Iallgather, MPI_Gather, MPI_Igather, MPI_Scatter,
 * MPI_Iscatter, and persistent ones.
 *
 * - Blocking collectives use Open MPI's own functions until there were enough calls on a
 *   communicator to make an evaluation of alternatives worthwhile (coll_nicbarr_tune_after). Then
 *   nicbarr allocates memory for the collective, and compares its implementation with Open MPI's
 *   for each size class (data_tune.c).
 * - Non-blocking collectives use nicbarr's implementation after a few calls. The first calls are
 *   left to Open MPI, because they may only serve to create a communicator, which takes two or
 *   three MPI_Iallreduce of one integer on the parent.
 * - Persistent collectives use nicbarr's implementation from the start, because programs create
 *   them for frequent use.
 *
 * All members make the same decisions, because they count the same calls, and the number of bytes
 * in a call follows from the type signature, which is the same on all members. */
#ifndef NICBARR_DATA_H
#define NICBARR_DATA_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/classes.h"

/* Returns whether a module implements `collective` at all. It does not if the user has selected
 * Open MPI's own function, or if buffers may be in memory that only Open MPI can access, such as
 * the memory of a GPU. */
bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes);

/* Called when an undecided size class has had enough calls to be decided, or when the next
 * re-evaluation of a decided class is due. The function may allocate memory and measure candidates,
 * which may take long. Returns whether nicbarr serves this call. */
bool nicbarr_data_process_call(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class, int root);

/* Returns whether nicbarr serves a call with `bytes` bytes and this root (or NICBARR_NO_ROOT). */
static inline bool nicbarr_data_serves(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       enum nicbarr_collective collective, size_t bytes, int root)
{
    if (bytes > nicbarr_data_most(module->across)) {
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

/* Returns the kind of slots that blocking calls with `bytes` bytes from each process use. Up to a
 * few KiB wide slots are used, because an exchange has more of them than large ones, so that more
 * calls can be under way at a time. Large slots are faster from 16 KiB on. */
static inline enum myr_slots nicbarr_data_slots(size_t bytes)
{
    return bytes <= MYR_SLOT_BYTES          ? MYR_SLOTS_LINE
           : bytes <= NICBARR_EXCHANGE_MOST ? MYR_SLOTS_WIDE
                                            : MYR_SLOTS_LARGE;
}

/* Returns the exchange for blocking calls with `bytes` bytes from each process. If this exchange
 * has not been allocated, returns the one with large slots, or else the one with slots of a cache
 * line. */
static inline struct nicbarr_reducer *nicbarr_data_reducer(mca_coll_nicbarr_module_t *module,
                                                           size_t bytes)
{
    struct nicbarr_reducer *reducer = &module->reducers[nicbarr_data_slots(bytes)];
    struct nicbarr_reducer *large = &module->reducers[MYR_SLOTS_LARGE];
    return NULL != reducer->exchange.record ? reducer
           : NULL != large->exchange.record ? large
                                            : &module->reducers[MYR_SLOTS_LINE];
}

/* Returns whether nicbarr serves a persistent collective. As such a collective is likely to be
 * started often, this is decided immediately, without counting calls first. Returns false for 0
 * bytes. */
bool nicbarr_data_serves_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                 enum nicbarr_collective collective, size_t bytes);

/* Returns whether nicbarr serves a non-blocking call, provided that its size permits this.
 * Non-blocking calls are not measured, because Open MPI's own implementation is slower: it needs
 * several messages, each of which is delayed until a process makes progress.
 *
 * The first few calls on a communicator are left to Open MPI, because a communicator that only
 * serves as the parent of one or two others does not justify the memory that nicbarr needs. Only
 * non-blocking calls are counted, because all members start these in the same order (Open MPI's
 * libnbc requires this as well), whereas the number of blocking calls before them may differ. */
bool nicbarr_data_serves_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective);

/* Returns whether non-blocking and persistent collectives with vectors of this size use the
 * exchange. They write the whole vector at once, and are not compared with Open MPI's own functions
 * at run time. Therefore the limits are the sizes up to which nicbarr's implementation has been
 * found to be faster.
 *
 * The limits were determined by measurements of persistent collectives on an idle EPYC. With 3
 * processes, nicbarr was 1.06 to 3.0 times as fast as Open MPI 4.1.4 for 1120 bytes, but only 0.87
 * to 2.6 times as fast for 1344 bytes. With 2 processes, it was 1.4 to 1.7 times as fast for 560
 * bytes, but only 0.75 to 1.3 times as fast for 1008 bytes. */
static inline bool nicbarr_data_small(size_t bytes, ompi_communicator_t *comm)
{
    const uint32_t slots = 2 == ompi_comm_size(comm) ? 5 : 10;
    _Static_assert(10 <= MYR_EXCHANGE_WINDOW, "all slots of a vector fit into the window");
    return 0 != bytes && bytes <= slots * MYR_SLOT_BYTES;
}

/* Returns whether nicbarr's implementation of `collective` is preferable to Open MPI's, or is
 * forced by the user. It may be slower if the node is oversubscribed, because a process can be
 * ahead of the others by at most one window of rounds, whereas Open MPI sets no limit. All members
 * get the same answer, because the first one that joined `record` stored in it whether the node is
 * oversubscribed. */
bool nicbarr_data_window_suffices(enum nicbarr_collective collective,
                                  const struct myr_record *record);

/* ---- data_tune.c ---- */

/* Decide on one node whether nicbarr's or Open MPI's implementation serves this size class: either
 * measure both of them, or adopt the result of another communicator of the same shape. The decision
 * is stored in the `way` of the class. Collective; returns Open MPI's error. */
int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class);

/* Measure a decided class again. Collective; returns Open MPI's error. */
int nicbarr_data_tune_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class);

/* ---- data_across.c: across nodes ---- */

struct nicbarr_carrier; /* carrier.h */

/* Decide across nodes which implementation serves this size class: join groups of NICs, and compare
 * them with Open MPI's own function. If the user forces nicbarr's implementation, Open MPI's
 * function is chosen only if there is no usable group. The decision is stored in the `way` of the
 * class. Collective; returns Open MPI's error. */
int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class);

/* Measure a decided class again: the carrier in use and some other candidates. Collective; returns
 * Open MPI's error. */
int nicbarr_data_across_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  enum nicbarr_collective collective, uint32_t size_class);

/* Count a non-blocking call. Such a call must not block, so it cannot set up a group of NICs
 * itself. After enough calls of a class, the class is marked in module->pending, and the next
 * blocking collective calls nicbarr_data_decide_pending(), which sets up the group. All members
 * count the same calls. */
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

/* Returns whether Open MPI itself may have issued a call of this size from within progress. To
 * agree on the context id of a new communicator, Open MPI calls MPI_Iallreduce (with MPI_MAX or
 * MPI_MIN) and MPI_Ibcast of a single MPI_INT (ompi/communicator/comm_cid.c).
 *
 * While MPI_Comm_idup is outstanding, Open MPI may issue such a call before the program's next
 * blocking call on one process, and after it on another. Across nodes the members would then
 * diverge, because a blocking call may change the implementation that the next non-blocking call
 * uses, and because both kinds of calls are counted together. Therefore non-blocking calls of this
 * size (for MPI_Iallreduce: with one of these operations) always use Open MPI's own functions. (On
 * one node, the two kinds of calls are independent of each other: see module->nonblocking.) The
 * decision depends on the size and not on the type, because the number of bytes is the same on all
 * members, whereas some of them may use a derived type. */
static inline bool nicbarr_from_progress(size_t bytes)
{
    return sizeof(int) == bytes;
}

/* Count a non-blocking call of `bytes` bytes (0 if no carrier can serve it). Returns its carrier,
 * or NULL if Open MPI's own function serves it. */
struct nicbarr_carrier *nicbarr_data_carrier_for_call(mca_coll_nicbarr_module_t *module,
                                                      enum nicbarr_collective collective,
                                                      size_t bytes, int root);

struct nicbarr_carried;

/* Complete the operation that was begun, waiting for the other processes. Returns an MPI error. */
int nicbarr_carry(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Execute an allgather by means of `carrier`: each process that sets `reads` receives the bytes of
 * all ranks, concatenated, at `to`. `from` may point to the location of this process's own bytes
 * within `to`. Returns an MPI error. */
int nicbarr_carry_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            size_t bytes);

/* Reduce by means of `carrier`. Each process with `reads` set gets the result. Returns an MPI
 * error. */
int nicbarr_carry_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op);

/* Broadcast `*bytes` bytes by means of `carrier`; `*bytes` becomes the number of bytes that the
 * root has sent. Returns an MPI error. */
int nicbarr_carry_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_carrier *carrier, void *data, size_t *bytes, int root);

/* Broadcast in steps. The first function begins the broadcast, and reserves its place in the order
 * of operations. The second function advances it as far as possible, and returns whether it is
 * complete. */
struct nicbarr_carried_bcast;
void nicbarr_carried_bcast_begin(const mca_coll_nicbarr_module_t *module,
                                 const ompi_communicator_t *comm, struct nicbarr_carrier *carrier,
                                 struct nicbarr_carried_bcast *carried, void *data, size_t bytes,
                                 int root);
bool nicbarr_carried_bcast_progress(struct nicbarr_carrier *carrier,
                                    struct nicbarr_carried_bcast *carried);

/* Scatter by means of `carrier`. The root sends the contiguous blocks at `from`, and each other
 * rank stores its own block, up to `*bytes` bytes, at `to`. `*bytes` becomes the size of a block as
 * sent by the root; bytes beyond the receiver's limit are dropped. Returns an MPI error. */
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
