/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures RTT(P), the time of a 1:P P:1 ping-pong between nodes (Hoefler et al., section 2.1), as
 * input to the model (model.h). tune.c calls it for each NIC that has candidates, if a report will
 * be written.
 *
 * A ping-pong is executed by a group of NICs, like the barrier of a candidate, but with the
 * schedule of the ping-pong. Only one process per node participates, so the result is the time on
 * the network without the synchronisation within a node. Rank 0 measures the time. All other
 * processes meanwhile wait in the reduction by which the ranks agree on whether the ping-pong
 * failed. */
#include "coll_nicbarr/coll_nicbarr.h"

#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/choice/tuning.h"
#include "coll_nicbarr/groups.h"

enum { FEWEST = 9, MOST = 50 }; /* minimum and maximum of round trips for each P */

/* The ping-pongs of all NICs. */
struct trips {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    struct nicbarr_round_trips *results; /* [NICBARR_NICS_MOST] */
    struct myr_nic_group groups[NICBARR_NICS_MOST][NICBARR_ROUND_TRIPS];
    double failed[NICBARR_NICS_MOST]; /* non-zero if the NIC failed on any rank */
    int repetitions[NICBARR_NICS_MOST];
};

static bool participates(const struct trips *trips, uint32_t peers)
{
    const struct nicbarr_nodes *nodes = &trips->module->nodes;
    return 0 == nodes->local && nodes->node <= peers;
}

/* Join the groups of all ping-pongs. If one group of a NIC cannot be joined, the NIC is not
 * measured. */
static int join_groups(struct trips *trips)
{
    struct nicbarr_joining list[NICBARR_NICS_MOST * NICBARR_ROUND_TRIPS];
    struct myr_error errors[NICBARR_NICS_MOST] = {{0}};
    int count = 0;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        struct nicbarr_round_trips *result = &trips->results[nic];
        if (0 == trips->repetitions[nic]) {
            continue;
        }
        nicbarr_model_peers(trips->module->nodes.nodes, nicbarr_kind(nic)->caps.sends, result);
        for (uint32_t i = 0; i < result->count; ++i) {
            const uint32_t peers = result->of[i].peers;
            list[count++] = (struct nicbarr_joining){
                .choice = {.nic = nic},
                .peers = peers,
                .group = participates(trips, peers) ? &trips->groups[nic][i] : NULL,
            };
        }
    }
    const int rc = nicbarr_groups_join(trips->module, trips->comm, list, count, errors);
    for (int j = 0; j < count; ++j) {
        if (list[j].failed) {
            trips->failed[list[j].choice.nic] = 1;
        }
    }
    return rc;
}

/* Execute the round trips. The first one synchronises the participants, and is not counted. */
static bool play_round_trips(struct trips *trips, uint32_t nic, uint32_t i)
{
    struct nicbarr_round_trips *result = &trips->results[nic];
    struct myr_error error; /* ignored, because a failure only removes the model from the report */
    double us[MOST];
    for (int repetition = -1; repetition < trips->repetitions[nic]; ++repetition) {
        const double start = nicbarr_now_us();
        if (!nicbarr_group_try(&trips->groups[nic][i], &error)) {
            return false;
        }
        us[repetition < 0 ? 0 : repetition] = nicbarr_now_us() - start;
    }
    result->of[i].median_us = nicbarr_quartiles(us, (uint32_t)trips->repetitions[nic]).median;
    result->of[i].least_us = us[0]; /* nicbarr_quartiles() has sorted the samples */
    return true;
}

/* Measure one ping-pong, unless an earlier one on the same NIC failed on any rank. */
static int measure_round_trip(struct trips *trips, uint32_t nic, uint32_t i)
{
    const int rc = nicbarr_maximum(trips->module, trips->comm, trips->failed, NICBARR_NICS_MOST);
    if (OMPI_SUCCESS == rc && 0 == trips->failed[nic] &&
        myr_nic_group_joined(&trips->groups[nic][i]) && !play_round_trips(trips, nic, i)) {
        trips->failed[nic] = 1;
    }
    return rc;
}

static int measure_round_trips(struct trips *trips)
{
    int rc = OMPI_SUCCESS;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        for (uint32_t i = 0; OMPI_SUCCESS == rc && i < trips->results[nic].count; ++i) {
            rc = measure_round_trip(trips, nic, i);
        }
    }
    return OMPI_SUCCESS == rc
               ? nicbarr_maximum(trips->module, trips->comm, trips->failed, NICBARR_NICS_MOST)
               : rc;
}

int nicbarr_round_trips(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        const int repetitions[NICBARR_NICS_MOST], struct nicbarr_tuning *tuning)
{
    struct trips trips = {.module = module, .comm = comm, .results = tuning->round_trips};
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        trips.repetitions[nic] = 0 == repetitions[nic]       ? 0
                                 : repetitions[nic] < FEWEST ? FEWEST
                                 : repetitions[nic] > MOST   ? MOST
                                                             : repetitions[nic];
    }
    int rc = join_groups(&trips);
    rc = OMPI_SUCCESS == rc ? measure_round_trips(&trips) : rc;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        for (uint32_t i = 0; i < NICBARR_ROUND_TRIPS; ++i) {
            nicbarr_group_leave(&trips.groups[nic][i]);
        }
        tuning->round_trips[nic].count =
            0 == trips.failed[nic] ? tuning->round_trips[nic].count : 0;
    }
    return rc;
}
