/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a job speak with one voice: lines on standard error, and files.
 *
 * Called by the benchmark programs on every rank; all ranks find the same things to tell, and rank
 * 0 tells them.
 */
#ifndef BENCH_TELL_H
#define BENCH_TELL_H

#include <stdbool.h>
#include <stdio.h>

/* Rank 0: one line, after the program's name. */
void tell(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens the file on rank 0, before anything is measured: a wrong name shall not cost a measurement.
 * The same answer on all ranks of MPI_COMM_WORLD; *file is NULL on the others, and without a name.
 */
bool tell_into(const char *name, int rank, FILE **file);

#endif
