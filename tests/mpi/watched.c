/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that re-evaluating a choice during the program's own barriers (coll_nicbarr_tune_watch)
 * does not break them. In such a comparison the component compares the algorithm in use with
 * another candidate. Whichever algorithm executes them, the calls must be barriers, and all
 * processes must count the same comparisons and the same switches.
 *
 * --least N and --most N bound the number of comparisons. Their outcome depends on the machine, and
 * is therefore reported instead of checked.
 *
 * --data does the same for collectives with data, whose choices are measured again. The program
 * compares results bit by bit, also those of non-blocking calls meanwhile, and of communicators
 * that are created and freed. The machine determines how soon there is time for a measurement;
 * calls therefore continue until it has happened --least times, or --calls were made.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long barriers = 3000, calls = 2000000000, least, most = -1, late, data;
static const struct test_option options[] = {
    {"--barriers", OPTION_LONG, &barriers, "barriers on MPI_COMM_WORLD (3000)"},
    {"--data", OPTION_FLAG, &data, "collectives with data instead"},
    {"--calls", OPTION_LONG, &calls, "of each of these, at most"},
    {"--least", OPTION_LONG, &least, "least number of comparisons (0)"},
    {"--most", OPTION_LONG, &most, "most of them"},
    {"--late", OPTION_FLAG, &late, "processes are late by random times"},
};

/* Returns a handle of the performance variable coll_nicbarr_NAME, which counts from this call
 * on. */
static MPI_T_pvar_handle counter(MPI_T_pvar_session session, const char *name)
{
    char full[64];
    int index, values;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    snprintf(full, sizeof(full), "coll_nicbarr_%s", name);
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index), full,
               "it does not exist");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values), full,
               "no handle can be allocated");
    return handle;
}

static unsigned long long read_counter(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_read(session, handle, &value), "counters",
               "it cannot be read");
    return value;
}

/* Check that all processes have the same value. */
static void check_same(const char *name, unsigned long long mine)
{
    unsigned long long low, high;
    MPI_Allreduce(&mine, &low, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &high, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    TEST_CHECK(low == high, name, "%llu here, from %llu to %llu on the processes", mine, low, high);
}

static void play_barriers(struct rng *mine)
{
    struct arena arena;
    struct ledger world;
    arena_open(&arena, MPI_COMM_WORLD, 1);
    ledger_open(&world, &arena, 0, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    test_phase("barriers");
    for (long i = 0; i < barriers; ++i) {
        if (late && 0 == rng_below(mine, 4))
            delay_random(mine);
        checked_barrier(&world);
    }
    ledger_close(&world);
    arena_close(&arena);
}

/* ---- collectives with data ---- */

enum { LONGER = 40 /* doubles, another size class */, SEVERAL = 500 /* calls */ };

/* Returns the contribution of `rank` to call number `i`. Sums of these are exact. */
static double given(long i, int rank)
{
    return (double)(i % 1000 * 64 + rank);
}

static double sum_of_given(long i)
{
    double sum = 0;
    for (int r = 0; r < test.size; ++r)
        sum += given(i, r);
    return sum;
}

static void check_all(const double *values, int count, double expected, const char *what, long i)
{
    for (int v = 0; v < count; ++v)
        TEST_CHECK(0 == memcmp(&values[v], &expected, sizeof(expected)), what,
                   "number %ld has %f at %d, not %f", i, values[v], v, expected);
}

static void reduce_and_check(MPI_Comm comm, long i, int count)
{
    double mine[LONGER], all[LONGER];
    for (int v = 0; v < count; ++v)
        mine[v] = given(i, test.rank);
    MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, comm);
    check_all(all, count, sum_of_given(i), "allreduce", i);
}

/* Make one call of each collective, with a constant root and with one that changes. */
static void call_and_check(long i)
{
    const int root = (int)(i % test.size);
    double mine = given(i, test.rank), sum = 0, *all = malloc((size_t)test.size * sizeof(*all));
    TEST_CHECK(all != NULL, "memory", "it does not exist");
    reduce_and_check(MPI_COMM_WORLD, i, 1);
    reduce_and_check(MPI_COMM_WORLD, i, LONGER);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    check_all(&sum, 0 == test.rank, sum_of_given(i), "reduce", i);
    sum = test.rank == root ? mine : 0;
    MPI_Bcast(&sum, 1, MPI_DOUBLE, root, MPI_COMM_WORLD);
    check_all(&sum, 1, given(i, root), "bcast", i);
    MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int r = 0; r < test.size; ++r)
        check_all(&all[r], 1, given(i, r), "allgather", i);
    MPI_Scatter(all, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, root, MPI_COMM_WORLD);
    check_all(&sum, 1, mine, "scatter", i);
    memset(all, 0, (size_t)test.size * sizeof(*all));
    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; r < test.size && 0 == test.rank; ++r)
        check_all(&all[r], 1, given(i, r), "gather", i);
    free(all);
}

