/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_lines.h. */
#include "coll_nicbarr/files/cache_lines.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char tail[] = "}\n";
static const char head[] = "{\"format\": \"nicbarr tuning cache 3\"}\n";
static const char time_format[] = "%Y-%m-%dT%H:%M:%SZ";

enum {
    TIME_TEXT = 32,
    START_BYTES = 1000, /* maximum size of a line's beginning, up to the list */
    HEAD_BYTES = sizeof(head) - 1,
    NAME_BYTES = 6 * NICBARR_CHOICE_TEXT, /* every character may need an escape of 6 bytes */
    LINE_MOST = START_BYTES + NICBARR_CACHE_KEPT * (NICBARR_CONTESTANTS + 1) * (NAME_BYTES + 100),
};
_Static_assert(HEAD_BYTES + LINE_MOST < NICBARR_CACHE_MOST / 2, "make_room() keeps the added line");

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

/* Read a measured value, which must be positive. */
static bool read_positive(const json_t *value, double *figure)
{
    *figure = json_number_value(value);
    return isfinite(*figure) && *figure > 0;
}

/* Parse a measurement. Returns false if the object does not have the format that
 * write_measurement() produces. */
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
               rounds <= INT_MAX && read_positive(json_array_get(us, 0), &quartiles->q1) &&
               read_positive(json_array_get(us, 1), &quartiles->median) &&
               read_positive(json_array_get(us, 2), &quartiles->q3);
        measurement->of[c].rounds = (uint32_t)rounds;
        snprintf(measurement->of[c].name, NICBARR_CHOICE_TEXT, "%s", NULL == name ? "" : name);
    }
    return good;
}

/* ---- lists of measurements ---- */

/* Insert `one` into the measurements from index `first` on, which are sorted by time. If there are
 * too many, the oldest is dropped. */
static void insert_measurement(struct nicbarr_evidence *evidence, uint32_t first,
                               const struct nicbarr_measurement *one)
{
    uint32_t index = evidence->count;
    while (index > first && evidence->of[index - 1].when > one->when) {
        --index;
    }
    struct nicbarr_measurement *at = &evidence->of[index];
    if (evidence->count - first < NICBARR_CACHE_KEPT && evidence->count < NICBARR_EVIDENCE_MOST) {
        memmove(at + 1, at, (evidence->count - index) * sizeof(*at));
        *at = *one;
        ++evidence->count;
    } else if (index > first) {
        memmove(&evidence->of[first], &evidence->of[first + 1], (index - first - 1) * sizeof(*at));
        at[-1] = *one;
    }
}

/* ---- lines ---- */

/* Returns the end of a line, including its line feed. */
static const char *end_of(const char *line, const char *end)
{
    const char *feed = memchr(line, '\n', (size_t)(end - line));
    return NULL == feed ? end : feed + 1;
}

/* Write the beginning of the line for `key`. Characters that JSON would escape are replaced by
 * "?". */
static size_t start_of(const char *key, char start[START_BYTES])
{
    static const char before[] = "{\"shape\": \"", behind[] = "\", \"measurements\": ";
    size_t length = (size_t)snprintf(start, START_BYTES, "%s", before);
    while ('\0' != *key && length < START_BYTES - sizeof(behind)) {
        const char c = *key++;
        start[length++] = (char)(c < ' ' || c > '~' || '"' == c || '\\' == c ? '?' : c);
    }
    return length + (size_t)snprintf(start + length, START_BYTES - length, "%s", behind);
}

/* Returns whether the nesting is no deeper than NICBARR_CACHE_DEPTH. jansson accepts 2,048 levels,
 * which overflow the stack of a small thread. */
static bool is_shallow(const char *text, size_t bytes)
{
    bool in_string = false;
    size_t depth = 0;
    for (size_t i = 0; i < bytes && depth <= NICBARR_CACHE_DEPTH; ++i) {
        const char c = text[i];
        if ('"' == c) {
            in_string = !in_string;
        } else if (in_string) {
            i += '\\' == c; /* skips the escaped character */
        } else if ('[' == c || '{' == c) {
            ++depth;
        } else if (']' == c || '}' == c) {
            depth -= depth > 0;
        }
    }
    return depth <= NICBARR_CACHE_DEPTH;
}

