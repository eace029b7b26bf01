/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the reader of report files (tools/report_file.c) and the code that prints them
 * (report_text.c, text.c), to find files that crash `nicbarr report` or make it write control
 * characters to the terminal of the user who received the file. run.sh builds and runs it.
 *
 * An input is a file's content. Invariants: the values that are read are in their ranges, and are
 * printed as lines of printable text. A file that cannot be read is rejected with one such line.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/report_file.h"
#include "tools/report_text.h"
#include "tools/text.h"

/* Check that making printable text printable does not change it. */
static void check_printable(const char *text)
{
    char *again = text_printable(text, strlen(text) + 3);
    CHECK(0 == strcmp(text, again));
    free(again);
}

static void check_candidates(const struct report_entry *entry)
{
    for (size_t c = 0; c < entry->count; ++c) {
        const struct report_candidate *candidate = &entry->candidates[c];
        check_printable(candidate->algorithm);
        CHECK(candidate->q1_us >= 0 && candidate->q1_us <= candidate->median_us);
        CHECK(candidate->median_us <= candidate->q3_us && candidate->rounds >= 0);
        CHECK(0 == c || entry->candidates[c - 1].median_us <= candidate->median_us);
    }
    for (size_t t = 0; t < entry->trips; ++t) {
        check_printable(entry->round_trips[t].nic);
        CHECK(entry->round_trips[t].peers >= 1 && entry->round_trips[t].least_us >= 0);
    }
}

static void check_entry(const struct report_entry *entry)
{
    check_printable(entry->name);
    check_printable(entry->process);
    check_printable(entry->choice);
    CHECK(entry->processes >= 1 && entry->communicators >= 1 && entry->source < REPORT_SOURCES);
    CHECK((REPORT_DECLINED == entry->source) == (NULL != entry->reason));
    check_candidates(entry);
}

static void check_report(const struct report *report)
{
    check_printable(report->host);
    check_printable(report->processor);
    check_printable(report->open_mpi);
    check_printable(report->nicbarr);
    check_printable(report->time);
    for (size_t e = 0; e < report->count; ++e) {
        check_entry(&report->entries[e]);
        CHECK(NULL == report->entries[e].collective);
    }
    for (size_t d = 0; d < report->data_count; ++d) {
        check_entry(&report->data[d]);
        check_printable(report->data[d].collective);
        CHECK(report->data[d].bytes >= 1);
    }
    CHECK(report_measured(report) <= report->count);
}

static void check_print(const struct report *report,
                        void (*print)(const struct report *report, FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(NULL != out);
    print(report, out);
    CHECK(0 == fclose(out) && strlen(text) == bytes);
    for (char *line = text; '\0' != *line;) {
        char *end = strchr(line, '\n');
        CHECK(NULL != end);
        *end = '\0';
        check_printable(line);
        line = end + 1;
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report report;
    char *why;
    FILE *file = 0 == size ? fopen("/dev/null", "re") : fmemopen((void *)data, size, "r");
    CHECK(NULL != file);
    if (report_read(file, &report, &why)) {
        check_report(&report);
        check_print(&report, report_print);
        check_print(&report, report_print_csv);
        report_free(&report);
    } else {
        CHECK(NULL != why && '\0' != why[0]);
        check_printable(why);
        free(why);
    }
    fclose(file);
    return 0;
}
