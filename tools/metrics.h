/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics in Prometheus' text format, independent of their meaning. Called by status.c.
 *
 * Readers of the format reject a page that contains a value twice, or the same metric in two
 * places. Therefore all values of a metric are printed together, regardless of the order in which
 * they were added, and if several values have the same name and labels, only the last value is
 * printed. */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include <jansson.h>
#include <stdio.h>

struct metrics {
    json_t *by_name;
};

void metrics_begin(struct metrics *metrics);

/* Adds a value. `type` is "counter" or "gauge"; `labels` come from metrics_label(). */
void metrics_add(struct metrics *metrics, const char *name, const char *type, const char *help,
                 const char *labels, double value);
void metrics_print(const struct metrics *metrics, FILE *out);
void metrics_end(struct metrics *metrics);

/* Appends a label to `labels` (NULL: none). Frees `labels` and returns the result. If `value` is
 * empty, returns `labels` unchanged, because an empty label has the same meaning in Prometheus as a
 * missing one. */
char *metrics_label(char *labels, const char *name, const char *value);

#endif
