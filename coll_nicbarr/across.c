/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up communicators across nodes, so that NICs execute their MPI_Barrier and MPI_Ibarrier.
 *
 * Setup takes place while all members execute a blocking collective, so the members may communicate
 * by Open MPI's collectives:
 * - Rank 0 proposes the initial choice, and draws the secret from which the groups' keys are
 *   derived.
 * - The members join the groups of NICs.
 * - A first barrier checks whether packets get through.
 * - All members install the same choice.
 *
 * All members use Open MPI's own functions until these steps are complete, and also afterwards if
 * any of them has failed on any member.
 *
 * Setup takes as long as many barriers, so it is postponed until the communicator has executed a
 * number of them (barrier.c). */
#include "coll_nicbarr/across.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/declining.h"
#include "coll_nicbarr/suspect_nics.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/peers.h"
#include "coll_nicbarr/sharing.h"
#include "libmyr/groups/secrets.h"

/* ---- agreement ---- */

/* Combine the members' results: `*good` stays true only if it is true on all members. */
static int agree_on_success(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            bool *good)
{
    double bad = !*good;
    const int rc = nicbarr_maximum(module, comm, &bad, 1);
    *good = 0 == bad;
    return rc;
}

/* Propose an initial choice without the suspect NICs. Returns false if there is no other NIC, or if
 * the forced choice needs a suspect one. */
static bool propose_choice(struct nicbarr_shape shape, uint32_t suspect,
                           struct nicbarr_choice *choice, enum nicbarr_source *source)
{
    const bool left =
        nicbarr_shape_without(&shape, suspect) && NULL == nicbarr_forced_unusable(&shape);
    *source = nicbarr_propose(&shape, choice);
    return left;
}

/* Distribute `words` and the secret of rank 0 to all members. words[0] is 0 if rank 0 has failed.
 * words[1] is the set of suspect NICs, which this function removes from the module's shape;
 * `*all_suspect` becomes true if the shape has no other NICs. */
static int share_words(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       uint64_t words[NICBARR_SHARED_WORDS], bool *all_suspect)
{
    const int rc = nicbarr_share_secret(module, comm, words);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    *all_suspect = !nicbarr_shape_without(&module->shape, (uint32_t)words[1]);
    return 0 == words[0] ? OMPI_ERROR : OMPI_SUCCESS;
}

/* Get rank 0's proposal of a choice, and its secret. */
static int get_proposal(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        bool *all_suspect)
{
    uint64_t words[NICBARR_SHARED_WORDS] = {0, 0};
    if (0 == ompi_comm_rank(comm)) {
        const uint32_t nics = module->shape.nics, suspect = nicbarr_suspect_nics(nics);
        struct nicbarr_choice choice;
        enum nicbarr_source source;
        words[1] = propose_choice(module->shape, suspect, &choice, &source) ? suspect : nics;
        words[0] = myr_secret_draw(&module->secret) ? nicbarr_choice_encode(choice, source) : 0;
    }
    const int rc = share_words(module, comm, words, all_suspect);
    if (OMPI_SUCCESS == rc) {
        module->source = nicbarr_choice_decode(words[0], &module->choice);
    }
    return rc;
}

/* Exchange the members' hellos once more, if some members had not opened all NICs when they
 * started. This happens if a job starts on a single node, where it needs no NICs, and later
 * connects to processes of other nodes (MPI_Comm_spawn, MPI_Comm_accept). It also happens if a
 * daemon did not respond in time when the process started. */
static int exchange_hellos(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const int size = ompi_comm_size(comm);
    struct nicbarr_hello own;
    uint8_t mine[sizeof(uint16_t) + NICBARR_HELLO_BYTES] = {0};
    uint8_t *all = nicbarr_allocate(comm, (size_t)size * sizeof(mine));
    nicbarr_open_nics_now(&own);
    const uint16_t bytes = (uint16_t)nicbarr_hello_write(&own, mine + sizeof(bytes));
    memcpy(mine, &bytes, sizeof(bytes));
    const int rc = nicbarr_openmpi_allgather(mine, (int)sizeof(mine), MPI_BYTE, all,
                                             (int)sizeof(mine), MPI_BYTE, comm, &module->openmpi);
    for (int r = 0; OMPI_SUCCESS == rc && r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const uint8_t *theirs = all + (size_t)r * sizeof(mine);
        uint16_t count;
        memcpy(&count, theirs, sizeof(count));
        if (count <= NICBARR_HELLO_BYTES) {
            nicbarr_peer_renew(&name, theirs + sizeof(count), count);
        }
    }
    free(all);
    return rc;
}

/* Determine the usable NICs, unless they are known already. `*why` becomes the reason if there are
 * none. Returns Open MPI's error code. */
static int find_nodes(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      const char **why)
{
    int rc = OMPI_SUCCESS;
    *why = NULL;
    if (0 != module->nodes.nodes) {
        return rc;
    }
    if (nicbarr_members_lack_nics(comm)) {
        rc = exchange_hellos(module, comm);
    }
    if (OMPI_SUCCESS == rc) {
        *why = nicbarr_nodes_determine(module, comm);
    }
    return rc;
}

int nicbarr_across_prepare_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                bool *all_suspect)
{
    const char *why;
    uint64_t words[NICBARR_SHARED_WORDS] = {0, 0};
    const int rc = find_nodes(module, comm, &why);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return OMPI_SUCCESS;
    }
    if (0 == ompi_comm_rank(comm)) {
        words[0] = myr_secret_draw(&module->secret);
        words[1] = nicbarr_suspect_nics(module->shape.nics);
    }
    return share_words(module, comm, words, all_suspect);
}

/* ---- installing ---- */

/* Join those groups that have not been joined yet. *good becomes true if all members have joined
 * them. */
