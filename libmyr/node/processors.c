/* SPDX-License-Identifier: BSD-3-Clause */
/* Detection of oversubscribed CPUs; see segment.h.
 *
 * Each process publishes its affinity mask in its entry of the process table when it joins the
 * segment (segment.c), and again when it finds that its binding has changed. Waiting processes
 * check whether the CPUs are oversubscribed.
 *
 * Invariant: the segment's word `population` changes whenever an entry of the process table does,
 * so a process has to count processes and CPUs again only after this word has changed. */
#include "libmyr/node/segment_inside.h"

#include <sched.h>
#include <string.h>

static void read_processors(uint64_t processors[MYR_PROCESSORS / 64])
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        CPU_SET(0, &set);
    }
    memset(processors, 0, MYR_PROCESSORS / 8);
    /* CPU_SETSIZE is not suitable, because in musl it is the number of bytes (128). */
    for (int p = 0; p < MYR_PROCESSORS && p < (int)(8 * sizeof(set)); ++p) {
        if (CPU_ISSET(p, &set)) {
            processors[p / 64] |= UINT64_C(1) << (p % 64);
        }
    }
}

static uint32_t lowest_processor(const uint64_t processors[MYR_PROCESSORS / 64])
{
    for (uint32_t i = 0; i < MYR_PROCESSORS / 64; ++i) {
        if (0 != processors[i]) {
            return 64 * i + (uint32_t)__builtin_ctzll(processors[i]);
        }
    }
    return 0;
}

void myr_publish_processors(struct myr_sram_process *process)
{
    read_processors(process->processors);
    process->home = lowest_processor(process->processors);
}

uint32_t myr_segment_home(const struct myr_segment *segment, uint32_t number)
{
    return segment->sram->process[number % MYR_PROCESSES].home;
}

const myr_word *myr_segment_population(const struct myr_segment *segment)
{
    return &segment->sram->population;
}

/* The number of processes and the number of CPUs that they may use, both for the whole node and for
 * the processes that are bound to CPUs of the set `within`. Masks are read without synchronisation,
 * so a process may read a mask that is just being changed. This is corrected, because the owner of
 * the mask increments `population` after the change, whereupon the processes count again. */
struct census {
    uint32_t processes, processors; /* of the whole node */
    uint32_t rivals, own;           /* restricted to `within` */
};

static struct census take_census(const struct myr_segment *segment,
                                 const uint64_t within[MYR_PROCESSORS / 64])
{
    struct census census = {0};
    uint64_t all[MYR_PROCESSORS / 64] = {0};
    for (uint32_t i = 0; i < segment->sram->processes; ++i) {
        const struct myr_sram_process *process = &segment->sram->process[i];
        if (0 == myr_load_acquire(&process->attached)) {
            continue;
        }
        bool inside = true;
        for (int w = 0; w < MYR_PROCESSORS / 64; ++w) {
            all[w] |= process->processors[w];
            inside = inside && 0 == (process->processors[w] & ~within[w]);
        }
        ++census.processes;
        census.rivals += inside;
    }
    for (int w = 0; w < MYR_PROCESSORS / 64; ++w) {
        census.processors += (uint32_t)__builtin_popcountll(all[w]);
        census.own += (uint32_t)__builtin_popcountll(within[w]);
    }
    return census;
}

bool myr_segment_oversubscribed(struct myr_segment *segment)
{
    uint64_t processors[MYR_PROCESSORS / 64];
    struct myr_sram_process *self = &segment->sram->process[segment->index];
    read_processors(processors);
    if (0 != memcmp(processors, self->processors, sizeof(processors))) {
        memcpy(self->processors, processors, sizeof(processors));
        myr_fetch_add(&segment->sram->population);
    }
    const struct census census = take_census(segment, processors);
    return census.processes > census.processors || census.rivals > census.own;
}

uint32_t myr_segment_processors(const struct myr_segment *segment)
{
    return take_census(segment, segment->sram->process[segment->index].processors).processors;
}
