/* SPDX-License-Identifier: BSD-3-Clause */
/* See findings.h. */
#include "tools/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/text.h"

enum { SEEN_MOST = 600, COLUMNS = 92, INDENT = 9 };

static const char *const states[] = {
    [FINDING_OK] = "ok",
    [FINDING_NOTE] = "note",
    [FINDING_PROBLEM] = "problem",
};

static json_t *printable(const char *text)
{
    if (NULL == text) {
        return json_null();
    }
    char *copy = text_printable(text, SEEN_MOST);
    json_t *json = json_string(copy);
    free(copy);
    return json;
}

json_t *finding(const char *host, const char *what, enum finding_state state, const char *todo,
                const char *seen, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, seen);
    if (vasprintf(&text, seen, arguments) < 0) {
        tool_no_memory();
    }
    va_end(arguments);
    json_t *json =
        json_pack("{s:o, s:o, s:s, s:o, s:o}", "host", printable(host), "what", printable(what),
                  "state", states[state], "seen", printable(text), "do", printable(todo));
    free(text);
    if (NULL == json) {
        tool_no_memory();
    }
    return json;
}

static const char *field(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

bool finding_is(const json_t *json)
{
    const char *state = field(json, "state");
    bool known = false;
    for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); ++s) {
        known = known || (NULL != state && 0 == strcmp(state, states[s]));
    }
    return known && NULL != field(json, "what") && NULL != field(json, "seen");
}

size_t findings_count(const json_t *findings, enum finding_state state)
{
    size_t count = 0;
    for (size_t f = 0; f < json_array_size(findings); ++f) {
        count += 0 == strcmp(field(json_array_get(findings, f), "state"), states[state]);
    }
    return count;
}

static bool same(const json_t *one, const json_t *other, const char *name)
{
    return json_equal(json_object_get(one, name), json_object_get(other, name));
}

/* Returns whether two findings of different hosts can be printed together, because their advice is
 * the same. What was observed must also be the same, except in notes, where it may differ, for
 * example by a path on that host. */
static bool same_of_another_host(const json_t *one, const json_t *other)
{
    const bool note = 0 == strcmp(field(one, "state"), states[FINDING_NOTE]);
    return NULL != field(one, "host") && NULL != field(other, "host") && same(one, other, "what") &&
           same(one, other, "state") && same(one, other, "do") &&
           (note || same(one, other, "seen"));
}

/* Returns whether the finding has been printed together with an earlier finding of another host. */
static bool repeated(const json_t *findings, size_t index)
{
    bool found = false;
    for (size_t f = 0; !found && f < index; ++f) {
        found = same_of_another_host(json_array_get(findings, f), json_array_get(findings, index));
    }
    return found;
}

/* Returns the line about a finding: the hosts that have it, its text, and the hosts with the same
 * note but another text. */
static char *describe(const json_t *findings, size_t index)
{
    const json_t *json = json_array_get(findings, index);
    const char *before = "; likewise on ";
    char *line;
    size_t bytes;
    FILE *text = open_memstream(&line, &bytes);
    if (NULL == text) {
        tool_no_memory();
    }
    for (size_t f = index; NULL != field(json, "host") && f < json_array_size(findings); ++f) {
        const json_t *other = json_array_get(findings, f);
        if (f == index || (same_of_another_host(other, json) && same(other, json, "seen"))) {
            fprintf(text, "%s, ", field(other, "host"));
        }
    }
    fprintf(text, "%s: %s", field(json, "what"), field(json, "seen"));
    for (size_t f = index + 1; f < json_array_size(findings); ++f) {
        const json_t *other = json_array_get(findings, f);
        if (same_of_another_host(other, json) && !same(other, json, "seen")) {
            fprintf(text, "%s%s", before, field(other, "host"));
            before = ", ";
        }
    }
    if (0 != fclose(text)) {
        tool_no_memory();
    }
    return line;
}

/* Prints a finding. If several hosts have it in common, it is printed once, in the place of the
 * first one. */
static void print_one(const json_t *findings, size_t index, FILE *out)
{
    const json_t *json = json_array_get(findings, index);
    const char *todo = field(json, "do");
    char *line = describe(findings, index);
    fprintf(out, "%-*s", INDENT, field(json, "state"));
    text_wrap(out, line, INDENT, COLUMNS);
    free(line);
    if (NULL != todo) {
        fprintf(out, "%*s> ", INDENT, "");
        text_wrap(out, todo, INDENT + 2, COLUMNS);
    }
}

static void count_in_words(size_t count, const char *word, FILE *out)
{
    fprintf(out, "%zu %s%s", count, word, 1 == count ? "" : "s");
}

void findings_print(const json_t *findings, FILE *out)
{
    size_t printed[sizeof(states) / sizeof(states[0])] = {0};
    for (size_t f = 0; f < json_array_size(findings); ++f) {
        if (repeated(findings, f)) {
            continue;
        }
        print_one(findings, f, out);
        for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); ++s) {
            printed[s] += 0 == strcmp(field(json_array_get(findings, f), "state"), states[s]);
        }
    }
    fputc('\n', out);
    count_in_words(printed[FINDING_PROBLEM], "problem", out);
    fputs(", ", out);
    count_in_words(printed[FINDING_NOTE], "note", out);
    fputs(".\n", out);
}
