/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that creating and freeing communicators leaks no memory, descriptors or mappings.
 *
 * The program creates, uses and frees communicators in cycles, mostly duplicates of MPI_COMM_WORLD.
 * A few exist at a time, so that pools reuse entries in another order than that in which they were
 * returned. After a warm-up (pools fill, Open MPI's free lists grow) each process reads its state
 * in /proc; at the end it does so again, and the values must not have grown. At both times none of
 * its own communicators exists.
 *
 * Bytes and counts are checked; the time per cycle of the first and of the last tenth is only
 * reported.
 *
 * --leak shows that the test can fail: it leaks a descriptor and a shared page in each cycle.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "common.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long cycles;
static long max_rss_kib = 1024;
static long max_mappings = 8;
static long leak;

static const struct test_option options[] = {
    {"--cycles", OPTION_LONG, &cycles, "cycles in all (20000 divided by the number of processes)"},
    {"--max-rss", OPTION_LONG, &max_rss_kib, "KiB that the resident set may grow by (1024)"},
    {"--max-mappings", OPTION_LONG, &max_mappings, "mappings that may be added (8; malloc's)"},
    {"--leak", OPTION_FLAG, &leak, "leak a descriptor and a mapping in each cycle, to see it fail"},
};

enum { ALIVE = 8 };

/* ---- the resources of a process ---- */

struct holdings {
    /* the last one: pinned by RDMA devices */
    long rss_kib, descriptors, mappings, shared_kib, pinned_kib;
};

static long count_descriptors(void)
{
    long n = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        test_fail("soak", "cannot read /proc/self/fd");
    while (readdir(directory))
        n++;
    closedir(directory);
    return n - 3; /* ".", ".." and the directory's own */
}

static struct holdings measure_holdings(void)
{
    struct holdings holdings = {.descriptors = count_descriptors()};
    char line[512], permissions[8];
    unsigned long from, to;

    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, permissions) != 3)
            continue; /* the rest of a line that was too long */
        holdings.mappings++;
        if (permissions[3] == 's')
            holdings.shared_kib += (long)((to - from) / 1024);
    }
    if (file)
        fclose(file);
    file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "VmRSS: %ld", &holdings.rss_kib);
        sscanf(line, "VmPin: %ld", &holdings.pinned_kib);
    }
    if (file)
        fclose(file);
    return holdings;
}

/* Report the largest growth over all processes, and check the growth of this one. */
static void compare_figure(const char *what, long before, long after, long allowed)
{
    long mine = after - before, largest, figures[2] = {before, after};
    MPI_Reduce(&mine, &largest, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(figures, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    test_report("  %-20s rank 0: %8ld -> %8ld, largest growth of a rank %ld, allowed %ld\n", what,
                figures[0], figures[1], largest, allowed);
    TEST_CHECK(mine <= allowed, "soak", "%s: expected growth of at most %ld, found %ld -> %ld",
               what, allowed, before, after);
}

/* ---- cycles ---- */

/* The ledgers are created once and used for one communicator after the other, because the memory
 * of the test itself must not grow. */
static struct ledger on_dups[ALIVE], on_half, on_single;

/* Does nothing if the place is empty. */
static void free_dup(int slot)
{
    if (on_dups[slot].comm != MPI_COMM_NULL)
        MPI_Comm_free(&on_dups[slot].comm);
}

static void leak_something(void)
{
    int fd = memfd_create("lost", MFD_CLOEXEC);
    if (ftruncate(fd, 4096) != 0 ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
        test_fail("soak", "cannot even leak");
}

/* Execute one cycle: most use a new duplicate in one of the places, and free the previous one
 * there. */
static void cycle(struct rng *plan)
{
    int slot = (int)rng_below(plan, ALIVE);
    free_dup(slot);
    MPI_Comm_dup(MPI_COMM_WORLD, &on_dups[slot].comm);
    switch (rng_below(plan, 8)) {
    case 0: /* not used */
        break;
    case 1:
        checked_ibarrier(&on_dups[slot]);
        break;
    case 2:
        MPI_Comm_split(MPI_COMM_WORLD, test.rank < test.size / 2, 0, &on_half.comm);
        checked_barrier(&on_half);
        checked_barrier(&on_dups[slot]);
        MPI_Comm_free(&on_half.comm);
        break;
    case 3:
        MPI_Comm_dup(MPI_COMM_SELF, &on_single.comm);
        checked_barrier(&on_single);
        MPI_Comm_free(&on_single.comm);
        /* fall through */
    default:
        checked_barrier(&on_dups[slot]);
        checked_barrier(&on_dups[slot]);
    }
    if (leak)
        leak_something();
}

static void free_all(void)
{
    for (int slot = 0; slot < ALIVE; slot++)
        free_dup(slot);
}

static void open_ledgers(struct arena *arena)
{
    for (int slot = 0; slot < ALIVE; slot++) {
        ledger_open(&on_dups[slot], arena, (unsigned)slot, MPI_COMM_WORLD, "dup %d", slot);
        on_dups[slot].comm = MPI_COMM_NULL;
    }
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, test.rank < test.size / 2, 0, &half);
    ledger_open(&on_half, arena, ALIVE, half, "half");
    MPI_Comm_free(&half);
    ledger_open(&on_single, arena, ALIVE + 1, MPI_COMM_SELF, "dup of SELF");
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "soak", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (cycles <= 0)
        cycles = 20000 / test.size;
    if (cycles < 100)
        cycles = 100;
    struct arena arena;
    arena_open(&arena, MPI_COMM_WORLD, ALIVE + 2);
    open_ledgers(&arena);

    struct rng plan = rng_make(STREAM_PLAN);
    struct holdings warm = {0};
    long tenth = cycles / 10, warm_up = cycles / 5;
    double start = test_seconds(), first = 0, last_start = 0;
    test_phase("cycles");
    for (long i = 0; i < cycles; i++) {
        if (i == tenth)
            first = test_seconds() - start;
        if (i == cycles - tenth)
            last_start = test_seconds();
        if (i == warm_up) {
            free_all();
            warm = measure_holdings();
        }
        cycle(&plan);
    }
    double last = test_seconds() - last_start;
    free_all();
    struct holdings end = measure_holdings();

    test_report("soak: %ld cycles, %.1f us each in the first tenth, %.1f us in the last\n", cycles,
                1e6 * first / (double)tenth, 1e6 * last / (double)tenth);
    test_report("after %ld cycles -> at the end:\n", warm_up);
    compare_figure("resident set, KiB", warm.rss_kib, end.rss_kib, max_rss_kib);
    compare_figure("open descriptors", warm.descriptors, end.descriptors, 0);
    compare_figure("mappings", warm.mappings, end.mappings, max_mappings);
    compare_figure("shared mappings, KiB", warm.shared_kib, end.shared_kib, 0);
    compare_figure("pinned memory, KiB", warm.pinned_kib, end.pinned_kib, 0);

    for (int slot = 0; slot < ALIVE; slot++)
        ledger_close(&on_dups[slot]);
    ledger_close(&on_half);
    ledger_close(&on_single);
    arena_close(&arena);
    return test_end("");
}
