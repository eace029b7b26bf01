/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report file (docs/report.md) as a structure.
 *
 * Called by report.c. The file may come from anywhere, so nothing in it is trusted. What is read is
 * complete, in the ranges that docs/report.md gives, and printable (see text.h). Any other file is
 * refused, with one line that says where it is wrong.
 */
#ifndef TOOLS_REPORT_FILE_H
#define TOOLS_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where a choice comes from. */
enum report_source {
    REPORT_MEASURED,   /* on this communicator */
    REPORT_SAME_SHAPE, /* on another one of the same job */
    REPORT_CACHE,      /* by an earlier job */
    REPORT_PARAMETER,  /* coll_nicbarr_algorithm */
    REPORT_DEFAULT,    /* not measured */
    REPORT_DUEL,       /* it has won a duel on this communicator */
    REPORT_DECLINED,   /* nicbarr cannot serve this communicator */
    REPORT_SOURCES
};
extern const char *const report_source_names[REPORT_SOURCES]; /* in the file */

/* An algorithm that was measured; microseconds of a barrier. */
struct report_candidate {
    char *algorithm; /* lower-case letters, then perhaps ':' and a number, '@' and letters */
    double q1_us, median_us, q3_us; /* 0: the machine was too busy to measure it */
    double model_us;                /* prediction; 0: none */
    double gain;                    /* Open MPI's own median over this one; 0: unknown */
    int rounds;
    bool own;        /* Open MPI's own function */
    bool chosen;     /* by the entry */
    size_t position; /* in the file */
};

/* A message to each of so many nodes and back, by one kind of NIC. */
struct report_round_trip {
    char *nic;
    int peers;
    double least_us, median_us;
};

/* A candidate that took part in a communicator's last duel. */
struct report_duelist {
    char *algorithm;
    double median_us; /* 0: it was too slow to be measured */
};

/* What one communicator, or several alike, use for MPI_Barrier, or for a collective with data. */
struct report_entry {
    char *name;       /* of the (first) communicator */
    char *process;    /* who wrote it */
    char *collective; /* NULL: MPI_Barrier */
    int bytes;        /* of a collective with data: up to so many */
    int processes, communicators;
    char *choice;
    enum report_source source;
    char *reason; /* why declined; else NULL, and so may be what follows */
    int nodes, processors, bound_sets;
    bool oversubscribed;
    double record_bytes;
    int duels, turned; /* so many with others, and in so many of them another one was taken */
    int anew;          /* of data: how often it was measured anew, with turned as above */
    size_t duelist_count;
    struct report_duelist *duelists;
    size_t count; /* of candidates; 0: not measured here, and nothing below */
    struct report_candidate *candidates; /* fastest first */
    double spent_ms;
    bool has_confidence; /* older files do not have what follows */
    double confidence;   /* 0 to 1, in the choice */
    bool provisional;
    double load, switches;                /* of a barrier: how busy the machine was */
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

/* Read all of `file`. False: `why` (to be freed) says in one line what is wrong; there is nothing
 * to free in `report` then. */
bool report_read(FILE *file, struct report *report, char **why);
void report_free(struct report *report);

/* An entry's candidate that is Open MPI's own, the fastest other one, or the one that is its
 * choice; NULL if it has none. */
const struct report_candidate *report_own(const struct report_entry *entry);
const struct report_candidate *report_ours(const struct report_entry *entry);
const struct report_candidate *report_chosen(const struct report_entry *entry);

/* Are two entries about the same communicator? (Of those that share an entry, the first counts.) */
bool report_same_communicator(const struct report_entry *left, const struct report_entry *right);

/* Barriers that have been measured. */
size_t report_measured(const struct report *report);

#endif
