/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chosen barrier is challenged in the program's own barriers (coll_nicbarr_tune_watch). Whoever
 * plays them, each is a barrier, and all processes count the same duels and the same switches.
 *
 * --least N: there must have been so many duels. --most N: and no more. Whether a duel is lost
 * depends on the machine, so nothing is said about that; the report line tells.
 */
#include "common.h"

#include <stdio.h>
#include <string.h>

static long barriers = 3000, least, most = -1, late;
static const struct test_option options[] = {
    {"--barriers", OPTION_LONG, &barriers, "barriers on MPI_COMM_WORLD (3000)"},
    {"--least", OPTION_LONG, &least, "duels that there must be (0)"},
    {"--most", OPTION_LONG, &most, "and no more than so many"},
    {"--late", OPTION_FLAG, &late, "processes come late, by random times"},
};

/* The performance variable coll_nicbarr_NAME; it counts from here on. */
static MPI_T_pvar_handle counter(MPI_T_pvar_session session, const char *name)
{
    char full[64];
    int index, values;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    snprintf(full, sizeof(full), "coll_nicbarr_%s", name);
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index), full,
               "there is none");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values), full,
               "it has no handle");
    return handle;
}

static unsigned long long read_counter(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_read(session, handle, &value), "counters",
               "one cannot be read");
    return value;
}

/* It is the same on all processes. */
static void check_same(const char *name, unsigned long long mine)
{
    unsigned long long low, high;
    MPI_Allreduce(&mine, &low, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &high, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    TEST_CHECK(low == high, name, "%llu here, from %llu to %llu on the processes", mine, low, high);
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct ledger world;
    MPI_T_pvar_session session;
    int provided;
    char note[80];
    test_begin(argc, argv, "watched", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    TEST_CHECK(MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "init", "it fails");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_session_create(&session), "session", "it fails");
    MPI_T_pvar_handle of_duels = counter(session, "duels");
    MPI_T_pvar_handle of_switches = counter(session, "switches");
    arena_open(&arena, MPI_COMM_WORLD, 1);
    ledger_open(&world, &arena, 0, MPI_COMM_WORLD, "MPI_COMM_WORLD");

    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    test_phase("barriers");
    for (long i = 0; i < barriers; ++i) {
        if (late && 0 == rng_below(&mine, 4))
            delay_random(&mine);
        checked_barrier(&world);
    }

    const unsigned long long duels = read_counter(session, of_duels);
    const unsigned long long switches = read_counter(session, of_switches);
    check_same("duels", duels);
    check_same("switches", switches);
    TEST_CHECK(duels >= (unsigned long long)least, "duels", "there were %llu, expected %ld", duels,
               least);
    TEST_CHECK(most < 0 || duels <= (unsigned long long)most, "duels",
               "there were %llu, expected at most %ld", duels, most);
    TEST_CHECK(switches <= duels, "switches", "there were %llu in %llu duels", switches, duels);
    MPI_T_pvar_handle_free(session, &of_duels);
    MPI_T_pvar_handle_free(session, &of_switches);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    ledger_close(&world);
    arena_close(&arena);
    snprintf(note, sizeof(note), "duels=%llu switches=%llu", duels, switches);
    return test_end(note);
}
