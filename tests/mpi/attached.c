/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that several threads of a process access dynamic windows at the same time. Each thread has
 * a window. In each round all processes attach new memory to it, so that each access begins with a
 * search in the target's list of attached memory, for which Open MPI acquires a lock.
 */
#include "common.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3 };

static long rounds = 40;

static const struct test_option options[] = {
    {"--rounds", OPTION_LONG, &rounds, "rounds (40)"},
};

/* The window of a thread. */
struct side {
    pthread_t thread;
    MPI_Win window;
    int *memory;    /* a number of each process */
    MPI_Aint *base; /* addresses of the memory of all processes */
    int number;     /* that is put in this round */
};

static void *put_to_all(void *context)
{
    struct side *side = context;
    for (int k = 0; k < test.size; k++) {
        const int to = (test.rank + side->number + k) % test.size;
        const MPI_Aint at = side->base[to] + (MPI_Aint)((size_t)test.rank * sizeof(int));
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, side->window);
        MPI_Put(&side->number, 1, MPI_INT, to, at, 1, MPI_INT, side->window);
        MPI_Win_unlock(to, side->window);
    }
    return NULL;
}

static void attach_memory(struct side *side)
{
    side->memory = calloc((size_t)test.size, sizeof(int));
    MPI_Win_attach(side->window, side->memory, (MPI_Aint)((size_t)test.size * sizeof(int)));
    MPI_Get_address(side->memory, &side->base[test.rank]);
    MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, side->base, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void check_and_detach(struct side *side)
{
    MPI_Win_lock(MPI_LOCK_SHARED, test.rank, 0, side->window);
    for (int from = 0; from < test.size; from++)
        TEST_CHECK(side->memory[from] == side->number, "put", "rank %d has put %d and not %d", from,
                   side->memory[from], side->number);
    MPI_Win_unlock(test.rank, side->window);
    MPI_Win_detach(side->window, side->memory);
    free(side->memory);
}

static void play_round(struct side *sides, int round)
{
    for (int s = 0; s < THREADS; s++) {
        sides[s].number = 1 + THREADS * round + s;
        attach_memory(&sides[s]);
    }
    for (int s = 0; s < THREADS; s++)
        if (pthread_create(&sides[s].thread, NULL, put_to_all, &sides[s]) != 0)
            test_fail("threads", "cannot create a thread");
    for (int s = 0; s < THREADS; s++)
        pthread_join(sides[s].thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int s = 0; s < THREADS; s++)
        check_and_detach(&sides[s]);
}

int main(int argc, char **argv)
{
    struct side sides[THREADS];
    test_begin(argc, argv, "attached", options, TEST_COUNT(options), MPI_THREAD_MULTIPLE);
    if (test.provided < MPI_THREAD_MULTIPLE)
        test_skip("Open MPI does not provide MPI_THREAD_MULTIPLE");
    for (int s = 0; s < THREADS; s++) {
        sides[s].base = malloc((size_t)test.size * sizeof(MPI_Aint));
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &sides[s].window);
    }
    for (int round = 0; round < rounds; round++)
        play_round(sides, round);
    for (int s = 0; s < THREADS; s++) {
        MPI_Win_free(&sides[s].window);
        free(sides[s].base);
    }
    return test_end("");
}
