/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RTT(P): what a 1:P P:1 ping-pong between the nodes takes (Hoefler et al., section 2.1), for the
 * model (model.h). Called by tune.c, for each player that has candidates, where there will be a
 * report.
 *
 * A ping-pong is a group of NICs like a candidate's, with another schedule. One process of each of
 * its nodes is in it, so that it shows the network and not how the node's processes meet; nodes
 * beyond P, who have nothing to do, and all other processes wait for it in the reduction by which
 * all learn whether it failed. What counts is rank 0's clock.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include "coll_nicbarr/together.h"
#include "coll_nicbarr/tuning.h"

enum { FEWEST = 9, MOST = 50 }; /* round trips for each P */

_Static_assert((int)NICBARR_GROUP_BARRIER + (int)NICBARR_CANDIDATES <= (int)NICBARR_GROUP_PING_PONG,
               "groups' numbers, and so their keys, are their own");

/* The ping-pongs of all players. */
struct trips {
    const mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    struct nicbarr_round_trips *results; /* [NICBARR_PLAYERS] */
    struct myr_nic_group groups[NICBARR_PLAYERS][NICBARR_ROUND_TRIPS];
    double failed[NICBARR_PLAYERS]; /* not 0 */
    int turns[NICBARR_PLAYERS];
};

static bool takes_part(const struct trips *trips, uint32_t peers)
{
    const struct nicbarr_nodes *nodes = trips->module->nodes;
    return 0 == nodes->local && nodes->node <= peers;
}

static bool join(struct trips *trips, int player)
{
    struct nicbarr_round_trips *result = &trips->results[player];
    struct myr_error error = {0};
    bool good = true;
    nicbarr_model_peers(trips->module->nodes->nodes, MCP_KERNEL_MESSAGES, result);
    for (uint32_t i = 0; good && i < result->count; ++i) {
        const uint32_t number =
            NICBARR_GROUP_PING_PONG + (uint32_t)player * NICBARR_ROUND_TRIPS + i;
        good = !takes_part(trips, result->of[i].peers) ||
               nicbarr_across_join_ping_pong(trips->module, (enum nicbarr_player)player,
                                             result->of[i].peers, number, &trips->groups[player][i],
                                             &error);
    }
    return good;
}

/* All that are in it set off together in the first one, which does not count. */
static bool play(struct trips *trips, int player, uint32_t i)
{
    struct nicbarr_round_trips *result = &trips->results[player];
    double us[MOST];
    for (int turn = -1; turn < trips->turns[player]; ++turn) {
        const double start = nicbarr_now_us();
        if (!nicbarr_across_try(&trips->groups[player][i])) {
            return false;
        }
        us[turn < 0 ? 0 : turn] = nicbarr_now_us() - start;
    }
    result->of[i].median_us = nicbarr_quartiles(us, (uint32_t)trips->turns[player]).median;
    result->of[i].least_us = us[0]; /* they are sorted now */
    return true;
}

/* One ping-pong, where nobody has failed yet. */
static int measure(struct trips *trips, int player, uint32_t i)
{
    const int rc = nicbarr_maximum(trips->comm, trips->failed, NICBARR_PLAYERS);
    if (OMPI_SUCCESS == rc && 0 == trips->failed[player] &&
        NULL != trips->groups[player][i].record && !play(trips, player, i)) {
        trips->failed[player] = 1;
    }
    return rc;
}

static int measure_all(struct trips *trips)
{
    int rc = OMPI_SUCCESS;
    for (int p = 0; p < NICBARR_PLAYERS; ++p) {
        for (uint32_t i = 0; OMPI_SUCCESS == rc && i < trips->results[p].count; ++i) {
            rc = measure(trips, p, i);
        }
    }
    return OMPI_SUCCESS == rc ? nicbarr_maximum(trips->comm, trips->failed, NICBARR_PLAYERS) : rc;
}

int nicbarr_round_trips(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        const int turns[NICBARR_PLAYERS], struct nicbarr_tuning *tuning)
{
    struct trips trips = {.module = module, .comm = comm, .results = tuning->round_trips};
    for (int p = 0; p < NICBARR_PLAYERS; ++p) {
        trips.turns[p] = turns[p] < FEWEST ? FEWEST : turns[p] > MOST ? MOST : turns[p];
        trips.failed[p] = 0 != turns[p] && !join(&trips, p);
    }
    const int rc = measure_all(&trips);
    for (int p = 0; p < NICBARR_PLAYERS; ++p) {
        for (uint32_t i = 0; i < NICBARR_ROUND_TRIPS; ++i) {
            nicbarr_across_leave(&trips.groups[p][i]);
        }
        tuning->round_trips[p].count = 0 == trips.failed[p] ? tuning->round_trips[p].count : 0;
    }
    return rc;
}
