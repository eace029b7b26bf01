/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that carry data, on one node: MPI_Allreduce, MPI_Iallreduce, MPI_Reduce, MPI_Ireduce,
 * MPI_Bcast, MPI_Ibcast, MPI_Allgather, MPI_Iallgather, MPI_Gather, MPI_Igather, MPI_Scatter,
 * MPI_Iscatter, and persistent ones.
 *
 * They are Open MPI's own until a communicator has called one so often that it is worth looking at
 * what else there is (coll_nicbarr_tune_after). Then they get their memory, and compete with Open
 * MPI's own, by size (data_tune.c). Non-blocking ones are nicbarr's after a few calls: to
 * create a communicator takes two or three MPI_Iallreduce of one integer on the parent. Persistent
 * ones are so from the first on, as they are made to be used often.
 *
 * All members decide alike, as they count the same calls, and compare the bytes of the same type
 * signature.
 */
#ifndef NICBARR_DATA_H
#define NICBARR_DATA_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/classes.h"

/* Is a module to offer `collective` at all? No: a user wants Open MPI's own, or data may lie
 * where only Open MPI can read it (on a GPU). */
bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes);

/* Not decided yet, or watched: is this call to be nicbarr's? It is counted. Some calls take time:
 * they get memory, and measure. */
bool nicbarr_data_counted(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, uint32_t size_class, int root);

/* Is a call with so many bytes, and this root (or NICBARR_NO_ROOT), nicbarr's? */
static inline bool nicbarr_data_ours(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective, size_t bytes, int root)
{
    if (bytes > nicbarr_data_most(collective, module->across)) {
        return false;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (NICBARR_WAY_OURS == class->way) {
        return true;
    }
    /* (What most calls of a watched class are: their root, if any, is nothing new.) */
    if (NICBARR_WAY_WATCHED == class->way && 0 != class->until &&
        (class->root_seen <= 0 || root + 1 == class->root_seen)) {
        --class->until;
        return NICBARR_WAY_OURS == class->now;
    }
    return NICBARR_WAY_OWN != class->way &&
           nicbarr_data_counted(module, comm, collective, size_class, root);
}

/* The same of what will be called often: it is decided now. 0 bytes: it is not. */
bool nicbarr_data_ours_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, size_t bytes);

/* Is a non-blocking call nicbarr's, of so few bytes that it can be? They are not measured: Open
 * MPI's own takes several messages, each of which waits for somebody to make progress. But a
 * communicator that only one or two others are made from is not worth the memory. Members count the
 * non-blocking calls alone: these come in one order on all of them, as Open MPI's own (libnbc)
 * requires, too. What goes by these calls must not depend on how many blocking calls came before.
 */
bool nicbarr_data_nonblocking_ours(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                   enum nicbarr_collective collective);

/* Is so much for the exchange's non-blocking collectives, and for persistent ones? All of it has to
 * be under way at once, and nobody measures them against Open MPI's own. So the limits are where
 * nicbarr's are still faster: an idle EPYC, persistent ones, Open MPI 4.1.4; 3 processes with 1120
 * bytes 1.06 to 3.0 times, with 1344 bytes 0.87 to 2.6; 2 processes with 560 bytes 1.4 to 1.7, with
 * 1008 bytes 0.75 to 1.3. */
static inline bool nicbarr_data_small(size_t bytes, ompi_communicator_t *comm)
{
    const uint32_t slots = 2 == ompi_comm_size(comm) ? 5 : 10;
    _Static_assert(10 <= MYR_EXCHANGE_WINDOW, "under way at once");
    return 0 != bytes && bytes <= slots * MYR_SLOT_BYTES;
}

/* Is `collective` worth it where some go on at once, and others have to keep up with them? Open
 * MPI's own lets them run ahead without bound, nicbarr's a window only. So with more processes than
 * processors Open MPI's own may be faster. `record`: the first member that took it up says whether
 * there are, so all get the same answer. The user may want nicbarr's in any case. */
