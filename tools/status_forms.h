/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forms in which `nicbarr status` prints what it sees (sight.h) on standard output.
 */
#ifndef TOOLS_STATUS_FORMS_H
#define TOOLS_STATUS_FORMS_H

#include "tools/sight.h"

struct status_settings {
    enum { STATUS_TEXT, STATUS_JSON, STATUS_PROMETHEUS } form;
    bool all;        /* also groups that have not waited for long */
    bool counters;   /* also those that are zero */
    const char *job; /* its processes alone; NULL: everybody's */
    double watch;    /* seconds; 0: once */
};

/* For people. */
void status_print_text(const struct segments *segments, const struct kernel_sight *kernel,
                       const struct status_settings *settings);

/* On one line. */
void status_print_json(const struct segments *segments, const struct kernel_sight *kernel);

/* A page for Prometheus; metrics.h. */
void status_print_metrics(const struct segments *segments, const struct kernel_sight *kernel);

#endif