/* Make the same calls while non-blocking ones are outstanding. */
static void call_within(long i)
{
    MPI_Request pending[2];
    double mine = given(i, test.rank), sum = 0, sent = 0 == test.rank ? mine : 0;
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &pending[0]);
    MPI_Ibcast(&sent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &pending[1]);
    call_and_check(i);
    MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
    check_all(&sum, 1, sum_of_given(i), "iallreduce", i);
    check_all(&sent, 1, given(i, 0), "ibcast", i);
}

static void use_new_communicator(long i)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (long n = 0; n < SEVERAL; ++n)
        reduce_and_check(comm, i + n, 1);
    MPI_Comm_free(&comm);
}

/* Each rank knows when to stop, because all have the same counts. */
static void play_data(MPI_T_pvar_session session, MPI_T_pvar_handle remeasured, struct rng *mine)
{
    test_phase("collectives that carry data");
    for (long i = 0; i < calls; ++i) {
        if (late && 0 == rng_below(mine, 20))
            delay_random(mine);
        if (0 == i % 3)
            call_within(i);
        else
            call_and_check(i);
        if (SEVERAL - 1 == i % SEVERAL) {
            const unsigned long long times = read_counter(session, remeasured);
            check_same("measured anew", times);
            if (times >= (unsigned long long)least && most < 0)
                return;
            if (i < 8 * SEVERAL)
                use_new_communicator(i);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_T_pvar_session session;
    int provided;
    char note[80];
    test_begin(argc, argv, "watched", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    TEST_CHECK(MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "init", "it fails");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_session_create(&session), "session", "it fails");
    MPI_T_pvar_handle comparison_counter = counter(session, data ? "remeasured" : "comparisons");
    MPI_T_pvar_handle of_switches = counter(session, data ? "remeasured_switches" : "switches");
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    if (data)
        play_data(session, comparison_counter, &mine);
    else
        play_barriers(&mine);

    const unsigned long long comparisons = read_counter(session, comparison_counter);
    const unsigned long long switches = read_counter(session, of_switches);
    check_same("comparisons", comparisons);
    check_same("switches", switches);
    TEST_CHECK(comparisons >= (unsigned long long)least, "comparisons",
               "there were %llu, expected %ld", comparisons, least);
    TEST_CHECK(most < 0 || comparisons <= (unsigned long long)most, "comparisons",
               "there were %llu, expected at most %ld", comparisons, most);
    TEST_CHECK(switches <= comparisons, "switches", "there were %llu in %llu comparisons", switches,
               comparisons);
    MPI_T_pvar_handle_free(session, &comparison_counter);
    MPI_T_pvar_handle_free(session, &of_switches);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    snprintf(note, sizeof(note), "%s=%llu switches=%llu", data ? "remeasured" : "comparisons",
             comparisons, switches);
    return test_end(note);
}
