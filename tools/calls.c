/* SPDX-License-Identifier: BSD-3-Clause */
/* See calls.h. */
#include "tools/calls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/soft/nic_inspect.h"
#include "tools/alloc.h"
#include "tools/text.h"

enum { TEXT_MOST = 100 };

/* A process of the segment that waits in a collective. */
struct call {
    const struct process *process; /* NULL: the process is not listed */
    const struct myr_shown_wait *wait;
};

struct calls {
    struct myr_shown_waits *shown;
    struct call *call; /* [count], sorted by communicator */
    size_t count;
};

static bool has_rank(const struct process *process)
{
    return NULL != process && '\0' != process->rank[0];
}

static long rank_of(const struct process *process)
{
    return has_rank(process) ? strtol(process->rank, NULL, 10) : -1;
}

/* Compares calls by communicator, then by number, then by rank. */
static int compare_calls(const void *a, const void *b)
{
    const struct call *one = a, *other = b;
    int order = memcmp(one->wait->group, other->wait->group, sizeof(one->wait->group));
    order = 0 != order ? order : strcmp(one->wait->call, other->wait->call);
    const long mine = rank_of(one->process), theirs = rank_of(other->process);
    return 0 != order ? order : (mine > theirs) - (mine < theirs);
}

static struct calls find_calls(const struct segment *segment)
{
    uint32_t processes;
    struct calls calls = {.shown = myr_inspect_waits(segment->fd, &processes)};
    calls.call = tool_alloc((size_t)processes * MYR_WAITS, sizeof(*calls.call));
    for (uint32_t p = 0; p < processes; ++p) {
        for (int w = 0; w < MYR_WAITS; ++w) {
            const struct myr_shown_wait *wait = &calls.shown[p].wait[w];
            if (0 != atomic_load(&wait->since_ms)) {
                calls.call[calls.count++] =
                    (struct call){segments_process(segment, calls.shown[p].pid), wait};
            }
        }
    }
    qsort(calls.call, calls.count, sizeof(*calls.call), compare_calls);
    return calls;
}

static void free_calls(struct calls *calls)
{
    free(calls->call);
    free(calls->shown);
}

static uint64_t waited_ms(const struct myr_shown_wait *wait, uint64_t now_ms)
{
    const uint64_t since_ms = atomic_load(&wait->since_ms);
    return now_ms > since_ms ? now_ms - since_ms : 0;
}

/* ---- text ---- */

static void print_text(FILE *out, const char *before, const char *text, const char *after)
{
    char *printable = text_printable(text, TEXT_MOST);
    fprintf(out, "%s%s%s", before, printable, after);
    free(printable);
}

static void print_process(FILE *out, const struct process *process, const char *before)
{
    if (NULL == process) {
        fprintf(out, "%sa process that is not visible in this PID namespace", before);
    } else if (has_rank(process)) {
        fprintf(out, "%srank %s (pid %d)", before, process->rank, (int)process->pid);
    } else {
        fprintf(out, "%spid %d", before, (int)process->pid);
    }
}

/* Prints a call of one communicator, with the `count` processes that are in it. */
static void print_call(FILE *out, const struct call *calls, size_t count, uint64_t now_ms)
{
    const struct myr_shown_wait *first = calls[0].wait;
    uint64_t longest_ms = 0;
    for (size_t c = 0; c < count; ++c) {
        const uint64_t ms = waited_ms(calls[c].wait, now_ms);
        longest_ms = ms > longest_ms ? ms : longest_ms;
    }
    print_text(out, "in ", '\0' == first->call[0] ? "a collective" : first->call, "");
    fprintf(out, " for ");
    text_time(out, longest_ms);
    fprintf(out, ": ");
    for (size_t c = 0; c < count; ++c) {
        print_process(out, calls[c].process, 0 == c ? "" : ", ");
    }
    if ('\0' != first->caller[0]) {
        print_text(out, ", called at ", first->caller, "");
    }
}

/* Returns whether this rank of the job is a member, according to the text in struct
 * myr_shown_wait. */
