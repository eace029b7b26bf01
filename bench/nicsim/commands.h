/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of nicsim, called by nicsim.c. They return the program's exit status. */
#ifndef NICSIM_COMMANDS_H
#define NICSIM_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/nicsim/play_bcast.h"

struct nicsim_options {
    const char *data;        /* directory with the machines and the papers' values */
    const char *csv;         /* file for a copy of the table; NULL: none */
    const char *conclusions; /* file for the papers' conclusions; NULL: none */
    const char *csv_dir;     /* directory for the tables of an evaluation */
    const char *machine;     /* name of the machine's file, without .json */
    struct nicsim_game game;
    uint32_t most; /* maximum number of nodes of a study, or of connections */
    /* For broadcasts only: */
    uint32_t bytes, fan_out;
    bool consecutive; /* broadcasts do not wait for a reply of the last node */
};

/* Simulate barriers or broadcasts of one kind, and print everything that was counted. */
int nicsim_barrier_command(const struct nicsim_options *options);
int nicsim_bcast_command(const struct nicsim_options *options);
void nicsim_print_counters(const struct mcp_counters *counters);

/* Returns whether a simulation has completed on all nodes, and otherwise prints a message. `played`
 * is the result of the simulation, which is false if memory is exhausted. */
bool nicsim_is_complete(bool played, uint32_t finished, uint32_t nodes);

/* Compares the papers' values with the simulated ones, and checks the papers' conclusions. Fails if
 * a mean error exceeds its limit, or if a conclusion does not hold that is not listed as an
 * exception. */
int nicsim_table_command(const struct nicsim_options *options);

/* Fits the machines' parameters and writes their files. */
int nicsim_fit_command(const struct nicsim_options *options);

/* Prints latency, messages and memory of each algorithm by the number of nodes. */
int nicsim_scale_command(const struct nicsim_options *options);

/* Prints the memory of a NIC and of a port in bytes. */
int nicsim_memory_command(const struct nicsim_options *options);

/* Repeats the MPI paper's evaluation on a simulated machine, and writes one table per
 * experiment. */
int nicsim_evaluate_command(const struct nicsim_options *options);

/* Repeats the measurements of MPI_Bcast in Zhang's thesis on a simulated machine, and writes a
 * table for each. */
int nicsim_broadcasts_command(const struct nicsim_options *options);

/* Repeats the measurements in Zhang's thesis of messages that NICs match, and writes a table for
 * each. */
int nicsim_messages_command(const struct nicsim_options *options);

/* Writes studies of a simulated machine into --csv-dir, each as NAME.csv. `write` returns false
 * when memory runs out, or if a simulation does not complete. */
struct nicsim_study {
    const char *name;
    bool (*write)(const struct nicsim_machine *machine, FILE *csv);
};
int nicsim_write_studies(const struct nicsim_options *options, const struct nicsim_study *studies,
                         size_t count);

/* Writes a page about all of these by running a script, which parses argv. */
int nicsim_report_command(const char *data, char **argv);

/* Open a CSV file for writing, and close it. If `path` is NULL, *csv is NULL. On failure they print
 * a message and return false. */
bool nicsim_csv_open(const char *path, FILE **csv);
bool nicsim_csv_close(FILE *csv, const char *path);

#endif
