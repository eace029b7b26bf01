/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_json.h. */
#include "coll_nicbarr/files/cache_json.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIME_TEXT = 32 };

static const char format[] = "nicbarr tuning cache 2", earlier[] = "nicbarr tuning cache 1";
static const char time_format[] = "%Y-%m-%dT%H:%M:%SZ";

/* ---- a measurement ---- */

static json_t *write_measurement(const struct nicbarr_measurement *measurement)
{
    char when[TIME_TEXT] = "";
    struct tm utc;
    const time_t seconds = (time_t)measurement->when;
    json_t *candidates = json_array();
    for (uint32_t c = 0; c < measurement->count; ++c) {
        const struct nicbarr_quartiles us = measurement->of[c].us;
        json_array_append_new(candidates, json_pack("{s:s, s:i, s:[f, f, f]}", "choice",
                                                    measurement->of[c].name, "rounds",
                                                    (int)measurement->of[c].rounds, "us", us.q1,
                                                    us.median, us.q3));
    }
    strftime(when, sizeof(when), time_format, gmtime_r(&seconds, &utc));
    return json_pack("{s:s, s:f, s:o}", "when", when, "confidence", measurement->confidence,
                     "candidates", candidates);
}

static bool read_time(const json_t *text, int64_t *when)
{
    struct tm utc = {0};
    const char *value = json_string_value(text);
    const char *end = NULL == value ? NULL : strptime(value, time_format, &utc);
    *when = NULL == end ? 0 : (int64_t)timegm(&utc);
    return NULL != end && '\0' == *end;
}

/* A figure above 0, as all are. */
static bool read_figure(const json_t *value, double *figure)
{
    *figure = json_number_value(value);
    return isfinite(*figure) && *figure > 0;
}

/* False where it is not as we write it. */
static bool read_measurement(const json_t *json, struct nicbarr_measurement *measurement)
{
    const json_t *candidates = json_object_get(json, "candidates");
    const json_t *confidence = json_object_get(json, "confidence");
    const double sure = json_number_value(confidence);
    const size_t count = json_array_size(candidates);
    bool good = read_time(json_object_get(json, "when"), &measurement->when) &&
                json_is_number(confidence) && sure >= 0 && sure <= 1 && count >= 1 &&
                count <= NICBARR_CONTESTANTS;
    measurement->confidence = sure;
    measurement->count = (uint32_t)count;
    for (size_t c = 0; good && c < count; ++c) {
        const json_t *one = json_array_get(candidates, c), *us = json_object_get(one, "us");
        const char *name = json_string_value(json_object_get(one, "choice"));
        const json_int_t rounds = json_integer_value(json_object_get(one, "rounds"));
        struct nicbarr_quartiles *quartiles = &measurement->of[c].us;
        good = NULL != name && strlen(name) < NICBARR_CHOICE_TEXT && rounds >= 1 &&
               rounds <= INT_MAX && read_figure(json_array_get(us, 0), &quartiles->q1) &&
               read_figure(json_array_get(us, 1), &quartiles->median) &&
               read_figure(json_array_get(us, 2), &quartiles->q3);
        measurement->of[c].rounds = (uint32_t)rounds;
        snprintf(measurement->of[c].name, NICBARR_CHOICE_TEXT, "%s", NULL == name ? "" : name);
    }
    return good;
}

/* ---- the document ---- */

json_t *nicbarr_cache_json_empty(void)
{
    return json_pack("{s:s, s:{}}", "format", format, "shapes");
}

/* Is no list or object of `text` within too many others? jansson takes 2,048, which overflows the
 * stack of a small thread, and of which each line is written with as many spaces. */
static bool is_shallow(const char *text, size_t bytes)
{
    bool in_string = false;
    size_t depth = 0;
    for (size_t i = 0; i < bytes && depth <= NICBARR_CACHE_DEPTH; ++i) {
        const char c = text[i];
        if ('"' == c) {
            in_string = !in_string;
        } else if (in_string) {
            i += '\\' == c; /* and what it escapes */
        } else if ('[' == c || '{' == c) {
            ++depth;
        } else if (']' == c || '}' == c) {
            depth -= depth > 0;
        }
    }
    return depth <= NICBARR_CACHE_DEPTH;
}

json_t *nicbarr_cache_json_parse(const char *text, size_t bytes, struct myr_error *error)
{
    json_error_t trouble = {.line = 0};
    if (0 == bytes) {
        return nicbarr_cache_json_empty();
    }
    if (!is_shallow(text, bytes)) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "it is nested more than %d deep",
                        NICBARR_CACHE_DEPTH);
        return NULL;
    }
    json_t *root = json_loadb(text, bytes, 0, &trouble);
    if (NULL == root) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "line %d: %s", trouble.line, trouble.text);
        return NULL;
    }
    const char *says = json_string_value(json_object_get(root, "format"));
    const bool old = NULL != says && 0 == strcmp(says, earlier);
    if (old || NULL == says || 0 != strcmp(says, format) ||
        !json_is_object(json_object_get(root, "shapes"))) {
        json_decref(root);
        root = old ? nicbarr_cache_json_empty() : NULL;
    }
    if (NULL == root) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0,
                        "it is something else, or of another version of nicbarr");
    }
    return root;
}

