/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a report file (docs/report.md) into a structure.
 *
 * Called by report.c. The file may come from anywhere, so its contents are checked. After a
 * successful read all values are complete, within the ranges of docs/report.md, and printable (see
 * text.h). Any other file is rejected with a one-line message that contains the position of the
 * error.
 */
#ifndef TOOLS_REPORT_FILE_H
#define TOOLS_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The origin of a choice. */
enum report_source {
    REPORT_MEASURED,   /* measured on this communicator */
    REPORT_SAME_SHAPE, /* measured on another communicator of the same job */
    REPORT_CACHE,      /* measured by an earlier job, and cached */
    REPORT_PARAMETER,  /* set by the parameter coll_nicbarr_algorithm */
    REPORT_DEFAULT,    /* not measured; the default */
    REPORT_COMPARISON, /* the winner of an A/B comparison on this communicator */
    REPORT_DECLINED,   /* nicbarr cannot serve this communicator */
    REPORT_SOURCES
};
extern const char *const report_source_names[REPORT_SOURCES]; /* the names in the file */

/* A measured algorithm. Times are per barrier, in microseconds. */
struct report_candidate {
    char *algorithm; /* lower-case letters, then optionally ':' and a number, '@' and letters */
    double q1_us, median_us, q3_us; /* 0: the machine was too busy to measure it */
    double model_us;                /* predicted time; 0: no prediction */
    double gain; /* median of Open MPI's function divided by this median; 0: unknown */
    int rounds;
    bool own;        /* it is Open MPI's own function */
    bool chosen;     /* it is the entry's choice */
    size_t position; /* position in the file */
};

/* Round-trip times of messages to that many nodes, by one kind of NIC. */
struct report_round_trip {
    char *nic;
    int peers;
    double least_us, median_us;
};

/* A candidate that participated in a communicator's last comparison. */
struct report_variant {
    char *algorithm;
    double median_us; /* 0: too slow to be measured */
};

/* The algorithm that one communicator, or several of the same shape, use for MPI_Barrier or for a
 * collective with data. */
struct report_entry {
    char *name;       /* name of the (first) communicator */
    char *process;    /* the process that wrote the entry */
    char *collective; /* NULL: MPI_Barrier */
    int bytes;        /* collective with data: maximum size of the class */
    int processes, communicators;
    char *choice;
    enum report_source source;
    char *reason; /* why the communicator was declined; else NULL. If not NULL, the following
                     members may be unset */
    int nodes, processors, bound_sets;
    bool oversubscribed;
    double record_bytes;
    int comparisons,
        switched;   /* number of comparisons, and of comparisons that changed the choice */
    int remeasured; /* collective with data: number of measurements after the first one;
                       `switched` counts those that changed the choice */
    size_t variant_count;
    struct report_variant *variants;
    size_t count; /* number of candidates; 0: not measured here, and the members below are unset */
    struct report_candidate *candidates; /* sorted by time */
    double spent_ms;
    bool has_confidence; /* false in older files, which lack the following members */
    double confidence;   /* 0 to 1, confidence in the choice */
    bool provisional;
    double load, switches;                /* barriers only: load of the machine */
    double line_us, switch_us, budget_ms; /* barriers only */
    size_t trips;                         /* 0 on a single node */
    struct report_round_trip *round_trips;
};

struct report {
    char *host, *processor, *open_mpi, *nicbarr, *time;
    size_t count; /* number of entries for barriers */
    struct report_entry *entries;
    size_t data_count; /* number of entries for collectives with data */
    struct report_entry *data;
};

/* Reads all of `file`. On failure returns false, with a one-line message in `why` (to be freed).
 * There is then nothing to free in `report`. */
bool report_read(FILE *file, struct report *report, char **why);
void report_free(struct report *report);

/* Return the candidate of an entry that is Open MPI's function, the fastest other candidate, or the
 * chosen candidate. Return NULL if there is none. */
const struct report_candidate *report_own(const struct report_entry *entry);
const struct report_candidate *report_ours(const struct report_entry *entry);
const struct report_candidate *report_chosen(const struct report_entry *entry);

/* Returns whether two entries describe the same communicator. (If several communicators share an
 * entry, the first communicator is compared.) */
bool report_same_communicator(const struct report_entry *left, const struct report_entry *right);

/* Returns the number of measured barriers. */
size_t report_measured(const struct report *report);

#endif
