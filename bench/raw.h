/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit of one node: the cost of synchronising processes through shared memory, without
 * MPI.
 *
 * Called by nicbarr_raw_limit (forked processes) and nicbarr_bench (the ranks of a job). A team of
 * processes shares one zeroed block of memory. Each member joins it with its own struct raw_team.
 * All members run the same patterns in the same order, and equally often.
 *
 * Arrivals are epochs, not bits: a word only increases (modulo 2^32), so nothing has to be cleared,
 * and no word is reused before all members have read it. Each word has a block of 128 bytes of its
 * own (the pair of cache lines that processors prefetch together), except in patterns that pack
 * words on purpose.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_LINE 128
#define RAW_LINE_WORDS (RAW_LINE / sizeof(uint32_t))

struct raw_line {
    _Alignas(RAW_LINE) _Atomic uint32_t words[RAW_LINE_WORDS];
};

struct raw_team;

/* A pattern of synchronisation. `play` performs one operation: a barrier, or the transfer of a
 * cache line from one process to another. */
struct raw_pattern {
    const char *name;
    const char *what;
    bool barrier; /* false: the pattern must not be compared with barriers */
    void (*play)(const struct raw_team *team, struct raw_line *area, uint32_t epoch);
};

enum { RAW_PATTERNS = 7 };
extern const struct raw_pattern raw_patterns[RAW_PATTERNS];

/* The cores on which the members may run, according to their affinity masks. It is the same for all
 * members. */
struct raw_placement {
    unsigned processors; /* number of cores that any member may use */
    bool bound;          /* at least one member may use only some of these cores */
    bool crowded;        /* some members must share a core, so waiting members must yield */
};

/* A process's own view of its team. */
struct raw_team {
    unsigned rank, size;
    unsigned leaf;          /* index of its leaf, which is the set of members on the same cores */
    unsigned leaf_size;     /* number of members of its leaf */
    unsigned leaves;        /* number of leaves in the team */
    bool yield;             /* whether it yields the core after the first failed poll */
    struct raw_line *areas; /* one area per pattern, and one for raw_sync */
    uint32_t epochs[RAW_PATTERNS + 1];
};

/* Computes the placement of `size` members from their affinity masks. */
struct raw_placement raw_compute_placement(const cpu_set_t *masks, unsigned size);

/* Returns the bytes of memory that a team of `size` members shares. */
size_t raw_bytes(unsigned size);

/* Initializes this process's view. `memory` has raw_bytes(size) bytes, zeroed, aligned to RAW_LINE,
 * and shared by all members. `masks` are all members' affinity masks by rank; all members pass the
 * same masks. */
void raw_join(struct raw_team *team, void *memory, const cpu_set_t *masks, unsigned rank,
              unsigned size);

/* Returns whether the pattern is meaningful for this team. */
bool raw_suits(const struct raw_team *team, unsigned pattern);

/* Performs a barrier whose waits yield, so that it does not disturb measurements before and after
 * it. */
void raw_sync(struct raw_team *team);

/* Synchronises the team, then performs the pattern `iterations` times. Returns the microseconds on
 * this member. */
double raw_run(struct raw_team *team, unsigned pattern, unsigned iterations);

#endif
