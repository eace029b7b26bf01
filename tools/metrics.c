/* SPDX-License-Identifier: BSD-3-Clause */
/* See metrics.h. */
#include "tools/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

void metrics_begin(struct metrics *metrics)
{
    metrics->by_name = json_object();
}

void metrics_add(struct metrics *metrics, const char *name, const char *type, const char *help,
                 const char *labels, double value)
{
    json_t *metric = json_object_get(metrics->by_name, name);
    if (NULL == metric) {
        metric = json_pack("{s:s, s:s, s:{}}", "type", type, "help", help, "values");
        json_object_set_new(metrics->by_name, name, metric);
    }
    json_object_set_new(json_object_get(metric, "values"), NULL == labels ? "" : labels,
                        json_real(value));
}

void metrics_print(const struct metrics *metrics, FILE *out)
{
    const char *name, *labels;
    json_t *metric, *value;
    json_object_foreach(metrics->by_name, name, metric)
    {
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name,
                json_string_value(json_object_get(metric, "help")), name,
                json_string_value(json_object_get(metric, "type")));
        json_object_foreach(json_object_get(metric, "values"), labels, value)
        {
            fprintf(out, "%s{%s} %.17g\n", name, labels, json_real_value(value));
        }
    }
}

void metrics_end(struct metrics *metrics)
{
    json_decref(metrics->by_name);
}

char *metrics_label(char *labels, const char *name, const char *value)
{
    if ('\0' == value[0]) {
        return labels;
    }
    char *more = NULL;
    size_t bytes;
    FILE *text = open_memstream(&more, &bytes);
    if (NULL == text) {
        tool_no_memory();
    }
    fprintf(text, "%s%s%s=\"", NULL == labels ? "" : labels, NULL == labels ? "" : ",", name);
    for (; '\0' != *value; ++value) {
        if ('\n' == *value) {
            fputs("\\n", text);
        } else {
            fprintf(text, NULL == strchr("\\\"", *value) ? "%c" : "\\%c", *value);
        }
    }
    fputc('"', text);
    if (0 != fclose(text)) {
        tool_no_memory();
    }
    free(labels);
    return more;
}