static int join_groups(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct myr_error *error, bool *good)
{
    struct myr_error errors[NICBARR_NICS_MOST] = {{0}};
    struct nicbarr_joining list[2];
    int count = 0;
    if (!myr_nic_group_joined(&module->nic)) {
        list[count++] = (struct nicbarr_joining){.choice = module->choice, .group = &module->nic};
    }
    list[count++] = (struct nicbarr_joining){.choice = module->choice, .group = &module->split};
    int rc = nicbarr_groups_join(module, comm, list, count, errors);
    *error = errors[module->choice.nic];
    double failed[] = {list[0].failed || list[count - 1].failed, MYR_ERR_GONE == error->status};
    rc = OMPI_SUCCESS == rc ? nicbarr_maximum(module, comm, failed, 2) : rc;
    *good = 0 == failed[0];
    if (OMPI_SUCCESS == rc && 0 != failed[1]) {
        nicbarr_record_nic_test(module->choice.nic, false);
    }
    module->split_choice = module->choice;
    return rc;
}

/* Test the groups of MPI_Barrier and MPI_Ibarrier. *good becomes true if the packets of both groups
 * reach all members. All members start the test of a group at the same time, so its first epoch
 * should complete soon. If the first group fails on any member, no member tests the second group,
 * because it would wait there for members that have already given up. */
static int test_groups(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct myr_error *error, bool *good)
{
    struct myr_nic_group *const groups[] = {&module->nic, &module->split};
    int rc = OMPI_SUCCESS;
    *good = true;
    for (int g = 0; OMPI_SUCCESS == rc && *good && g < 2; ++g) {
        rc = nicbarr_openmpi_barrier(comm, &module->openmpi);
        if (OMPI_SUCCESS == rc) {
            *good = nicbarr_group_try(groups[g], error);
            rc = agree_on_success(module, comm, good);
        }
    }
    if (OMPI_SUCCESS == rc) {
        nicbarr_record_nic_test(module->choice.nic, *good);
    }
    return rc;
}

void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error)
{
    const bool ours = NULL != error && '\0' != error->text[0];
    nicbarr_group_leave(&module->nic);
    nicbarr_decline(
        module, comm,
        ours ? error->text
             : "the NICs' packets do not get through between other nodes, or one of these is out "
               "of memory (does a firewall block UDP, or do MTUs differ? see "
               "coll_nicbarr_network and coll_nicbarr_port)");
}

int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct myr_error error = {0};
    bool good = true;
    int rc = OMPI_SUCCESS;
    if (NICBARR_OPENMPI != module->choice.algorithm) {
        rc = join_groups(module, comm, &error, &good);
        if (OMPI_SUCCESS == rc && good) {
            rc = test_groups(module, comm, &error, &good);
        }
        if (OMPI_SUCCESS == rc && !good) {
            nicbarr_group_leave(&module->split); /* no request uses it yet */
            nicbarr_across_decline(module, comm, &error);
        }
    }
    if (OMPI_SUCCESS == rc && good) {
        nicbarr_barrier_event(module, NICBARR_EVENT_CHOSEN);
    }
    return rc;
}

int nicbarr_install_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (module->across && !myr_nic_group_joined(&module->split)) {
        return nicbarr_across_install(module, comm);
    }
    nicbarr_barrier_event(module, NICBARR_EVENT_CHOSEN);
    return OMPI_SUCCESS;
}

/* The group is not tested, because packets have got through in other groups of this kind. */
int nicbarr_across_join_one(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_joining *joining)
{
    struct myr_error errors[NICBARR_NICS_MOST] = {{0}};
    int rc = nicbarr_groups_join(module, comm, joining, 1, errors);
    bool good = OMPI_SUCCESS == rc && !joining->failed;
    rc = OMPI_SUCCESS == rc ? agree_on_success(module, comm, &good) : rc;
    if (OMPI_SUCCESS != rc || !good) {
        nicbarr_group_leave(joining->group);
    }
    return rc;
}

void nicbarr_across_decline_suspect(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    nicbarr_decline(module, comm,
                    "packets did not get through for an earlier communicator; a later one will try "
                    "again");
}

int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const char *why = NULL;
    bool all_suspect = false;
    int rc = find_nodes(module, comm, &why);
    if (OMPI_SUCCESS == rc && NULL == why) {
        why = nicbarr_forced_unusable(&module->shape);
    }
    if (OMPI_SUCCESS == rc && NULL != why) {
        nicbarr_decline(module, comm, why);
        return OMPI_SUCCESS;
    }
    rc = OMPI_SUCCESS == rc ? get_proposal(module, comm, &all_suspect) : rc;
    if (OMPI_SUCCESS == rc && !module->sealed && 0 == ompi_comm_rank(comm)) {
        opal_output_verbose(
            1, mca_coll_nicbarr_component.output,
            "nicbarr: secrets of barriers are sent in the clear over Open MPI's own "
            "connections, because nicbarr was built without libsodium on a node");
    }
    if (OMPI_SUCCESS == rc && all_suspect) {
        nicbarr_across_decline_suspect(module, comm);
    } else if (OMPI_SUCCESS == rc && NICBARR_FORCED == module->source) {
        rc = nicbarr_across_install(module, comm);
    } else if (OMPI_SUCCESS == rc) {
        nicbarr_barrier_event(module, NICBARR_UNDECIDED == module->source
                                          ? NICBARR_EVENT_SHAPE_UNKNOWN
                                          : NICBARR_EVENT_SHAPE_KNOWN);
    }
    if (OMPI_SUCCESS == rc && !module->declined) {
        nicbarr_report_record(module, comm, NULL, NULL);
    }
    return rc;
}
