/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit of one node: what synchronising processes through shared memory costs without MPI.
 *
 * Called by nicbarr_raw_limit (forked processes) and nicbarr_bench (the ranks of a job). A team of
 * processes shares one zeroed block of memory. Every member joins it with its own struct raw_team.
 * All members play the same patterns in the same order, each as often as the others.
 *
 * Arrivals are epochs, not bits: a word only ever grows (modulo 2^32), so nothing is cleared and no
 * word is reused before everybody has seen it. Every word has one line of 128 bytes (the pair of
 * lines that processors prefetch together), except in the patterns that pack on purpose.
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

/* One thing that a team can do together; `play` is one operation (a barrier, or the one way of a
 * cache line from one process to the other). */
struct raw_pattern {
    const char *name;
    const char *what;
    bool barrier; /* false: a probe, which is not to be compared with barriers */
    void (*play)(const struct raw_team *team, struct raw_line *area, uint32_t epoch);
};

enum { RAW_PATTERNS = 7 };
extern const struct raw_pattern raw_patterns[RAW_PATTERNS];

/* Where the members run, as their allowed processors tell; the same for all members. */
struct raw_placement {
    unsigned processors; /* different processors that the members may use */
    bool bound;          /* members are kept to a part of those */
    bool crowded;        /* some members must share a processor: whoever waits must yield */
};

/* One process's view of its team; private to the process. */
struct raw_team {
    unsigned rank, size;
    unsigned leaf;          /* the members of one processor, or of several, are a leaf: which */
    unsigned leaf_size;     /* its members */
    unsigned leaves;        /* how many leaves the team has */
    bool yield;             /* give the processor away at the first failed poll */
    struct raw_line *areas; /* one area for each pattern, and one for raw_sync */
    uint32_t epochs[RAW_PATTERNS + 1];
};

/* The placement of `size` members from their affinity masks. */
struct raw_placement raw_place(const cpu_set_t *masks, unsigned size);

/* Bytes that a team of `size` shares. */
size_t raw_bytes(unsigned size);

/* Makes *team this process's view: `memory` is raw_bytes(size) bytes, zeroed, aligned to RAW_LINE
 * and shared by all members; `masks` are the members' affinity masks in the order of ranks, the
 * same for everyone. */
void raw_join(struct raw_team *team, void *memory, const cpu_set_t *masks, unsigned rank,
              unsigned size);

/* Whether the pattern means anything in this team. */
bool raw_suits(const struct raw_team *team, unsigned pattern);

/* Waits for all members, yielding: it must not disturb what is measured before or after. */
void raw_sync(struct raw_team *team);

/* Gets into step, then plays the pattern `iterations` times: microseconds that this took here. */
double raw_run(struct raw_team *team, unsigned pattern, unsigned iterations);

#endif