static bool is_member(const char *ranks, long rank)
{
    while ('\0' != *ranks) {
        char *end;
        const long from = strtol(ranks, &end, 10);
        const long to = '-' == *end ? strtol(end + 1, &end, 10) : from;
        if (rank >= from && rank <= to) {
            return true;
        }
        if (',' != *end) {
            return false;
        }
        ranks = end + 1;
    }
    return false;
}

static bool is_among(const struct call *calls, size_t count, const struct process *process)
{
    size_t c = 0;
    while (c < count && process != calls[c].process) {
        ++c;
    }
    return c < count;
}

/* Prints the members on this node that have not entered a call of the communicator, and the number
 * of members on other nodes. */
static void print_missing(FILE *out, const struct segment *segment, const struct call *calls,
                          size_t count)
{
    const struct myr_shown_wait *wait = calls[0].wait;
    size_t others = wait->size > count ? wait->size - count : 0, named = 0;
    for (size_t p = 0; p < segment->count && has_rank(calls[0].process); ++p) {
        const struct process *process = &segment->processes[p];
        if (others > 0 && has_rank(process) && 0 == strcmp(process->job, calls[0].process->job) &&
            is_member(wait->ranks, rank_of(process)) && !is_among(calls, count, process)) {
            print_process(out, process, 0 == named++ ? "; not in it: " : ", ");
            --others;
        }
    }
    if (others > 0) {
        fprintf(out, "%s%zu %s of other nodes or not known", 0 == named ? "; " : ", and ", others,
                1 == others ? "member" : "members");
    }
}

/* Prints all calls of one communicator. */
static void print_communicator(const struct segment *segment, const struct call *calls,
                               size_t count, uint64_t now_ms)
{
    struct text_field field;
    FILE *out = text_field_begin(&field);
    print_text(out, "", calls[0].wait->name, "");
    fprintf(out, " (%u processes): ", (unsigned)calls[0].wait->size);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && 0 == strcmp(calls[first].wait->call, calls[end].wait->call);) {
            ++end;
        }
        fprintf(out, "%s", 0 == first ? "" : "; ");
        print_call(out, &calls[first], end - first, now_ms);
    }
    print_missing(out, segment, calls, count);
    text_field_end(&field, "waiting");
}

void calls_print(const struct segment *segment, uint64_t now_ms)
{
    struct calls calls = find_calls(segment);
    for (size_t first = 0, end; first < calls.count; first = end) {
        const uint64_t *group = calls.call[first].wait->group;
        for (end = first + 1;
             end < calls.count && 0 == memcmp(group, calls.call[end].wait->group,
                                              sizeof(calls.call[end].wait->group));) {
            ++end;
        }
        print_communicator(segment, &calls.call[first], end - first, now_ms);
    }
    free_calls(&calls);
}

/* ---- JSON ---- */

static json_t *json_of_text(const char *text)
{
    char *printable = text_printable(text, TEXT_MOST);
    json_t *json = json_string(printable);
    free(printable);
    return json;
}

json_t *calls_json(const struct segment *segment, uint64_t now_ms)
{
    struct calls calls = find_calls(segment);
    json_t *list = json_array();
    for (size_t c = 0; c < calls.count; ++c) {
        const struct call *call = &calls.call[c];
        char group[3 * 16 + 1];
        snprintf(group, sizeof(group), "%016llx%016llx%016llx",
                 (unsigned long long)call->wait->group[0], (unsigned long long)call->wait->group[1],
                 (unsigned long long)call->wait->group[2]);
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:I, s:o, s:o, s:o, s:f, s:o}", "group", group, "communicator",
                      json_of_text(call->wait->name), "size", (json_int_t)call->wait->size, "ranks",
                      json_of_text(call->wait->ranks), "call", json_of_text(call->wait->call),
                      "caller", json_of_text(call->wait->caller), "since_s",
                      (double)waited_ms(call->wait, now_ms) / 1000, "pid",
                      NULL == call->process ? json_null()
                                            : json_integer((json_int_t)call->process->pid)));
    }
    free_calls(&calls);
    return list;
}