void nicbarr_cache_json_read(const json_t *root, const char *key, struct nicbarr_evidence *evidence)
{
    const json_t *list = json_object_get(json_object_get(root, "shapes"), key);
    for (size_t i = 0; i < json_array_size(list) && i < NICBARR_CACHE_LOOKED_AT &&
                       evidence->count < NICBARR_EVIDENCE_MOST;
         ++i) {
        evidence->count +=
            read_measurement(json_array_get(list, i), &evidence->of[evidence->count]);
    }
}

/* ---- adding ---- */

/* What is known of one key, written anew. */
struct series {
    json_t *list;
    int64_t when[NICBARR_CACHE_LOOKED_AT + 1]; /* by place in the list */
};

static void append(struct series *series, const struct nicbarr_measurement *measurement)
{
    series->when[json_array_size(series->list)] = measurement->when;
    json_array_append_new(series->list, write_measurement(measurement));
}

static void drop_oldest(struct series *series)
{
    const size_t count = json_array_size(series->list);
    size_t oldest = 0;
    for (size_t i = 1; i < count; ++i) {
        oldest = series->when[i] < series->when[oldest] ? i : oldest;
    }
    json_array_remove(series->list, oldest);
    memmove(&series->when[oldest], &series->when[oldest + 1],
            (count - oldest - 1) * sizeof(series->when[0]));
}

void nicbarr_cache_json_add(json_t *root, const char *key,
                            const struct nicbarr_measurement *measurement)
{
    struct nicbarr_measurement one;
    struct series series = {.list = json_array()};
    json_t *shapes = json_object_get(root, "shapes");
    const json_t *known = json_object_get(shapes, key);
    for (size_t i = 0; i < json_array_size(known) && i < NICBARR_CACHE_LOOKED_AT; ++i) {
        if (read_measurement(json_array_get(known, i), &one)) {
            append(&series, &one);
        }
    }
    append(&series, measurement);
    while (json_array_size(series.list) > NICBARR_CACHE_KEPT) {
        drop_oldest(&series);
    }
    json_object_set_new(shapes, key, series.list);
}

/* ---- writing ---- */

enum { FLAGS = JSON_INDENT(1) };

/* A key, and when it was measured last. */
struct aged {
    const char *key;
    json_t *list;
    int64_t newest; /* INT64_MIN: nothing of it is as we write it */
};

static int64_t newest_of(const json_t *list)
{
    struct nicbarr_measurement one;
    int64_t newest = INT64_MIN;
    for (size_t i = 0; i < json_array_size(list) && i < NICBARR_CACHE_LOOKED_AT; ++i) {
        if (read_measurement(json_array_get(list, i), &one) && one.when > newest) {
            newest = one.when;
        }
    }
    return newest;
}

static int newest_first(const void *left, const void *right)
{
    const struct aged *a = left, *b = right;
    return (a->newest < b->newest) - (a->newest > b->newest);
}

/* All keys, the newest first, and `key` before them; to be freed. NULL: no memory. */
static struct aged *by_age(json_t *shapes, const char *key)
{
    struct aged *keys = malloc((json_object_size(shapes) + 1) * sizeof(*keys));
    const char *name;
    json_t *list;
    size_t count = 0;
    if (NULL == keys) {
        return NULL;
    }
    json_object_foreach(shapes, name, list)
    {
        keys[count++] =
            (struct aged){name, list, 0 == strcmp(name, key) ? INT64_MAX : newest_of(list)};
    }
    qsort(keys, count, sizeof(*keys), newest_first);
    return keys;
}

/* How long both are as text, outside the document. (Within, each line has two bytes more.) */
static size_t size_of(const struct aged *one)
{
    json_t *name = json_string(one->key);
    const size_t bytes = json_dumpb(name, NULL, 0, JSON_ENCODE_ANY);
    json_decref(name);
    return bytes + json_dumpb(one->list, NULL, 0, FLAGS | JSON_ENCODE_ANY);
}

/* Have `root` hold nothing but the newest keys, as far as they fit into half of the limit. */
static bool shrink(json_t *root, const char *key)
{
    json_t *fitting = json_object();
    const json_t *shapes = json_object_get(root, "shapes");
    const size_t count = json_object_size(shapes);
    struct aged *keys = by_age(json_object_get(root, "shapes"), key);
    size_t left = NICBARR_CACHE_MOST / 2;
    for (size_t i = 0; NULL != keys && i < count && INT64_MIN != keys[i].newest; ++i) {
        const size_t bytes = size_of(&keys[i]);
        if (bytes <= left) {
            json_object_set(fitting, keys[i].key, keys[i].list);
            left -= bytes;
        }
    }
    json_object_clear(root);
    json_object_set_new(root, "format", json_string(format));
    json_object_set_new(root, "shapes", fitting);
    free(keys);
    return NULL != keys;
}

char *nicbarr_cache_json_text(json_t *root, const char *key)
{
    if (json_dumpb(root, NULL, 0, FLAGS) > NICBARR_CACHE_MOST && !shrink(root, key)) {
        return NULL;
    }
    return json_dumps(root, FLAGS);
}
