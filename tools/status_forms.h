/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output formats of `nicbarr status`. Each prints snapshots (snapshot.h) on standard output.
 */
#ifndef TOOLS_STATUS_FORMS_H
#define TOOLS_STATUS_FORMS_H

#include "tools/snapshot.h"

struct status_settings {
    enum { STATUS_TEXT, STATUS_JSON, STATUS_PROMETHEUS } form;
    bool all;        /* also print groups that have waited briefly */
    bool counters;   /* also print counters that are zero */
    const char *job; /* print only processes of this job; NULL: all */
    double watch;    /* interval in seconds; 0: print once */
};

/* Prints text for reading. */
void status_print_text(const struct segments *segments, const struct kernel_snapshot *kernel,
                       const struct status_settings *settings);

/* Prints JSON on one line. */
void status_print_json(const struct segments *segments, const struct kernel_snapshot *kernel);

/* Prints a page for Prometheus; see metrics.h. */
void status_print_metrics(const struct segments *segments, const struct kernel_snapshot *kernel);

#endif
