/* SPDX-License-Identifier: BSD-3-Clause */
/* See world.h. */
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/nic/world.h"

const struct myr_soft_options loopback = {.network = "lo"};
const struct myr_wait_policy sleeping = {0, 0, 1000}, yielding = {0, 5000, 1000};

uint32_t size_of(const struct world *world)
{
    return world->nodes * world->locals;
}

struct world *make_world(uint32_t nodes, uint32_t locals, uint32_t epochs)
{
    static uint64_t worlds;
    struct world *world = crew_memory(sizeof(*world));
    world->nodes = nodes;
    world->locals = locals;
    world->epochs = epochs;
    world->seed = crew_seed() + 1000 * ++worlds;
    world->key = world->seed | 1;
    world->policy = &yielding;
    for (uint32_t n = 0; n < nodes; ++n) {
        crew_dir_make(world->dir[n], sizeof(world->dir[n]));
        world->network[n] = loopback.network;
    }
    return world;
}

void end_world(struct world *world)
{
    for (uint32_t n = 0; n < world->nodes; ++n) {
        crew_dir_remove(world->dir[n]);
    }
    crew_memory_free(world, sizeof(*world));
}

void meet(struct world *world, int point, uint32_t count)
{
    atomic_fetch_add(&world->come[point], 1);
    while (atomic_load(&world->come[point]) < count) {
        usleep(200);
    }
}

void await_go(struct world *world, uint32_t go)
{
    while (atomic_load(&world->go) < go) {
        usleep(200);
    }
}

void await_come(struct world *world, int point, uint32_t count)
{
    while (atomic_load(&world->come[point]) < count) {
        usleep(200);
    }
}
