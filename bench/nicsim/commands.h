/* SPDX-License-Identifier: BSD-3-Clause */
/* What nicsim.c hands over to: each of its commands. They return a program's exit status. */
#ifndef NICSIM_COMMANDS_H
#define NICSIM_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/nicsim/play_bcast.h"

struct nicsim_options {
    const char *data;        /* folder with machines and the papers' figures */
    const char *csv;         /* write the table there, too; NULL: no */
    const char *conclusions; /* ... and the papers' conclusions there; NULL: no */
    const char *csv_folder;  /* of an evaluation's tables */
    const char *machine;     /* its file's name */
    struct nicsim_game game;
    uint32_t most; /* nodes, of a study */
    /* Of a broadcast: */
    uint32_t bytes, fan_out;
    bool consecutive; /* nobody answers */
};

/* One game of barriers or broadcasts, and all that is counted in it. */
int nicsim_barrier_command(const struct nicsim_options *options);
int nicsim_bcast_command(const struct nicsim_options *options);
void nicsim_print_counters(const struct mcp_counters *counters);

/* Has such a game come to an end (`played`: there was memory), with all nodes? Else a line says so.
 */
bool nicsim_is_complete(bool played, uint32_t finished, uint32_t nodes);

/* The papers' figures beside the simulator's, and whether their conclusions hold. Fails where the
 * errors are greater than they may be, or a conclusion does not hold that should. */
int nicsim_table_command(const struct nicsim_options *options);

/* Fit the machines' parameters and write their files. */
int nicsim_fit_command(const struct nicsim_options *options);

/* Latency, messages and memory of every algorithm against the number of nodes. */
int nicsim_scale_command(const struct nicsim_options *options);

/* Bytes of a NIC and of a port. */
int nicsim_memory_command(const struct nicsim_options *options);

/* The MPI paper's evaluation on a simulated machine, a table for each experiment. */
int nicsim_evaluate_command(const struct nicsim_options *options);

/* The thesis's measurements of MPI_Bcast on a simulated machine, a table for each. */
int nicsim_broadcasts_command(const struct nicsim_options *options);

/* The same of messages that NICs match. */
int nicsim_messages_command(const struct nicsim_options *options);

/* Have a simulated machine's studies written into --csv-folder, each as NAME.csv. `write` is false
 * when out of memory, or where a game does not come to an end. */
struct nicsim_study {
    const char *name;
    bool (*write)(const struct nicsim_machine *machine, FILE *csv);
};
int nicsim_write_studies(const struct nicsim_options *options, const struct nicsim_study *studies,
                         size_t count);

/* A page about all of it; argv is a script's, which takes it from there. */
int nicsim_report_command(const char *data, char **argv);

/* A table to write, none where `path` is NULL; and its end. False after a line that says what is
 * wrong. */
bool nicsim_csv_open(const char *path, FILE **csv);
bool nicsim_csv_close(FILE *csv, const char *path);

#endif
