/* SPDX-License-Identifier: BSD-3-Clause */
/* See rooted.h. */
#include "coll_nicbarr/data/rooted.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/groups.h"
#include "libmyr/groups/nic_bcast.h"

/* ---- joining ---- */

static int lowest_rank_of_first_node(const mca_coll_nicbarr_module_t *module)
{
    int rank = 0;
    while (0 != module->nodes.of[rank]) {
        ++rank;
    }
    return rank;
}

/* The vector of an epoch must be smaller than a block of `back`, because a full block would have to
 * be followed by an empty one (bcast_across.c). */
void nicbarr_rooted_attach_back(struct nicbarr_carrier *carrier, struct nicbarr_carrier *back,
                                int combiner)
{
    const uint32_t most = (myr_nic_bcast_most(&back->group) - 1) / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT;
    carrier->back = back;
    carrier->combiner = combiner;
    carrier->vector_most = carrier->vector_most < most ? carrier->vector_most : most;
}

/* Execute a first broadcast on each carrier that all members have joined. This test is necessary,
 * because a firewall may pass packets in one direction only. */
static int test_back_carriers(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              const struct nicbarr_carrier carriers[], int count, double failed[],
                              struct myr_error errors[NICBARR_NICS_MOST])
{
    const int rc = nicbarr_maximum(module, comm, failed, count);
    for (int c = 1; OMPI_SUCCESS == rc && c < count; ++c) {
        struct nicbarr_carrier *back = carriers[c].back;
        if (0 == failed[c] && NULL != back) {
            failed[c] = !nicbarr_group_try(&back->group, &errors[back->choice.nic]);
        }
    }
    return rc;
}

int nicbarr_rooted_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        uint32_t bytes, struct nicbarr_carrier carriers[], int count,
                        double failed[], struct myr_error errors[NICBARR_NICS_MOST])
{
    struct nicbarr_joining list[NICBARR_CANDIDATES];
    struct nicbarr_carrier *back[NICBARR_CANDIDATES];
    int joining = 0, of[NICBARR_CANDIDATES];
    for (int c = 1; c < count; ++c) {
        const struct nicbarr_choice choice = carriers[c].choice;
        if (NICBARR_ROOTED != choice.algorithm) {
            continue;
        }
        back[joining] = calloc(1, sizeof(*back[joining]));
        of[joining] = c;
        list[joining] = (struct nicbarr_joining){
            .choice = {NICBARR_DISSEMINATION, choice.parameter, choice.nic},
            .unit_most = nicbarr_bcast_unit(bytes),
            .broadcasts = true,
            .group = NULL == back[joining] ? NULL : &back[joining]->group,
        };
        ++joining;
    }
    if (0 == joining) {
        return OMPI_SUCCESS;
    }
    const int rc = nicbarr_groups_join(module, comm, list, joining, errors);
    for (int j = 0; j < joining; ++j) {
        const bool good =
            OMPI_SUCCESS == rc && NULL != back[j] && myr_nic_group_joined(&back[j]->group);
        failed[of[j]] += !good;
        if (!good) {
            free(back[j]);
        } else {
            back[j]->choice = list[j].choice;
            nicbarr_rooted_attach_back(&carriers[of[j]], back[j],
                                       lowest_rank_of_first_node(module));
        }
    }
    return OMPI_SUCCESS == rc ? test_back_carriers(module, comm, carriers, count, failed, errors)
                              : rc;
}

/* ---- results ---- */

/* Returns the result to be sent. If the processes passed vectors of different lengths, the result
 * has 0 bytes, which causes an error on the other processes as well. */
static struct nicbarr_result result_of(const struct nicbarr_carrier *carrier,
                                       const struct nicbarr_carried *carried, bool combines)
{
    const size_t bytes = carried->count * carried->extent;
    uint8_t *at = combines         ? nicbarr_carrier_combine(carrier, carried)
                  : carried->reads ? carried->to
                                   : carrier->stack;
    return (struct nicbarr_result){at, NULL == at ? 0 : bytes};
}

/* Store the result, of which `bytes` bytes are at `from`. */
static void store_result(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                         const uint8_t *from, size_t bytes)
{
    if (bytes != carried->count * carried->extent) {
        carried->rc = MPI_ERR_TRUNCATE;
    } else if (carried->reads && from != carried->to) {
        memcpy(carried->to, from, bytes);
    }
    nicbarr_carrier_next(carrier, carried);
}

int nicbarr_rooted_finish(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    struct nicbarr_result result =
        result_of(carrier, carried, carrier->combiner == ompi_comm_rank(comm));
    const int rc = nicbarr_carry_bcast(module, comm, carrier->back, result.at, &result.bytes,
                                       carrier->combiner);
    /* The combining rank sent more bytes than expected, but all blocks were consumed. */
    const bool longer = MPI_ERR_TRUNCATE == rc;
    if (OMPI_SUCCESS != rc && !longer) {
        nicbarr_rooted_fail(carrier);
        return rc;
    }
    store_result(carrier, carried, result.at, longer ? 0 : result.bytes);
    return OMPI_SUCCESS;
}

void nicbarr_rooted_fail(struct nicbarr_carrier *carrier)
{
    uint32_t node;
    if (myr_nic_group_failed(&carrier->back->group, &node)) {
        myr_nic_group_fail(&carrier->group, node);
    }
}

bool nicbarr_rooted_progress(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                             struct nicbarr_returning *returning)
{
    struct nicbarr_result *result = &returning->result;
    while (carried->ticket == carrier->served) {
        if (0 == carried->count) {
            nicbarr_carrier_arrive(carrier, carried);
        }
        if (!returning->begun) {
            if (!myr_nic_group_test(&carrier->group, carried->epoch)) {
                return false;
            }
            *result = result_of(carrier, carried, carrier->combiner == ompi_comm_rank(comm));
            nicbarr_carried_bcast_begin(module, comm, carrier->back, &returning->bcast, result->at,
                                        result->bytes, carrier->combiner);
            returning->begun = true;
        }
        if (!nicbarr_carried_bcast_progress(carrier->back, &returning->bcast)) {
            return false;
        }
        returning->begun = false;
        const bool longer = OMPI_SUCCESS != returning->bcast.rc;
        store_result(carrier, carried, result->at,
                     longer ? 0 : result->bytes - returning->bcast.left);
        if (0 == carried->left) {
            return true;
        }
    }
    return false;
}
