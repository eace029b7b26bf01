/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of coll/tuned; see algorithms.h.
 */
#include "algorithms.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alloc.h"

/* Segment sizes to measure; the default decision of coll/tuned uses 1 KiB to 128 KiB. */
static const int segments[] = {8 << 10, 64 << 10};
enum { SEGMENTS = sizeof(segments) / sizeof(*segments) };

/* Words in the names of those algorithms of a collective that divide messages into segments. */
static const struct {
    const char *collective, *words[4];
} segmenting[] = {
    {"allreduce", {"segmented"}},
    {"bcast", {"chain", "pipeline", "bin", "knomial"}},
    {"reduce", {"chain", "pipeline", "bin", "knomial"}},
};

bool algorithms_open(void)
{
    int provided, index;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS &&
           MPI_T_cvar_get_index("coll_tuned_barrier_algorithm", &index) == MPI_SUCCESS;
}

void algorithms_close(void)
{
    MPI_T_finalize();
}

/* Returns the index of a control variable of the collective; negative if there is none. */
static int parameter(const char *collective, const char *what)
{
    char name[96];
    int index;
    snprintf(name, sizeof(name), "coll_tuned_%s_algorithm%s", collective, what);
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS ? index : -1;
}

static void set(const char *collective, const char *what, int value)
{
    const int index = parameter(collective, what);
    MPI_T_cvar_handle handle;
    int count;
    if (index < 0) /* barriers have no segments and no fan-out */
        return;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, &value) != MPI_SUCCESS) {
        fprintf(stderr, "nicbarr_tuned: coll_tuned_%s_algorithm%s cannot be set\n", collective,
                what);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_T_cvar_handle_free(&handle);
}

void algorithm_force(const char *collective, const struct algorithm *algorithm)
{
    set(collective, "", algorithm->number);
    set(collective, "_segmentsize", algorithm->segment);
    set(collective, "_tree_fanout", ALGORITHM_FANOUT);
    set(collective, "_chain_fanout", ALGORITHM_FANOUT);
}

static bool can_segment(const char *collective, const char *name)
{
    for (size_t c = 0; c < sizeof(segmenting) / sizeof(*segmenting); c++)
        for (size_t w = 0; !strcmp(collective, segmenting[c].collective) && w < 4; w++)
            if (segmenting[c].words[w] && strstr(name, segmenting[c].words[w]))
                return true;
    return false;
}

/* Returns the component's enumeration of the algorithms, or MPI_T_ENUM_NULL if there is none. */
static MPI_T_enum values_of(const char *collective, int *count)
{
    const int index = parameter(collective, "");
    int verbosity, binding, scope, length = 0;
    MPI_Datatype type;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    if (index < 0 ||
        MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, &values, NULL, NULL, &binding,
                            &scope) != MPI_SUCCESS ||
        values == MPI_T_ENUM_NULL ||
        MPI_T_enum_get_info(values, count, NULL, &length) != MPI_SUCCESS)
        return MPI_T_ENUM_NULL;
    return values;
}

size_t algorithms_of(const char *collective, struct algorithm **list)
{
    int values_count = 0;
    MPI_T_enum values = values_of(collective, &values_count);
    size_t count = 0;
    *list = bench_alloc((size_t)values_count * (1 + SEGMENTS), sizeof(**list));
    for (int v = 0; values != MPI_T_ENUM_NULL && v < values_count; v++) {
        struct algorithm algorithm = {0};
        int length = sizeof(algorithm.name);
        MPI_T_enum_get_item(values, v, &algorithm.number, algorithm.name, &length);
        (*list)[count++] = algorithm;
        for (int s = 0; can_segment(collective, algorithm.name) && s < SEGMENTS; s++) {
            algorithm.segment = segments[s];
            (*list)[count++] = algorithm;
        }
    }
    return count;
}
