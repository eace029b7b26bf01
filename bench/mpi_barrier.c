/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI barriers as contestants: see mpi_barrier.h.
 */
#include "mpi_barrier.h"

#include <stdio.h>
#include <string.h>

#include "chunk.h"
#include "tell.h"
#include "work.h"

/* Persistent barriers came with MPI 4; Open MPI has them under that name since 5.0, while it still
 * calls itself MPI 3.1, and as an extension before. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT_BARRIER_INIT MPI_Barrier_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT_BARRIER_INIT MPIX_Barrier_init
#endif
#endif

static const char preference_key[] = "ompi_comm_coll_preference";

bool mpi_barrier_supports(enum mode mode)
{
#ifdef PERSISTENT_BARRIER_INIT
    (void)mode;
    return true;
#else
    return mode != MODE_PERSISTENT;
#endif
}

static void init_persistent(struct mpi_barrier *barrier)
{
#ifdef PERSISTENT_BARRIER_INIT
    PERSISTENT_BARRIER_INIT(barrier->comm, MPI_INFO_NULL, &barrier->request);
#else
    (void)barrier;
#endif
}

void mpi_barrier_open(struct mpi_barrier *barrier, MPI_Comm parent, enum mode mode,
                      const char *preference, unsigned tests)
{
    *barrier = (struct mpi_barrier){.mode = mode, .request = MPI_REQUEST_NULL, .tests = tests};
    if (preference) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, preference_key, preference);
        MPI_Comm_dup_with_info(parent, info, &barrier->comm);
        MPI_Info_free(&info);
    } else {
        MPI_Comm_dup(parent, &barrier->comm);
    }
    if (mode == MODE_IBARRIER) {
        barrier->work_rate = work_rate();
        MPI_Barrier(barrier->comm); /* nicbarr sets up across hosts in the first of these */
    }
    if (mode == MODE_PERSISTENT)
        init_persistent(barrier);
}

void mpi_barrier_close(struct mpi_barrier *barrier)
{
    if (barrier->request != MPI_REQUEST_NULL)
        MPI_Request_free(&barrier->request);
    MPI_Comm_free(&barrier->comm);
}

/* ---- operations ---- */

static void repeat(struct mpi_barrier *barrier, unsigned times)
{
    switch (barrier->mode) {
    case MODE_IBARRIER:
        while (times--) {
            MPI_Ibarrier(barrier->comm, &barrier->request);
            MPI_Wait(&barrier->request, MPI_STATUS_IGNORE);
        }
        return;
    case MODE_PERSISTENT:
        while (times--) {
            MPI_Start(&barrier->request);
            MPI_Wait(&barrier->request, MPI_STATUS_IGNORE);
        }
        return;
    default:
        while (times--)
            MPI_Barrier(barrier->comm);
    }
}

/* A computation of `steps` in between, cut into slices by the test calls. */
static void repeat_overlapped(struct mpi_barrier *barrier, unsigned times, unsigned long steps)
{
    unsigned long slice = steps / (barrier->tests + 1);
    while (times--) {
        int done;
        MPI_Ibarrier(barrier->comm, &barrier->request);
        work_do(steps - slice * barrier->tests);
        for (unsigned test = 0; test < barrier->tests; test++) {
            MPI_Test(&barrier->request, &done, MPI_STATUS_IGNORE);
            work_do(slice);
        }
        MPI_Wait(&barrier->request, MPI_STATUS_IGNORE);
    }
}

static void once(void *self)
{
    repeat(self, 1);
}

/* ---- chunks ---- */

/* As osu_ibarrier does it: a computation as long as the operation takes alone, once between start
 * and wait, once without any communication. All ranks compute as long as the slowest rank's
 * operation took. Loops are timed as a whole, since clocks inside would count as communication. */
static void measure_overlap(struct mpi_barrier *barrier, unsigned iterations,
                            double figures[FIGURES])
{
    double pure = figures[FIGURE_LATENCY];
    MPI_Allreduce(MPI_IN_PLACE, &pure, 1, MPI_DOUBLE, MPI_MAX, barrier->comm);
    unsigned long steps = (unsigned long)(pure * barrier->work_rate);

    repeat_overlapped(barrier, chunk_approach(iterations), steps);
    double start = chunk_clock();
    repeat_overlapped(barrier, iterations, steps);
    figures[FIGURE_OVERALL] = (chunk_clock() - start) / iterations;

    start = chunk_clock();
    for (unsigned i = 0; i < iterations; i++)
        work_do(steps);
    figures[FIGURE_COMPUTE] = (chunk_clock() - start) / iterations;
}

static void run(void *self, unsigned iterations, double figures[FIGURES])
{
    struct mpi_barrier *barrier = self;
    repeat(barrier, chunk_approach(iterations));
    double start = chunk_clock();
    repeat(barrier, iterations);
    figures[FIGURE_LATENCY] = (chunk_clock() - start) / iterations;
    if (barrier->mode == MODE_IBARRIER)
        measure_overlap(barrier, iterations, figures);
}

struct contestant mpi_barrier_contestant(struct mpi_barrier *barrier, const char *name, bool tails)
{
    return (struct contestant){
        .name = name, .self = barrier, .run = run, .once = tails ? once : NULL};
}

/* ---- components ---- */

/* Every coll component registers its priority, which MPI's tools interface shows. */
static bool component_loaded(const char *name)
{
    char variable[160];
    int index;
    snprintf(variable, sizeof(variable), "coll_%s_priority", name);
    return MPI_T_cvar_get_index(variable, &index) == MPI_SUCCESS;
}

/* False: `name` is the first component of the preference (NULL: of nothing) that is missing. */
static bool components_loaded(const char *preference, char *name, size_t name_size)
{
    bool loaded = true;
    int provided;
    if (!preference)
        return true;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    const char *rest = preference + (*preference == '^');
    while (loaded && *rest) {
        size_t length = strcspn(rest, ",");
        snprintf(name, name_size, "%.*s", (int)length, rest);
        loaded = component_loaded(name);
        rest += length;
        rest += *rest == ',';
    }
    MPI_T_finalize();
    return loaded;
}

const char *const mpi_barrier_names[2] = {"A", "B"};

void mpi_barrier_warn_of_missing(const char *const preference[2], int rank)
{
    char name[128];
    for (int i = 0; i < 2; i++) {
        if (!components_loaded(preference[i], name, sizeof(name))) {
            tell(rank, "warning: this job has no coll component '%s', which %s's preference names",
                 name, mpi_barrier_names[i]);
        }
    }
}

const char *mpi_barrier_preference_text(const char *preference)
{
    return preference ? preference : "none, as the job gives";
}
