/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators on several nodes: their NICs play MPI_Barrier and MPI_Ibarrier, the soft ones or
 * the kernels'.
 *
 * All is set up within blocking barriers of all members, where Open MPI's own collectives may be
 * used: rank 0 says what to begin with and draws the secret from which the groups' keys are made;
 * the members join; a first barrier shows whether packets come through; all install the same. Until
 * then, and where any of it fails for anybody, Open MPI's own functions serve everybody.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <stdlib.h>
#include <sys/random.h>

/* How long a barrier that all enter at once may take before it counts as not coming through: long
 * enough for what is lost to be asked for several times over (microseconds). */
enum { TRY_US = 2000000 };

/* What a group plays. */
struct piece {
    struct nicbarr_choice choice; /* of a ping-pong, the player counts */
    uint32_t peers;               /* of a ping-pong; 0: it is a barrier */
    uint32_t nodes;
};

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct piece *piece = context;
    return 0 == piece->peers ? nicbarr_schedule_create(piece->choice, piece->nodes, node, schedule)
                             : nicbarr_schedule_ping_pong(piece->peers, node, schedule);
}

static bool join(const mca_coll_nicbarr_module_t *module, const struct piece *piece,
                 uint32_t number, struct myr_nic_group *group, struct myr_error *error)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const struct nicbarr_nodes *nodes = module->nodes;
    const bool alone = 0 != piece->peers;
    const uint64_t names[] = {module->nic_key, number};
    const struct myr_nic_members members = {
        .key = nicbarr_digest(0, names, sizeof(names)),
        .nodes = nodes->nodes,
        .node = nodes->node,
        .locals = alone ? 1 : nodes->locals,
        .local = alone ? 0 : nodes->local,
        .names = nodes->names[piece->choice.player],
    };
    const enum myr_status status =
        NICBARR_KERNEL == piece->choice.player
            ? myr_kernel_group_join(group, component->kernel, component->segment,
                                    &component->waiter, &members, schedule_of, piece, error)
            : myr_nic_group_join(group, component->nic, &component->waiter, &members, schedule_of,
                                 piece, error);
    return MYR_OK == status;
}

bool nicbarr_across_join(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         uint32_t number, struct myr_nic_group *group, struct myr_error *error)
{
    const struct piece piece = {.choice = choice, .nodes = module->nodes->nodes};
    return join(module, &piece, number, group, error);
}

bool nicbarr_across_join_ping_pong(const mca_coll_nicbarr_module_t *module,
                                   enum nicbarr_player player, uint32_t peers, uint32_t number,
                                   struct myr_nic_group *group, struct myr_error *error)
{
    const struct piece piece = {
        .choice = {.player = player}, .peers = peers, .nodes = module->nodes->nodes};
    return join(module, &piece, number, group, error);
}

void nicbarr_across_leave(struct myr_nic_group *group)
{
    if (NULL != group->record) {
        myr_nic_group_leave(group);
    }
}

bool nicbarr_across_try(struct myr_nic_group *group)
{
    return myr_nic_group_wait(group, myr_nic_group_arrive(group), TRY_US);
}

/* ---- what all members agree on ---- */

static int from_root(ompi_communicator_t *comm, uint64_t *words, int count)
{
    return comm->c_coll->coll_bcast(words, count, MPI_UINT64_T, 0, comm,
                                    comm->c_coll->coll_bcast_module);
}

/* True for all if it is for all. */
static int for_all(ompi_communicator_t *comm, bool *good)
{
    int mine = *good, all = 0;
    const int rc = comm->c_coll->coll_allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm,
                                                comm->c_coll->coll_allreduce_module);
    *good = 0 != all;
    return rc;
}

/* Rank 0's proposal, and its secret. */
static int hear_proposal(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    uint64_t words[2] = {0, 0};
    if (0 == ompi_comm_rank(comm)) {
        struct nicbarr_choice choice;
        const enum nicbarr_source source = nicbarr_propose(&module->shape, &choice);
        words[0] = nicbarr_pack(choice, source);
        if (sizeof(words[1]) != getrandom(&words[1], sizeof(words[1]), 0)) {
            words[0] = 0;
        }
    }
    const int rc = from_root(comm, words, 2);
    if (OMPI_SUCCESS == rc) {
        module->source = nicbarr_unpack(words[0], &module->choice);
        module->nic_key = words[1];
    }
    return OMPI_SUCCESS == rc && 0 == words[0] ? OMPI_ERROR : rc;
}

/* ---- installing ---- */

/* Join what is missing; false if that cannot be. */
static bool join_all(mca_coll_nicbarr_module_t *module, struct myr_error *error)
{
    return (NULL != module->nic.record ||
            nicbarr_across_join(module, module->choice, NICBARR_GROUP_BARRIER, &module->nic,
                                error)) &&
           nicbarr_across_join(module, module->choice, NICBARR_GROUP_SPLIT, &module->split, error);
}

/* All enter at once, so it must come through soon. */
static bool try_all(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    return OMPI_SUCCESS == module->barrier.function(comm, module->barrier.module) &&
           nicbarr_across_try(&module->nic) && nicbarr_across_try(&module->split);
}

void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error)
{
    const bool ours = NULL != error && '\0' != error->text[0];
    nicbarr_across_leave(&module->nic);
    nicbarr_across_leave(&module->split);
    nicbarr_decline(module, comm,
                    ours
                        ? error->text
                        : "the NICs' packets do not come through between all nodes, or one of them "
                          "has no memory left (is a firewall in the way of UDP? see "
                          "coll_nicbarr_network and coll_nicbarr_port)");
}

int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct myr_error error = {0};
    bool good = true;
    int rc = OMPI_SUCCESS;
    if (NICBARR_OPENMPI != module->choice.algorithm) {
        good = join_all(module, &error);
        rc = for_all(comm, &good);
        if (OMPI_SUCCESS == rc && good) {
            good = try_all(module, comm);
            rc = for_all(comm, &good);
        }
        if (OMPI_SUCCESS == rc && !good) {
            nicbarr_across_decline(module, comm, &error);
        }
    }
    if (OMPI_SUCCESS == rc && good) {
        nicbarr_install_barrier(module, comm);
    }
    return rc;
}

int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const char *why = NULL;
    if (nicbarr_nodes_agree(module, comm, &why)) {
        why = nicbarr_forced_in_vain(&module->shape);
    }
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return OMPI_SUCCESS;
    }
    module->tuning = true; /* collectives below may call MPI_Barrier's function on `comm` */
    int rc = hear_proposal(module, comm);
    if (OMPI_SUCCESS == rc && NICBARR_UNDECIDED == module->source) {
        comm->c_coll->coll_barrier = nicbarr_barrier_across_undecided;
        nicbarr_report_note(module, comm, NULL, NULL);
    } else if (OMPI_SUCCESS == rc) {
        rc = nicbarr_across_install(module, comm);
        if (OMPI_SUCCESS == rc && !module->declined) {
            nicbarr_report_note(module, comm, NULL, NULL);
        }
    }
    module->tuning = false;
    return rc;
}
