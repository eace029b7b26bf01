/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of nicsim, which nicsim.c calls. They return the program's exit status. */
#ifndef NICSIM_COMMANDS_H
#define NICSIM_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/nicsim/play_bcast.h"

struct nicsim_options {
    const char *data;        /* folder with the machines and the papers' figures */
    const char *csv;         /* file that gets a copy of the table; NULL: none */
    const char *conclusions; /* file that gets the papers' conclusions; NULL: none */
    const char *csv_folder;  /* for the tables of an evaluation */
    const char *machine;     /* name of its file, without .json */
    struct nicsim_game game;
    uint32_t most; /* nodes of a study, or connections */
    /* Broadcasts only: */
    uint32_t bytes, fan_out;
    bool consecutive; /* do not wait for an answer of the last node */
};

/* Simulate barriers or broadcasts of one kind, and print all that was counted. */
int nicsim_barrier_command(const struct nicsim_options *options);
int nicsim_bcast_command(const struct nicsim_options *options);
void nicsim_print_counters(const struct mcp_counters *counters);

/* Has a simulation come to its end (`played`: memory sufficed) on all nodes? Prints a message
 * otherwise. */
bool nicsim_is_complete(bool played, uint32_t finished, uint32_t nodes);

/* Compare the papers' figures with the simulator's, and check the papers' conclusions. Fails where
 * errors exceed their limits, or a conclusion that should hold does not. */
int nicsim_table_command(const struct nicsim_options *options);

/* Fit the machines' parameters and write their files. */
int nicsim_fit_command(const struct nicsim_options *options);

/* Latency, messages and memory of each algorithm by the number of nodes. */
int nicsim_scale_command(const struct nicsim_options *options);

/* Memory of a NIC and of a port in bytes. */
int nicsim_memory_command(const struct nicsim_options *options);

/* The MPI paper's evaluation on a simulated machine, one table per experiment. */
int nicsim_evaluate_command(const struct nicsim_options *options);

/* The thesis's measurements of MPI_Bcast on a simulated machine, one table each. */
int nicsim_broadcasts_command(const struct nicsim_options *options);

/* The thesis's measurements of messages that NICs match, likewise. */
int nicsim_messages_command(const struct nicsim_options *options);

/* Write studies of a simulated machine into --csv-folder, each as NAME.csv. `write` returns false
 * when memory runs out, or if a simulation does not come to its end. */
struct nicsim_study {
    const char *name;
    bool (*write)(const struct nicsim_machine *machine, FILE *csv);
};
int nicsim_write_studies(const struct nicsim_options *options, const struct nicsim_study *studies,
                         size_t count);

/* A page about all of these, made by a script, which parses argv. */
int nicsim_report_command(const char *data, char **argv);

/* Open a CSV file for writing (*csv is NULL if `path` is), and close it. False after a message. */
bool nicsim_csv_open(const char *path, FILE **csv);
bool nicsim_csv_close(FILE *csv, const char *path);

#endif
