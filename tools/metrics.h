/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics in Prometheus' text format, whatever they mean. Called by status.c.
 *
 * Readers of the format reject a page with a duplicate value, or with a metric in two places. So a
 * metric's values are printed together, in whatever order they were added, and the last one of
 * several with the same name and labels counts.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include <jansson.h>
#include <stdio.h>

struct metrics {
    json_t *by_name;
};

void metrics_begin(struct metrics *metrics);

/* `type` is "counter" or "gauge"; `labels` come from metrics_label(). */
void metrics_add(struct metrics *metrics, const char *name, const char *type, const char *help,
                 const char *labels, double value);
void metrics_print(const struct metrics *metrics, FILE *out);
void metrics_end(struct metrics *metrics);

/* Append a label to `labels` (NULL: none). Frees `labels` and returns the result; returns `labels`
 * unchanged if `value` is empty, which has the same meaning in Prometheus. */
char *metrics_label(char *labels, const char *name, const char *value);

#endif
