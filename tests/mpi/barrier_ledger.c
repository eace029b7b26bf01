/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that no process leaves an MPI_Barrier before all have entered it, because otherwise
 * programs read data that has not been written yet.
 *
 * The ledger (common.h) checks this on a few overlapping communicators, in phases that each provoke
 * another kind of error:
 *
 * - back to back: all processes call barriers on the same communicator again and again, so that a
 *   fast process laps a slow one and may mistake a slot of the previous barrier for one of this
 *   barrier;
 * - alternating: two communicators alternate, which detects state that is wrongly shared between
 *   communicators;
 * - random: each barrier uses any communicator, so that disjoint parts of the job drift apart.
 *
 * In each phase a random half of the processes is slow at random moments, and each phase selects
 * another half. Therefore every rank is sometimes the first, sometimes the last, and sometimes in
 * between.
 */
#include "common.h"

#include <unistd.h>

static long iterations = 10000;
static long late;
static const char *until;

static const struct test_option options[] = {
    {"--iterations", OPTION_LONG, &iterations, "barriers in all (10000)"},
    {"--late", OPTION_LONG, &late, "communicators that are created after them, with 10 each (0)"},
    {"--until", OPTION_TEXT, &until, "more of them, until there is a file of that name"},
};

enum { PHASE_LENGTH = 100 };

/* Returns whether there is another barrier. After the requested number of barriers, either a
 * whole phase follows or none. A script that disturbs the job waits for the message that is
 * printed here, after which no communicator is set up any more. */
static bool goes_on(long done, struct ledger ledgers[])
{
    if (done < iterations)
        return true;
    if (!until || done % PHASE_LENGTH != 0)
        return until;
    if (done < iterations + PHASE_LENGTH) {
        for (unsigned i = 0; i < USUAL_COMMUNICATORS; i++)
            for (int each = 0; each < 3; each++)
                checked_barrier(&ledgers[i]);
        test_report("all communicators are set up\n");
    }
    int more = access(until, F_OK) != 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "barrier_ledger", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    struct arena arena;
    struct ledger ledgers[USUAL_COMMUNICATORS];
    arena_open(&arena, MPI_COMM_WORLD, USUAL_COMMUNICATORS);
    usual_open(&arena, ledgers);

    struct rng plan = rng_make(STREAM_PLAN);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    enum { BACK_TO_BACK, ALTERNATING, RANDOM, PATTERNS } pattern = BACK_TO_BACK;
    unsigned one = 0, other = 1;
    bool slow = false;
    test_phase("barriers");
    for (long i = 0; goes_on(i, ledgers); i++) {
        if (i % PHASE_LENGTH == 0) {
            pattern = (unsigned)(i / PHASE_LENGTH) % PATTERNS;
            one = rng_below(&plan, USUAL_COMMUNICATORS);
            other = rng_below(&plan, USUAL_COMMUNICATORS);
            /* In every fourth phase no process is slow, so that barriers run at full speed. */
            slow = rng_below(&mine, 2) && (i / PHASE_LENGTH) % 4 != 3;
        }
        if (slow)
            delay_random(&mine);
        unsigned choice = pattern == BACK_TO_BACK ? one
                          : pattern == RANDOM     ? rng_below(&plan, USUAL_COMMUNICATORS)
                          : i % 2                 ? one
                                                  : other;
        checked_barrier(&ledgers[choice]);
    }

    /* Executed on all processes, whatever was drawn: enough calls that the choice is made
     * (coll_nicbarr_tune_after). */
    for (int i = 0; i < 25; ++i) {
        checked_barrier(&ledgers[0]);
    }

    for (long i = 0; i < late; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int each = 0; each < 10; each++) {
            MPI_Barrier(comm);
        }
        MPI_Comm_free(&comm);
    }

    usual_close(ledgers);
    arena_close(&arena);
    return test_end("");
}
