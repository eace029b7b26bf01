/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiments of nicbarr_experiments, one per file.
 *
 * Each is collective over MPI_COMM_WORLD and prints its table on rank 0. On failure it prints a
 * message with the reason, and returns false.
 */
#ifndef BENCH_EXPERIMENTS_EXPERIMENTS_H
#define BENCH_EXPERIMENTS_EXPERIMENTS_H

#include <stdbool.h>

#include "settings.h"

bool latency_run(const struct settings *settings);
bool overhead_run(const struct settings *settings);
bool granularity_run(const struct settings *settings);
bool arrival_run(const struct settings *settings);
bool applications_run(const struct settings *settings);
bool bcast_run(const struct settings *settings);
bool rtt_run(const struct settings *settings);
bool fuzzy_run(const struct settings *settings);

#endif
