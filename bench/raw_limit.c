/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_raw_limit: measures the minimum cost of a barrier on this node, without MPI.
 *
 * It is a program for users, which shows how far an MPI barrier is from the limit of the machine.
 * It forks the members of a team (raw.h) that share a mapping, and runs all patterns alternately
 * (ABAB), in short chunks. Member 0 takes the times.
 *
 * The parent only waits. If a member ends early, the parent kills the other members, and if the
 * parent dies, the kernel kills all of them. So no member keeps polling for one that has ended. */
#include <argp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "argp_number.h"
#include "chunk.h"
#include "raw.h"
#include "stats.h"

struct settings {
    unsigned processes;
    unsigned chunks;
    unsigned iterations; /* 0: as many as fit into a chunk */
    bool bind;
};

/* The results of member 0, in shared memory. The other processes of the team read `elapsed` after
 * the next raw_sync(). The parent reads everything else when these processes have ended. */
struct results {
    double elapsed;
    unsigned iterations[RAW_PATTERNS]; /* 0: not measured */
    double samples[];                  /* microseconds; pattern p, chunk c is at p * chunks + c */
};

/* ---- options ---- */

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "nicbarr_raw_limit " NICBARR_VERSION;

static const struct argp_option argp_options[] = {
    {"processes", 'n', "N", 0, "Number of processes (default 2)", 0},
    {"bind", 'b', NULL, 0, "Bind process i to the allowed CPU i modulo their number", 0},
    {"chunks", 'c', "N", 0, "Samples of each pattern (default 300)", 0},
    {"iterations", 'i', "N", 0, "Operations in a chunk (default: what fits 0.2 ms)", 0},
    {0},
};

static error_t parse_raw_limit_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'n':
        settings->processes = parse_argp_number(state, argument, 1, 4096);
        return 0;
    case 'b':
        settings->bind = true;
        return 0;
    case 'c':
        settings->chunks = parse_argp_number(state, argument, 1, 100000);
        return 0;
    case 'i':
        settings->iterations = parse_argp_number(state, argument, 1, 1000000000);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unknown argument '%s'", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_raw_limit_option,
    .doc = "Measures barriers of N processes in shared memory, without MPI, and the transfer of a "
           "cache line between two of them.",
};

/* ---- members ---- */

/* Returns the affinity masks. With --bind each member gets one allowed core, round-robin; otherwise
 * all members may use all of them. */
