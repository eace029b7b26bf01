/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that carry data, on one node: MPI_Allreduce, MPI_Iallreduce, MPI_Reduce, MPI_Ireduce,
 * MPI_Bcast, MPI_Ibcast, MPI_Allgather, MPI_Iallgather, MPI_Gather, MPI_Igather, MPI_Scatter,
 * MPI_Iscatter, and persistent ones.
 *
 * They are Open MPI's own until a communicator has called one often enough to evaluate alternatives
 * (coll_nicbarr_tune_after). Then they get their memory, and compete with Open MPI's own, by size
 * (data_tune.c). Non-blocking ones are nicbarr's after a few calls, because creating a communicator
 * takes two or three MPI_Iallreduce of one integer on the parent. Persistent ones are nicbarr's
 * from the start, because they are made for frequent use.
 *
 * All members make the same decisions, as they count the same calls, and compare the bytes of the
 * same type signature. */
#ifndef NICBARR_DATA_H
#define NICBARR_DATA_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/classes.h"

/* Does a module offer `collective` at all? It does not if the user has selected Open MPI's own, or
 * if buffers may be in memory that only Open MPI can access (on a GPU). */
bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes);

/* Count a call of an undecided or watched class, and decide whether nicbarr serves it. Some calls
 * take long, because they allocate memory and measure. */
bool nicbarr_data_counted(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, uint32_t size_class, int root);

/* Does nicbarr serve a call with `bytes` bytes and this root (or NICBARR_NO_ROOT)? */
static inline bool nicbarr_data_ours(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective, size_t bytes, int root)
{
    if (bytes > nicbarr_data_most(collective, module->across)) {
        return false;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (NICBARR_WAY_OURS == class->way || NICBARR_WAY_OWN == class->way) {
        return NICBARR_WAY_OURS == class->way;
    }
    if (0 != class->until) { /* open or watched */
        --class->until;
        nicbarr_note_root(class, root);
        return NICBARR_WAY_OURS == class->now;
    }
    return nicbarr_data_counted(module, comm, collective, size_class, root);
}

/* The same for a collective that will be called often, on which it decides now. False for 0
 * bytes. */
bool nicbarr_data_ours_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, size_t bytes);

/* Does nicbarr serve a non-blocking call whose size permits it? Yes, without a contest, because
 * Open MPI's own implementation needs several messages, each of which waits until a process makes
 * progress. The first few calls on a communicator are left to Open MPI: a communicator that only
 * serves as the parent of one or two others is not worth the memory. Only non-blocking calls are
 * counted, because all members start these in the same order (as Open MPI's own libnbc requires,
 * too), whereas the number of blocking calls before them may differ. */
bool nicbarr_data_nonblocking_ours(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                   enum nicbarr_collective collective);

/* Is the size within the limits of the exchange for non-blocking and persistent collectives? All of
 * it must be under way at once, and these are not measured against Open MPI's own. So the limits
 * are where nicbarr's are still faster: an idle EPYC, persistent ones, Open MPI 4.1.4; 3 processes
 * with 1120 bytes 1.06 to 3.0 times, with 1344 bytes 0.87 to 2.6; 2 processes with 560 bytes 1.4 to
 * 1.7, with 1008 bytes 0.75 to 1.3. */
static inline bool nicbarr_data_small(size_t bytes, ompi_communicator_t *comm)
{
    const uint32_t slots = 2 == ompi_comm_size(comm) ? 5 : 10;
    _Static_assert(10 <= MYR_EXCHANGE_WINDOW, "under way at once");
    return 0 != bytes && bytes <= slots * MYR_SLOT_BYTES;
}

/* Is `collective` worthwhile if some processes can run ahead, and others have to keep up? Open
 * MPI's own lets them run ahead without bound, nicbarr's by a window only. So Open MPI's own may be
 * faster if oversubscribed. The first member to join `record` has stored whether the node is, so
 * all get the same answer. The user may force nicbarr's in any case. */
bool nicbarr_data_keeps_up(enum nicbarr_collective collective, const struct myr_record *record);

/* ---- data_tune.c ---- */

/* Measure nicbarr's implementation against Open MPI's with payloads of this class, or adopt a
 * measurement of another communicator of this shape. Sets `way`. Collective; Open MPI's error. */
int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class);

/* Remeasure a decided class. Collective; Open MPI's error. */
int nicbarr_data_tune_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective, uint32_t size_class);

/* ---- data_across.c: across nodes ---- */

struct nicbarr_carrier; /* carrier.h */

/* Decide on a class: join groups of NICs, and measure them against Open MPI's own. With `forced`
 * the choice is among nicbarr's candidates, if there are any. Sets `way`. Collective; Open MPI's
 * error. */
int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool forced);

/* Remeasure a decided class: the carrier in use competes with some other candidates. Collective;
 * Open MPI's error. */
int nicbarr_data_across_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, uint32_t size_class);

/* Count a non-blocking call. Such a call cannot set up anything, so once there were enough of them
 * the next blocking collective does, by nicbarr_data_decide_pending(). All members count the same
 * calls. */
void nicbarr_data_note_call(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                            uint32_t size_class, int root);
void nicbarr_data_decide_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

static inline void nicbarr_data_attend(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (__builtin_expect(0 != module->pending, 0)) {
        nicbarr_data_decide_pending(module, comm);
    }
}

/* Does the size equal that of the calls that Open MPI issues from within progress, to agree on the
 * context id of a new communicator (ompi/communicator/comm_cid.c: MPI_Iallreduce with MPI_MAX or
 * MPI_MIN, and MPI_Ibcast of one MPI_INT)? While MPI_Comm_idup is outstanding, the order of such a
 * call and a blocking one differs between processes. Across nodes blocking calls change the
 * implementation, and some count both: so these calls always use Open MPI's own. (On one node see
 * module->nonblocking.) Members agree on the number of bytes, but not on the type, which may be a
 * derived one on some of them. */
static inline bool nicbarr_from_progress(size_t bytes)
{
    return sizeof(int) == bytes;
}

/* Count a non-blocking call of `bytes` bytes (0: cannot be carried), and return its carrier; NULL:
 * Open MPI's own function serves it. */
struct nicbarr_carrier *nicbarr_data_carrier_noted(mca_coll_nicbarr_module_t *module,
                                                   enum nicbarr_collective collective, size_t bytes,
                                                   int root);

struct nicbarr_carried;

/* Complete the operation that was begun, waiting for the others. Returns an MPI error. */
int nicbarr_carry(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Allgather with this carrier: concatenate the bytes of all ranks in `to`, on each process that
 * `reads` them. `from` may be the place of this process's bytes in `to`. */
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

/* The same in steps: begin and take a turn; advance as far as possible, true when complete. */
struct nicbarr_handed;
void nicbarr_handed_begin(const mca_coll_nicbarr_module_t *module, const ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_handed *handed,
                          void *data, size_t bytes, int root);
bool nicbarr_handed_go_on(struct nicbarr_carrier *carrier, struct nicbarr_handed *handed);

/* Scatter with this carrier: the root sends the contiguous blocks at `from`, and each other rank
 * stores its own block, up to `*bytes` bytes, at `to`. `*bytes` becomes the size of a block that
 * the root has sent; excess bytes are dropped. Returns an MPI error. */
int nicbarr_carry_scattering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, const void *from, void *to,
                             size_t *bytes, int root);

/* Bytes of a block in a group for broadcasts of up to `bytes`. */
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