/* Add the measurements of a line to those from index `first` on. */
static void read_line(const char *line, size_t bytes, struct nicbarr_evidence *evidence,
                      uint32_t first)
{
    struct nicbarr_measurement one;
    json_t *root = is_shallow(line, bytes) ? json_loadb(line, bytes, 0, NULL) : NULL;
    const json_t *list = json_object_get(root, "measurements");
    for (size_t i = 0; i < json_array_size(list); ++i) {
        if (read_measurement(json_array_get(list, i), &one)) {
            insert_measurement(evidence, first, &one);
        }
    }
    json_decref(root);
}

/* Add all measurements of `key` to the evidence, and copy all other lines, each with a line feed,
 * to `others` unless it is NULL. `others` has space for one byte more than the text. Returns the
 * length of the copied lines. A key may have several lines if a user has concatenated files. */
static size_t split_lines(const char *text, size_t bytes, const char *key,
                          struct nicbarr_evidence *evidence, char *others)
{
    char start[START_BYTES];
    const size_t start_bytes = start_of(key, start);
    const uint32_t first = evidence->count;
    const char *line = bytes < HEAD_BYTES ? text + bytes : text + HEAD_BYTES;
    const char *const end = text + bytes;
    size_t length = 0;
    for (const char *next; line < end; line = next) {
        next = end_of(line, end);
        const size_t line_bytes = (size_t)(next - line);
        if (line_bytes > start_bytes && 0 == memcmp(line, start, start_bytes)) {
            read_line(line, line_bytes, evidence, first);
        } else if (NULL != others) {
            memcpy(others + length, line, line_bytes);
            length += line_bytes;
        }
    }
    if (NULL != others && length > 0 && '\n' != others[length - 1]) {
        others[length++] = '\n';
    }
    return length;
}

/* ---- texts ---- */

bool nicbarr_cache_lines_are_ours(const char *text, size_t bytes)
{
    return 0 == bytes || (bytes >= HEAD_BYTES && 0 == memcmp(text, head, HEAD_BYTES));
}

void nicbarr_cache_lines_read(const char *text, size_t bytes, const char *key,
                              struct nicbarr_evidence *evidence)
{
    (void)split_lines(text, bytes, key, evidence, NULL);
}

/* Write the line of a key, at most LINE_MOST bytes. Returns its length, or 0 if out of memory. */
static size_t write_line(const char *key, const struct nicbarr_evidence *evidence, char *line)
{
    size_t length = start_of(key, line);
    json_t *list = json_array();
    for (uint32_t i = 0; i < evidence->count; ++i) {
        json_array_append_new(list, write_measurement(&evidence->of[i]));
    }
    const size_t room = LINE_MOST - sizeof(tail) - length;
    const size_t bytes = json_dumpb(list, line + length, room, JSON_REAL_PRECISION(6));
    json_decref(list);
    if (0 == bytes || bytes > room) {
        return 0;
    }
    memcpy(line + length + bytes, tail, sizeof(tail) - 1);
    return length + bytes + sizeof(tail) - 1;
}

/* Drop lines at the front until the text has at most half of the limit. Returns its length. */
static size_t make_room(char *text, size_t bytes)
{
    const char *from = text + HEAD_BYTES, *const end = text + bytes;
    while (HEAD_BYTES + (size_t)(end - from) > NICBARR_CACHE_MOST / 2) {
        from = end_of(from, end);
    }
    memmove(text + HEAD_BYTES, from, (size_t)(end - from));
    return HEAD_BYTES + (size_t)(end - from);
}

char *nicbarr_cache_lines_add(const char *text, size_t bytes, const char *key,
                              const struct nicbarr_measurement *measurement, size_t *new_bytes)
{
    struct nicbarr_evidence *known = calloc(1, sizeof(*known));
    char *added = malloc(HEAD_BYTES + bytes + 1 + LINE_MOST);
    size_t line_bytes = 0;
    if (NULL != known && NULL != added) {
        memcpy(added, head, HEAD_BYTES);
        const size_t length = HEAD_BYTES + split_lines(text, bytes, key, known, added + HEAD_BYTES);
        insert_measurement(known, 0, measurement);
        line_bytes = write_line(key, known, added + length);
        *new_bytes = length + line_bytes;
        if (*new_bytes > NICBARR_CACHE_MOST) {
            *new_bytes = make_room(added, *new_bytes);
        }
    }
    free(known);
    if (0 == line_bytes) {
        free(added);
        added = NULL;
    }
    return added;
}