static cpu_set_t *member_masks(const struct settings *settings)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
        perror("nicbarr_raw_limit: sched_getaffinity");
        exit(EXIT_FAILURE);
    }
    cpu_set_t *masks = bench_alloc(settings->processes, sizeof(*masks));
    int processor = -1;
    for (unsigned member = 0; member < settings->processes; member++) {
        if (!settings->bind) {
            masks[member] = allowed;
            continue;
        }
        do {
            processor = (processor + 1) % CPU_SETSIZE;
        } while (!CPU_ISSET(processor, &allowed));
        CPU_ZERO(&masks[member]);
        CPU_SET(processor, &masks[member]);
    }
    return masks;
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("nicbarr_raw_limit: shared memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* Finds the number of iterations. All members find the same number, because all use the time of
 * member 0. */
static unsigned find_iterations(struct raw_team *team, unsigned pattern, struct results *results)
{
    struct chunk_search search = chunk_search();
    double elapsed;
    do {
        double mine = raw_run(team, pattern, search.iterations);
        if (team->rank == 0)
            results->elapsed = mine;
        raw_sync(team);
        elapsed = results->elapsed; /* unchanged until all members have passed the raw_sync of the
                                       next run */
    } while (!chunk_found(&search, elapsed));
    return search.iterations;
}

static void measure_patterns(struct raw_team *team, const struct settings *settings,
                             struct results *results)
{
    unsigned iterations[RAW_PATTERNS] = {0};
    for (unsigned p = 0; p < RAW_PATTERNS; p++)
        if (raw_suits(team, p))
            iterations[p] =
                settings->iterations ? settings->iterations : find_iterations(team, p, results);
    for (unsigned chunk = 0; chunk < settings->chunks; chunk++)
        for (unsigned p = 0; p < RAW_PATTERNS; p++)
            if (iterations[p]) {
                double elapsed = raw_run(team, p, iterations[p]);
                if (team->rank == 0)
                    results->samples[p * settings->chunks + chunk] = elapsed / iterations[p];
            }
    if (team->rank == 0)
        memcpy(results->iterations, iterations, sizeof(iterations));
    raw_sync(team);
}

static void end_members(const pid_t *members, unsigned count)
{
    for (unsigned member = 0; member < count; member++)
        if (members[member] > 0)
            kill(members[member], SIGKILL);
}

static void fork_members(pid_t *members, const struct settings *settings, const cpu_set_t *masks,
                         void *memory, struct results *results)
{
    pid_t parent = getpid();
    for (unsigned member = 0; member < settings->processes; member++) {
        members[member] = fork();
        if (members[member] < 0) {
            perror("nicbarr_raw_limit: fork");
            end_members(members, member);
            exit(EXIT_FAILURE);
        }
        if (members[member] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent has died before prctl */
            _exit(EXIT_FAILURE);
        if (sched_setaffinity(0, sizeof(masks[member]), &masks[member])) {
            perror("nicbarr_raw_limit: sched_setaffinity");
            _exit(EXIT_FAILURE);
        }
        struct raw_team team;
        raw_join(&team, memory, masks, member, settings->processes);
        measure_patterns(&team, settings, results);
        _exit(EXIT_SUCCESS);
    }
}

/* Returns whether all members ended successfully. */
static bool wait_for_members(pid_t *members, unsigned count)
{
    for (unsigned left = count; left > 0; left--) {
        int status;
        pid_t gone = wait(&status);
        if (gone < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
            fprintf(stderr,
                    "nicbarr_raw_limit: process %d exited early; the measurement is invalid\n",
                    (int)gone);
            end_members(members, count);
            return false;
        }
        for (unsigned member = 0; member < count; member++)
            if (members[member] == gone)
                members[member] = 0;
    }
    return true;
}

/* ---- report ---- */

static void report_patterns(const struct settings *settings, const cpu_set_t *masks,
                            const struct results *results)
{
    struct raw_placement placement = raw_compute_placement(masks, settings->processes);
    printf("# raw limit: %u processes on %u CPUs, %s, waiting by %s\n", settings->processes,
           placement.processors, placement.bound ? "bound" : "not bound",
           placement.crowded ? "sched_yield" : "polling");
    printf("# microseconds per operation, quartiles of %u interleaved chunks\n", settings->chunks);
    printf("%-14s%9s%9s%9s%12s  %s\n", "# pattern", "q1", "median", "q3", "Iterations", "what");
    const char *best = NULL;
    double best_median = 0;
    for (unsigned p = 0; p < RAW_PATTERNS; p++) {
        if (!results->iterations[p])
            continue;
        struct nicbarr_quartiles time =
            stats_quartiles(&results->samples[p * settings->chunks], settings->chunks);
        printf("%-14s%9.3f%9.3f%9.3f%12u  %s\n", raw_patterns[p].name, time.q1, time.median,
               time.q3, results->iterations[p], raw_patterns[p].what);
        if (raw_patterns[p].barrier && (!best || time.median < best_median)) {
            best = raw_patterns[p].name;
            best_median = time.median;
        }
    }
    printf("best barrier: %s, %.3f us\n", best, best_median);
}

int main(int argc, char **argv)
{
    struct settings settings = {.processes = 2, .chunks = 300};
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    if (settings.processes < 2) {
        printf("# one process: nothing to measure\n");
        return EXIT_SUCCESS;
    }

    cpu_set_t *masks = member_masks(&settings);
    void *memory = share(raw_bytes(settings.processes));
    struct results *results =
        share(sizeof(*results) + RAW_PATTERNS * (size_t)settings.chunks * sizeof(double));
    pid_t *members = bench_alloc(settings.processes, sizeof(*members));

    fork_members(members, &settings, masks, memory, results);
    bool complete = wait_for_members(members, settings.processes);
    if (complete)
        report_patterns(&settings, masks, results);
    free(members);
    free(masks);
    return complete ? EXIT_SUCCESS : EXIT_FAILURE;
}
