/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of a job: see output.h.
 */
#include "output.h"

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <string.h>

void output_message(int rank, const char *format, ...)
{
    if (rank != 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

bool output_open(const char *name, int rank, FILE **file)
{
    int opened = 1;
    *file = NULL;
    if (!name) {
        return true;
    }
    if (rank == 0) {
        *file = fopen(name, "w");
        opened = *file != NULL;
        if (!opened) {
            output_message(rank, "cannot write %s: %s", name, strerror(errno));
        }
    }
    MPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return opened;
}
