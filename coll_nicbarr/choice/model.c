/* SPDX-License-Identifier: BSD-3-Clause */
/* See model.h. Every prediction simulates the schedules of all ranks. The predictions differ in
 * what costs time: cache lines, context switches or messages on the network. */
#include "coll_nicbarr/choice/model.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_PROCESSES = 512,
    BARRIERS = 8 /* simulated in sequence, because consecutive barriers overlap */
};

/* The state of a rank in the simulation of its schedule. */
struct rank {
    struct myr_schedule schedule;
    uint32_t barriers;    /* number of complete barriers */
    uint32_t step;        /* step in the current barrier */
    bool sent;            /* the messages of this step have been sent */
    const uint32_t *peer; /* the first peer of this step */
    double time;
};

/* The messages from one rank to another. A sender may be one barrier ahead of its receiver, so the
 * messages of two barriers are kept. */
struct post {
    uint32_t count;
    double time[2];    /* time of sending, by the parity of the barrier */
    uint32_t sends[2]; /* number of messages in the sender's step */
};

struct simulation {
    uint32_t size;
    struct rank *ranks;
    struct post *posts; /* [sender * size + receiver] */
    double line_us;
    const struct nicbarr_round_trips *trips; /* NULL on one node */
};

static void simulation_end(struct simulation *simulation)
{
    for (uint32_t r = 0; NULL != simulation->ranks && r < simulation->size; ++r) {
        nicbarr_schedule_destroy(&simulation->ranks[r].schedule);
    }
    free(simulation->ranks);
    free(simulation->posts);
}

/* Returns false if there is no schedule to simulate, or if out of memory. */
static bool simulation_begin(struct simulation *simulation, struct nicbarr_choice choice,
                             uint32_t size)
{
    if (NICBARR_OPENMPI == choice.algorithm || size < 2 || size > MOST_PROCESSES) {
        return false;
    }
    simulation->size = size;
    simulation->ranks = calloc(size, sizeof(*simulation->ranks));
    simulation->posts = calloc((size_t)size * size, sizeof(*simulation->posts));
    bool good = NULL != simulation->ranks && NULL != simulation->posts;
    for (uint32_t r = 0; good && r < size; ++r) {
        good = nicbarr_schedule_create(choice, size, r, &simulation->ranks[r].schedule);
        simulation->ranks[r].peer = simulation->ranks[r].schedule.peers;
    }
    if (!good) {
        simulation_end(simulation);
    }
    return good;
}

/* Returns RTT(P), interpolated between the two nearest measurements. The result is computed as a
 * weighted mean of both. If a multiple of their difference were added to one of them instead,
 * rounding could make a slower network appear faster. */
static double round_trip(const struct nicbarr_round_trips *trips, uint32_t peers)
{
    if (1 == trips->count) {
        return trips->of[0].least_us;
    }
    uint32_t i = 1;
    while (i + 1 < trips->count && trips->of[i].peers < peers) {
        ++i;
    }
    const double from = trips->of[i - 1].peers, to = trips->of[i].peers;
    const double part = (peers - from) / (to - from);
    return trips->of[i - 1].least_us * (1 - part) + trips->of[i].least_us * part;
}

/* Predict when a message that was sent at time `left` is received. In the step in which it is sent,
 * its sender sends `sends` messages. Its receiver waits for `waits` messages in one step, and has
 * received those before this one at time `time`. */
static double arrival_time(const struct simulation *simulation, double time, double left,
                           uint32_t sends, uint32_t waits)
{
    if (NULL == simulation->trips) {
        return (left > time ? left : time) + simulation->line_us;
    }
    const double there = left + round_trip(simulation->trips, sends > waits ? sends : waits) / 2;
    return there > time ? there : time;
}

/* Advance a rank until it has to wait or has completed all barriers. Returns true if it made
 * progress. */
