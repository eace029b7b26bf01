/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bcast: MPI_Bcast by size, timed until the root has received a reply from the last process
 * (Zhang's thesis on MPI-NP II+, section 4.4, table 4.4).
 *
 * Called by nicbarr_experiments. The thesis subtracts the time of the reply. This experiment does
 * not, so it is contained in the times of both sides. */
#include "experiments.h"

#include <string.h>

#include "bench/chunk.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"bytes", 0}, {"a_us", 3},   {"a_q1", 3},      {"a_q3", 3},      {"b_us", 3}, {"b_q1", 3},
    {"b_q3", 3},  {"factor", 3}, {"factor_q1", 3}, {"factor_q3", 3}, {NULL, 0},
};

enum { BYTES_LEAST = 4, BYTES_MOST = 256 * 1024, SIZES = 17, TAG_ANSWER = 78 };
_Static_assert(BYTES_LEAST << (SIZES - 1) == BYTES_MOST, "each is twice the one before");

struct broadcast {
    MPI_Comm comm;
    int rank, last;
    int bytes;
};

static char data[BYTES_MOST];

static void repeat_bcasts(const struct broadcast *b, unsigned times)
{
    for (; times > 0; times--) {
        MPI_Bcast(data, b->bytes, MPI_BYTE, 0, b->comm);
        if (b->rank == b->last) {
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ANSWER, b->comm);
        } else if (b->rank == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, b->last, TAG_ANSWER, b->comm, MPI_STATUS_IGNORE);
        }
    }
}

static void run_bcasts(void *self, unsigned iterations, double figures[FIGURES])
{
    repeat_bcasts(self, chunk_approach(iterations));
    const double start = chunk_clock();
    repeat_bcasts(self, iterations);
    figures[FIGURE_LATENCY] = (chunk_clock() - start) / iterations;
}

static void measure_bcasts(const struct settings *settings, const struct sides *sides, int bytes,
                           const struct table *table)
{
    enum { WARMUP = 50 }; /* nicbarr completes its tuning within these operations */
    struct broadcast broadcasts[SIDES];
    struct contestant contestants[SIDES];
    struct figures figures;
    for (int i = A; i < SIDES; i++) {
        broadcasts[i] = (struct broadcast){
            .comm = sides->barriers[i].operation.comm,
            .rank = settings->job.rank,
            .last = settings->job.size - 1,
            .bytes = bytes,
        };
        contestants[i] = (struct contestant){
            .name = mpi_side_names[i], .self = &broadcasts[i], .run = run_bcasts};
        contest_prepare(&contestants[i], sides->team, WARMUP, 0);
    }
    measure_interleaved(contestants, SIDES, sides->team, settings->budget / SIZES, &figures);
    struct row row = {0};
    row_add(&row, bytes);
    row_add_quartiles(&row, figures.time[A]);
    row_add_quartiles(&row, figures.time[B]);
    row_add_quartiles(&row, figures.ratio);
    table_add(table, &row);
}

bool bcast_run(const struct settings *settings)
{
    struct table table;
    struct sides sides;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    memset(data, 1, sizeof(data)); /* memory that was never written would be one shared page of
                                      zeros */
    sides_open(&sides, settings, MPI_COMM_WORLD);
    for (int bytes = BYTES_LEAST; bytes <= BYTES_MOST; bytes *= 2) {
        measure_bcasts(settings, &sides, bytes, &table);
    }
    sides_close(&sides);
    return table_close(&table);
}
