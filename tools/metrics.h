/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures in Prometheus' text format: called by status.c. Knows nothing of what they mean.
 *
 * Whoever reads the format refuses a page that has a figure twice, or a metric in two places. So a
 * metric's figures are printed together, wherever they were added, and of two figures with the same
 * name and labels the last one stays.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include <jansson.h>
#include <stdio.h>

struct metrics {
    json_t *by_name;
};

void metrics_begin(struct metrics *metrics);

/* `type` is "counter" or "gauge"; `labels` are of metrics_label(). */
void metrics_add(struct metrics *metrics, const char *name, const char *type, const char *help,
                 const char *labels, double value);
void metrics_print(const struct metrics *metrics, FILE *out);
void metrics_end(struct metrics *metrics);

/* `labels` (NULL: none) with another one, to be freed in their place; unchanged where its value is
 * empty, which means the same there. */
char *metrics_label(char *labels, const char *name, const char *value);

#endif
