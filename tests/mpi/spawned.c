/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a job that starts on one host and grows onto others gets correct barriers among all
 * its processes: it spawns processes onto another host, and all of them together spawn more.
 *
 * Each generation is merged with all earlier ones. The ledger checks barriers of all processes,
 * together with those of the previous generation's communicator. The communicator therefore has
 * pairs of processes that have known each other since their start, since another communicator, or
 * not at all.
 *
 * With --strangers the program starts two jobs instead, each on a host of its own, and passes one
 * job's MPI port to the other. The two jobs do not know each other until they connect.
 *
 * Neither Open MPI nor the program names a merged communicator.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *hosts = "", *more_hosts = "";
static long spawned = 2;
static long barriers = 300;
static long generations = 2;
static long generation;
static long strangers;
static const char *side = "";
static const char *ledger_path;

static const struct test_option options[] = {
    {"--hosts", OPTION_TEXT, &hosts,
     "where the first generation is spawned: the info key \"host\""},
    {"--more-hosts", OPTION_TEXT, &more_hosts, "where the others are spawned"},
    {"--spawned", OPTION_LONG, &spawned, "processes of each generation (2)"},
    {"--barriers", OPTION_LONG, &barriers, "on each communicator (300)"},
    {"--generations", OPTION_LONG, &generations, "number of generations (2)"},
    {"--strangers", OPTION_FLAG, &strangers, "two jobs on --hosts and --more-hosts connect"},
    {"--generation", OPTION_LONG, &generation, "this process's; internal"},
    {"--side", OPTION_TEXT, &side, "accept or connect; internal"},
    {"--cells", OPTION_TEXT, &ledger_path, "the value of --ledger for spawned processes"},
};

/* Start processes on these hosts, with this option and all other options. */
static MPI_Comm start(const char *program, MPI_Comm comm, const char *where, const char *option,
                      const char *value)
{
    char number[4][24];
    snprintf(number[0], sizeof(number[0]), "%ld", generations);
    snprintf(number[1], sizeof(number[1]), "%ld", spawned);
    snprintf(number[2], sizeof(number[2]), "%ld", barriers);
    snprintf(number[3], sizeof(number[3]), "%llu", (unsigned long long)test.seed);
    const char *arguments[] = {option,      value,       "--generations", number[0],
                               "--spawned", number[1],   "--barriers",    number[2],
                               "--seed",    number[3],   "--more-hosts",  more_hosts,
                               "--cells",   ledger_path, "--ledger",      ledger_path,
                               NULL};
    return test_spawn(program, arguments, (int)spawned, where, comm);
}

/* Returns the next generation, merged with `comm`, whose processes come first. */
static MPI_Comm spawn(const char *program, MPI_Comm comm, long next)
{
    char number[24];
    MPI_Comm merged;
    snprintf(number, sizeof(number), "%ld", next);
    MPI_Comm between = start(program, comm, next == 1 ? hosts : more_hosts, "--generation", number);
    MPI_Intercomm_merge(between, 0, &merged);
    MPI_Comm_free(&between);
    return merged;
}

static MPI_Comm join_parents(void)
{
    MPI_Comm between, merged;
    MPI_Comm_get_parent(&between);
    TEST_CHECK(between != MPI_COMM_NULL, "start", "generation %ld has no parents", generation);
    MPI_Intercomm_merge(between, 1, &merged);
    MPI_Comm_free(&between);
    return merged;
}

/* Execute barriers of both kinds on `comm`, and between them some on the previous communicator,
 * if there is one. */
static void check(MPI_Comm comm, MPI_Comm before, long number)
{
    struct arena arena;
    struct ledger all, earlier;
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)(1000 * generation + test.rank));
    arena_open(&arena, comm, 2);
    ledger_open(&all, &arena, 0, comm, "generations 0 to %ld", number);
    if (before != MPI_COMM_NULL)
        ledger_open(&earlier, &arena, 1, before, "generations 0 to %ld", number - 1);
    for (long i = 0; i < barriers; i++) {
        if (i % 10 == 0)
            delay_random(&mine);
        checked_barrier(&all);
        if (before != MPI_COMM_NULL && i % 3 == 0)
            checked_barrier(&earlier);
        if (i % 7 == 0)
            checked_ibarrier(&all);
    }
    if (before != MPI_COMM_NULL)
        ledger_close(&earlier);
    ledger_close(&all);
    arena_close(&arena);
}

/* ---- unknown processes ---- */

/* Start both jobs, and pass one's MPI port to the other. */
static void introduce(const char *program)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm accepting = start(program, MPI_COMM_WORLD, hosts, "--side", "accept");
    MPI_Comm connecting = start(program, MPI_COMM_WORLD, more_hosts, "--side", "connect");
    if (test.rank == 0) {
        MPI_Recv(port, sizeof(port), MPI_CHAR, 0, 0, accepting, MPI_STATUS_IGNORE);
        MPI_Send(port, sizeof(port), MPI_CHAR, 0, 0, connecting);
    }
    MPI_Comm_disconnect(&accepting);
    MPI_Comm_disconnect(&connecting);
}

static void meet_stranger(void)
{
    const int accepts = strcmp(side, "accept") == 0;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm parents, between, merged;
    MPI_Comm_get_parent(&parents);
    TEST_CHECK(parents != MPI_COMM_NULL, "start", "the %s side has no parents", side);
    if (accepts && test.rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof(port), MPI_CHAR, 0, 0, parents);
    } else if (test.rank == 0) {
        MPI_Recv(port, sizeof(port), MPI_CHAR, 0, 0, parents, MPI_STATUS_IGNORE);
    }
    MPI_Comm_disconnect(&parents);
    if (accepts)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
    MPI_Intercomm_merge(between, !accepts, &merged);
    test_phase("barriers");
    check(merged, MPI_COMM_NULL, 1);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
    if (accepts && test.rank == 0)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "spawned", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (strangers || *side) {
        test_phase("strangers");
        if (strangers)
            introduce(argv[0]);
        else
            meet_stranger();
        return test_end("");
    }
    MPI_Comm comm = MPI_COMM_WORLD, before = MPI_COMM_NULL;
    for (long g = generation == 0 ? 1 : generation; g <= generations; g++) {
        test_phase("spawning");
        MPI_Comm merged = g == generation ? join_parents() : spawn(argv[0], comm, g);
        if (before != MPI_COMM_NULL && before != MPI_COMM_WORLD)
            MPI_Comm_free(&before);
        before = g == generation ? MPI_COMM_NULL : comm;
        comm = merged;
        test_phase("barriers");
        check(comm, before, g);
    }
    if (before != MPI_COMM_NULL && before != MPI_COMM_WORLD)
        MPI_Comm_free(&before);
    MPI_Comm_free(&comm);
    return test_end("");
}