bool nicbarr_data_keeps_up(enum nicbarr_collective collective, const struct myr_record *record);

/* ---- data_tune.c ---- */

/* Measure nicbarr's against Open MPI's own with payloads of this class, or adopt what was measured
 * on another communicator of this shape. Sets `way`. Collective; Open MPI's error otherwise. */
int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class);

/* Measure a class that is decided once more. Likewise. */
int nicbarr_data_tune_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective, uint32_t size_class);

/* ---- data_across.c: on several nodes ---- */

struct nicbarr_carrier; /* carrier.h */

/* Decide on a class: join groups of NICs, and measure them against Open MPI's own. `forced`: the
 * user wants nicbarr's, if there is any. Sets `way`. Collective; Open MPI's error otherwise. */
int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool forced);

/* Measure a class that is decided once more, the carrier in use and some others. Likewise. */
int nicbarr_data_across_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, uint32_t size_class);

/* A non-blocking call has come. It can set up nothing; so where it is worth a look, the next
 * blocking collective does, by nicbarr_data_decide_pending(). All members count the same calls. */
void nicbarr_data_note_call(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                            uint32_t size_class, int root);
void nicbarr_data_decide_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

static inline void nicbarr_data_attend(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (__builtin_expect(0 != module->pending, 0)) {
        nicbarr_data_decide_pending(module, comm);
    }
}

/* Is it of as many bytes as those that Open MPI issues from within progress, to find the context id
 * of a new communicator (ompi/communicator/comm_cid.c: MPI_Iallreduce, by MPI_MAX or MPI_MIN, and
 * MPI_Ibcast of one MPI_INT)? While MPI_Comm_idup is outstanding, such a call comes before or after
 * a blocking one, on each process as it happens. Across nodes what calls go by changes in blocking
 * ones, and some count both: so these calls always go by Open MPI's own. (On one node see
 * module->nonblocking.) Members have the number of bytes in common, but not the type: with one of
 * them it may be a derived one. */
static inline bool nicbarr_from_progress(size_t bytes)
{
    return sizeof(int) == bytes;
}

/* What a non-blocking call of so many bytes (0: none that could be carried) goes by; NULL: Open
 * MPI's own. The call is noted. */
struct nicbarr_carrier *nicbarr_data_carrier_noted(mca_coll_nicbarr_module_t *module,
                                                   enum nicbarr_collective collective, size_t bytes,
                                                   int root);

struct nicbarr_carried;

/* Go through with what was begun, and wait for the others. Returns an error of MPI's. */
int nicbarr_carry(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Gather by this carrier: each rank's bytes come to `to`, side by side, on each process that
 * `reads` them. `from` may be where its own ones go. */
int nicbarr_carry_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            size_t bytes);

/* Reduce by this carrier; the result comes to each process that `reads` it. Returns an error of
 * MPI's. */
int nicbarr_carry_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op);

/* Broadcast so many bytes by this carrier; `*bytes` becomes how many the root has sent. Returns an
 * error of MPI's. */
int nicbarr_carry_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_carrier *carrier, void *data, size_t *bytes, int root);

/* The same in steps: take a number; go on as far as it can, true when it is complete. */
struct nicbarr_handed;
void nicbarr_handed_begin(const mca_coll_nicbarr_module_t *module, const ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_handed *handed,
                          void *data, size_t bytes, int root);
bool nicbarr_handed_go_on(struct nicbarr_carrier *carrier, struct nicbarr_handed *handed);

/* Scatter by this carrier: of the root's bytes `from`, which lie side by side, each other rank's
 * `*bytes` come to `to`; `*bytes` becomes how many the root has sent to it. The rest is ignored.
 * Returns an error of MPI's. */
int nicbarr_carry_scattering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, const void *from, void *to,
                             size_t *bytes, int root);

/* Bytes of a block in a group for broadcasts of up to `bytes`. */
uint32_t nicbarr_bcast_unit(uint32_t bytes);

/* ---- what MPI calls ---- */

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
