/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report file (docs/report.md) as a structure.
 *
 * Called by report.c. The file may come from anywhere, so its contents are checked. After a
 * successful read all values are complete, within the ranges of docs/report.md, and printable (see
 * text.h). Any other file is rejected with a one-line message that says where it is wrong.
 */
#ifndef TOOLS_REPORT_FILE_H
#define TOOLS_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The origin of a choice. */
enum report_source {
    REPORT_MEASURED,   /* measured on this communicator */
    REPORT_SAME_SHAPE, /* on another one of the same job */
    REPORT_CACHE,      /* by an earlier job */
    REPORT_PARAMETER,  /* coll_nicbarr_algorithm */
    REPORT_DEFAULT,    /* not measured */
    REPORT_DUEL,       /* it has won a duel on this communicator */
    REPORT_DECLINED,   /* nicbarr cannot serve this communicator */
    REPORT_SOURCES
};
extern const char *const report_source_names[REPORT_SOURCES]; /* as in the file */

/* A measured algorithm; times per barrier in microseconds. */
struct report_candidate {
    char *algorithm; /* lower-case letters, then optionally ':' and a number, '@' and letters */
    double q1_us, median_us, q3_us; /* 0: the machine was too busy to measure it */
    double model_us;                /* prediction; 0: none */
    double gain;                    /* Open MPI's own median over this one; 0: unknown */
    int rounds;
    bool own;        /* Open MPI's own function */
    bool chosen;     /* it is the entry's choice */
    size_t position; /* in the file */
};

/* Messages to that many nodes and back, by one kind of NIC. */
struct report_round_trip {
    char *nic;
    int peers;
    double least_us, median_us;
};

/* A candidate that took part in a communicator's last duel. */
struct report_duelist {
    char *algorithm;
    double median_us; /* 0: too slow to be measured */
};

/* What one communicator, or several of the same shape, use for MPI_Barrier or for a collective with
 * data. */
struct report_entry {
    char *name;       /* of the (first) communicator */
    char *process;    /* the one that wrote the entry */
    char *collective; /* NULL: MPI_Barrier */
    int bytes;        /* collective with data: the class's maximum */
    int processes, communicators;
    char *choice;
    enum report_source source;
    char *reason; /* if declined; else NULL. If not NULL, the following fields may be unset */
    int nodes, processors, bound_sets;
    bool oversubscribed;
    double record_bytes;
    int duels, switched; /* duels, and how many of them changed the choice */
    int remeasured;      /* collective with data: remeasurements; `switched` counts as above */
    size_t duelist_count;
    struct report_duelist *duelists;
    size_t count; /* of candidates; 0: not measured here, and the fields below are unset */
    struct report_candidate *candidates; /* sorted by time */
    double spent_ms;
    bool has_confidence; /* false in older files, which lack the following fields */
    double confidence;   /* 0 to 1, in the choice */
    bool provisional;
    double load, switches;                /* barriers: load of the machine */
    double line_us, switch_us, budget_ms; /* of a barrier */
    size_t trips;                         /* none on one node */
    struct report_round_trip *round_trips;
};

struct report {
    char *host, *processor, *open_mpi, *nicbarr, *time;
    size_t count; /* of barriers */
    struct report_entry *entries;
    size_t data_count; /* of collectives that carry data */
    struct report_entry *data;
};

/* Read all of `file`. On failure false, with a one-line message in `why` (to be freed), and nothing
 * to free in `report`. */
bool report_read(FILE *file, struct report *report, char **why);
void report_free(struct report *report);

/* An entry's candidate that is Open MPI's own, the fastest other one, or the chosen one; NULL if
 * there is none. */
const struct report_candidate *report_own(const struct report_entry *entry);
const struct report_candidate *report_ours(const struct report_entry *entry);
const struct report_candidate *report_chosen(const struct report_entry *entry);

/* Are two entries about the same communicator? (If several share an entry, the first one
 * counts.) */
bool report_same_communicator(const struct report_entry *left, const struct report_entry *right);

/* The number of measured barriers. */
size_t report_measured(const struct report *report);

#endif
