/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of uids that share one account; see accounts.h. */
#include "myrd/accounts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t first, end;
};

/* The ranges, sorted and disjoint. */
static struct {
    struct range *range;
    size_t count;
} table;

/* Parses a line NAME:FIRST:COUNT. */
static bool parse_range(char *line, struct range *range)
{
    char *first = strchr(line, ':'), *rest;
    if (NULL == first || 0 == strncmp(line, "root:", 5) || 0 == strncmp(line, "0:", 2)) {
        return false;
    }
    range->first = strtoull(first + 1, &rest, 10);
    if (':' != *rest || range->first > UINT32_MAX) {
        return false;
    }
    const uint64_t count = strtoull(rest + 1, NULL, 10);
    range->end = range->first + (count < UINT32_MAX ? count : UINT32_MAX);
    return range->end > range->first;
}

static void add_range(const struct range *range)
{
    struct range *more = realloc(table.range, (table.count + 1) * sizeof(*more));
    if (NULL != more) {
        table.range = more;
        table.range[table.count++] = *range;
    }
}

static int by_first(const void *a, const void *b)
{
    const struct range *one = a, *other = b;
    return one->first < other->first ? -1 : one->first > other->first;
}

static void join_overlapping(void)
{
    size_t last = 0;
    for (size_t r = 1; r < table.count; ++r) {
        const struct range *next = &table.range[r];
        if (next->first >= table.range[last].end) {
            table.range[++last] = *next;
        } else if (next->end > table.range[last].end) {
            table.range[last].end = next->end;
        }
    }
    table.count = 0 == table.count ? 0 : last + 1;
}

void myrd_accounts_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t bytes = 0;
    free(table.range);
    table.range = NULL;
    table.count = 0;
    while (NULL != file && getline(&line, &bytes, file) >= 0) {
        struct range range;
        if (parse_range(line, &range)) {
            add_range(&range);
        }
    }
    free(line);
    if (NULL != file) {
        (void)fclose(file);
    }
    if (table.count > 0) {
        qsort(table.range, table.count, sizeof(*table.range), by_first);
    }
    join_overlapping();
}

uid_t myrd_account(uid_t uid)
{
    size_t low = 0, high = table.count; /* invariant: the range is at an index in [low, high) */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct range *range = &table.range[middle];
        if (uid < range->first) {
            high = middle;
        } else if (uid >= range->end) {
            low = middle + 1;
        } else {
            return (uid_t)range->first;
        }
    }
    return uid;
}