static bool advance_rank(struct simulation *simulation, uint32_t rank)
{
    struct rank *p = &simulation->ranks[rank];
    bool moved = false;
    while (p->barriers < BARRIERS) {
        if (p->step == p->schedule.nsteps) {
            ++p->barriers;
            p->step = 0;
            p->peer = p->schedule.peers;
            continue;
        }
        const struct mcp_step *step = &p->schedule.steps[p->step];
        for (uint32_t i = 0; !p->sent && i < step->sends; ++i) {
            struct post *post = &simulation->posts[(size_t)rank * simulation->size + p->peer[i]];
            ++post->count;
            post->time[p->barriers % 2] = p->time;
            post->sends[p->barriers % 2] = step->sends;
            moved = true;
        }
        p->sent = true;
        double time = p->time;
        for (uint32_t i = 0; i < step->waits; ++i) {
            const struct post *post =
                &simulation->posts[(size_t)p->peer[step->sends + i] * simulation->size + rank];
            if (post->count <= p->barriers) {
                return moved;
            }
            time = arrival_time(simulation, time, post->time[p->barriers % 2],
                                post->sends[p->barriers % 2], step->waits);
        }
        p->time = time;
        p->peer += step->sends + step->waits;
        p->sent = false;
        ++p->step;
        moved = true;
    }
    return moved;
}

/* Predict the cost of a barrier if each process has a core of its own. In the simulation each rank
 * has its own clock, so the order in which the ranks are simulated does not matter. */
static double chain_us(struct simulation *simulation)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < simulation->size; ++r) {
            moved = advance_rank(simulation, r) || moved;
        }
    }
    double latest = 0;
    for (uint32_t r = 0; r < simulation->size; ++r) {
        latest = simulation->ranks[r].time > latest ? simulation->ranks[r].time : latest;
    }
    return latest / BARRIERS;
}

/* Returns the number of context switches per core and barrier if processes share cores. In each
 * iteration of the simulation, every core runs its next process until this process has to wait. */
static double context_switches(struct simulation *simulation, uint32_t processors)
{
    uint32_t count = 0, done = 0;
    uint32_t *next = calloc(processors, sizeof(*next));
    while (NULL != next && done < simulation->size) {
        ++count;
        for (uint32_t p = 0; p < processors; ++p) {
            const uint32_t residents = (simulation->size - p + processors - 1) / processors;
            advance_rank(simulation, p + next[p] * processors);
            next[p] = (next[p] + 1) % residents;
        }
        done = 0;
        for (uint32_t r = 0; r < simulation->size; ++r) {
            done += BARRIERS == simulation->ranks[r].barriers;
        }
    }
    free(next);
    return (double)count / BARRIERS;
}

double nicbarr_model_us(struct nicbarr_choice choice, uint32_t size,
                        const struct nicbarr_machine *machine)
{
    struct simulation simulation = {.line_us = machine->line_us};
    if (0 == machine->processors || !simulation_begin(&simulation, choice, size)) {
        return 0;
    }
    const double us = size > machine->processors
                          ? context_switches(&simulation, machine->processors) * machine->switch_us
                          : chain_us(&simulation);
    simulation_end(&simulation);
    return us;
}

/* ---- across nodes ---- */

void nicbarr_model_peers(uint32_t nodes, uint32_t most, struct nicbarr_round_trips *trips)
{
    const uint32_t others = nodes - 1 < most ? nodes - 1 : most;
    trips->count = 0;
    for (uint32_t i = 0; i + 1 < NICBARR_ROUND_TRIPS && UINT32_C(1) << i < others; ++i) {
        trips->of[trips->count++].peers = UINT32_C(1) << i;
    }
    trips->of[trips->count++].peers = others;
}

double nicbarr_model_across_us(struct nicbarr_choice choice, uint32_t nodes,
                               const struct nicbarr_round_trips *trips)
{
    struct simulation simulation = {.trips = trips};
    if (0 == trips->count || !simulation_begin(&simulation, choice, nodes)) {
        return 0;
    }
    const double us = chain_us(&simulation);
    simulation_end(&simulation);
    return us;
}
