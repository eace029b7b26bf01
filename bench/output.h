/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of a job: messages on standard error, and files of results.
 *
 * The benchmark programs call these functions on every rank, with the same arguments. Only rank 0
 * prints and writes.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Prints one line that begins with the program's name. */
void output_message(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens a file for writing on rank 0. *file is NULL on other ranks, and if `name` is NULL. To be
 * called before the measurement, so that a wrong name does not waste it. Returns false on all ranks
 * of MPI_COMM_WORLD if the file cannot be opened. */
bool output_open(const char *name, int rank, FILE **file);

#endif
