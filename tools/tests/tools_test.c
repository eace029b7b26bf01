/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the parts of the tool `nicbarr` with cmocka: text, tables, the reader of reports, the
 * script of the plot, and the findings and the tournament of hosts of `nicbarr doctor`. */
#include "tests/unit/test.h"
#include "tools/findings.h"
#include "tools/plot.h"
#include "tools/report_file.h"
#include "tools/report_text.h"
#include "tools/table.h"
#include "tools/text.h"
#include "tools/probe/tournament.h"

/* ---- text ---- */

static void expect_printable(const char *text, size_t most, const char *expected)
{
    char *printable = text_printable(text, most);
    assert_string_equal(printable, expected);
    free(printable);
}

TEST(printable_keeps_letters_only)
{
    expect_printable("", 10, "");
    expect_printable("plain \xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80", 20,
                     "plain \xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80");
    expect_printable("a\tb\nc\x1b[31m\x7f", 20, "a?b?c?[31m?");
    expect_printable("\xc2\x9b", 20, "??");      /* a control character of two bytes */
    expect_printable("\xe2\x80\xae", 20, "???"); /* right-to-left override */
    expect_printable("\xff\xc0\x80 \xed\xa0\x80", 20, "??? ???"); /* not UTF-8 */
    expect_printable("cut \xe2\x9c", 20, "cut ??");
}

TEST(printable_cuts_between_characters)
{
    expect_printable("12345", 5, "12345");
    expect_printable("123456", 5, "12...");
    expect_printable("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5, "\xc3\xa9\xc3\xa9...");
    expect_printable("1234", 3, "...");
}

TEST(columns_are_characters)
{
    assert_int_equal(text_columns(""), 0);
    assert_int_equal(text_columns("\xc3\xa9\xe2\x9c\x93!"), 3);
}

/* The output that `print` writes to `out`, to be freed. */
#define PRINTED(out, print)                                                                        \
    ({                                                                                             \
        static char *                                                                              \
            printed_text; /* static, because gcc 12 would otherwise warn about a returned local */ \
        static size_t printed_bytes;                                                               \
        FILE *out = open_memstream(&printed_text, &printed_bytes);                                 \
        assert_non_null(out);                                                                      \
        print;                                                                                     \
        assert_int_equal(fclose(out), 0);                                                          \
        printed_text;                                                                              \
    })

TEST(wrapping_indents)
{
    char *text = PRINTED(out, text_wrap(out, "one two  three incomprehensibilities x", 4, 12));
    assert_string_equal(text, "one two\n    three\n    incomprehensibilities\n    x\n");
    free(text);
    /* Each line contains as many words as fit. */
    for (size_t width = 10; width < 30; ++width) {
        text = PRINTED(out, text_wrap(out, "one two three four fives and\xc3\xa9 6", 0, width));
        for (char *line = text, *end; '\0' != *line; line = end + 1) {
            end = strchr(line, '\n');
            *end = '\0';
            assert_in_range(text_columns(line), 1, width);
            assert_true('\0' == end[1] || text_columns(line) + 1 + strcspn(end + 1, " \n") > width);
        }
        free(text);
    }
    text = PRINTED(out, text_wrap(out, "", 4, 12));
    assert_string_equal(text, "\n");
    free(text);
}

/* ---- table ---- */

TEST(tables_align)
{
    static const struct table_column columns[] = {
        {"name", "", false}, {"time", "us", true}, {"", "", false}};
    struct table table;
    table_begin(&table, columns, 3);
    table_cell(&table, "\xc3\xa9t\xc3\xa9-long");
    table_cell(&table, "%.2f", 1.5);
    table_cell(&table, "here");
    table_end_row(&table);
    table_cell(&table, "x");
    table_cell(&table, "%d", 12345);
    table_end_row(&table);
    char *text = PRINTED(out, table_print(&table, out, 2));
    assert_string_equal(text, "  name       time\n"
                              "               us\n"
                              "  \xc3\xa9t\xc3\xa9-long   1.50  here\n"
                              "  x         12345\n");
    free(text);
    table_end(&table);
}

TEST(tables_grow)
{
    static const struct table_column columns[] = {{"n", "", true}};
    struct table table;
    table_begin(&table, columns, 1);
    for (int row = 0; row < 1000; ++row) {
        table_cell(&table, "%d", row);
        table_end_row(&table);
    }
    char *text = PRINTED(out, table_print(&table, out, 0));
    assert_int_equal(strlen(text), 1001 * 4);
    assert_non_null(strstr(text, "\n 99\n100\n"));
    free(text);
    table_end(&table);
}

/* ---- reading ---- */

#define HEAD                                                                                       \
    "{\"format\": \"nicbarr report 1\", \"host\": \"h\", \"processor\": \"p\", \"open_mpi\": "     \
    "\"4\", \"nicbarr\": \"0\", \"time\": \"t\", \"communicators\": ["
#define ENTRY                                                                                      \
    "{\"communicator\": \"c\", \"processes\": 2, \"communicators\": 1, \"choice\": \"flags:4\", "  \
    "\"source\": \"measured\", \"nodes\": 1, \"processors\": 2, \"bound_sets\": 1, "               \
    "\"oversubscribed\": false, \"process\": \"p\", \"record_bytes\": 64, \"line_us\": 1, "        \
    "\"switch_us\": 0.5, "                                                                         \
    "\"spent_ms\": 3, \"budget_ms\": 50, \"candidates\": ["
#define CANDIDATE(name, median)                                                                    \
    "{\"algorithm\": \"" name "\", \"rounds\": 8, \"q1_us\": 0, \"median_us\": " #median           \
    ", \"q3_us\": 1000}"
#define TAIL "]}]}"

static char *read_text(const char *text, struct report *report)
{
    char *why;
    FILE *file = tmpfile(); /* not fmemopen, because the reader checks the kind of file */
    assert_non_null(file);
    fputs(text, file);
    rewind(file);
    const bool good = report_read(file, report, &why);
    assert_int_equal(good, NULL == why);
    fclose(file);
    return why;
}

TEST(reading_sorts_and_compares)
{
    struct report report;
    assert_null(read_text(HEAD ENTRY CANDIDATE("openmpi", 6) "," CANDIDATE(
                              "flags:4", 3) "," CANDIDATE("pairwise", 3) "," CANDIDATE("tree:2", 2)
                              TAIL,
                          &report));
    const struct report_entry *entry = &report.entries[0];
    assert_int_equal(report.count, 1);
    assert_int_equal(report_measured(&report), 1);
    assert_int_equal(entry->count, 4);
    assert_string_equal(entry->candidates[0].algorithm, "tree:2");
    assert_string_equal(entry->candidates[1].algorithm, "flags:4"); /* in the file's order */
    assert_string_equal(entry->candidates[2].algorithm, "pairwise");
    assert_true(3 == entry->candidates[0].gain);
    assert_ptr_equal(report_own(entry), &entry->candidates[3]);
    assert_ptr_equal(report_chosen(entry), &entry->candidates[1]);
    report_free(&report);
}

TEST(a_report_without_open_mpi_has_no_gain)
{
    struct report report;
    assert_null(read_text(HEAD ENTRY CANDIDATE("tree:2", 0) TAIL, &report));
    assert_null(report_own(&report.entries[0]));
    assert_null(report_chosen(&report.entries[0]));
    assert_true(0 == report.entries[0].candidates[0].gain);
    char *text = PRINTED(out, report_print(&report, out));
    assert_null(strstr(text, "times faster"));
    free(text);
    report_free(&report);
}

TEST(reading_says_where_it_is_wrong)
{
    struct report report;
    char *why =
        read_text(HEAD ENTRY CANDIDATE("openmpi", 6) "," CANDIDATE("tree:2", -2) TAIL, &report);
    assert_non_null(why);
    assert_string_equal(why, "communicators[0].candidates[1].median_us is not a number, or out of "
                             "range");
    assert_null(report.entries);
    free(why);
}

TEST(decimals_leave_three_digits)
{
    assert_int_equal(report_decimals(0.024), 4);
    assert_int_equal(report_decimals(0.24), 3);
    assert_int_equal(report_decimals(2.4), 2);
    assert_int_equal(report_decimals(24), 1);
    assert_int_equal(report_decimals(240), 0);
}

/* ---- plot ---- */

TEST(plots_have_a_kind)
{
    enum plot_kind kind;
    assert_true(plot_kind_of("a.svg", &kind) && PLOT_SVG == kind);
    assert_true(plot_kind_of("a.b/c.Png", &kind) && PLOT_PNG == kind);
    assert_false(plot_kind_of(".png", &kind));
    assert_false(plot_kind_of("png", &kind));
    assert_true(plot_kind_of("a.PDF", &kind) && PLOT_PDF == kind);
    assert_false(plot_kind_of("a.gif", &kind));
    assert_false(plot_kind_of("", &kind));
}

TEST(scales_are_logarithmic_beyond_ten_times)
{
    static const struct {
        const char *text;
        bool logarithmic;
    } cases[] = {
        {HEAD ENTRY CANDIDATE("openmpi", 50) "," CANDIDATE("flags:4", 5) TAIL, false},
        {HEAD ENTRY "{\"algorithm\": \"openmpi\", \"rounds\": 1, \"q1_us\": 50, \"median_us\": 51, "
                    "\"q3_us\": 52}, {\"algorithm\": \"flags:4\", \"rounds\": 1, \"q1_us\": 4, "
                    "\"median_us\": 5, \"q3_us\": 6}" TAIL,
         true},
        /* a logarithmic axis cannot show a quartile of 0 */
        {HEAD ENTRY CANDIDATE("openmpi", 51) "," CANDIDATE("flags:4", 5) TAIL, false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        struct report report;
        assert_null(read_text(cases[c].text, &report));
        char *script = PRINTED(out, plot_script(&report, PLOT_SVG, out));
        assert_int_equal(NULL != strstr(script, "\nset logscale x"), cases[c].logarithmic);
        assert_int_equal(NULL == strstr(script, "boxxyerror"), cases[c].logarithmic);
        free(script);
        report_free(&report);
    }
}

TEST(unmeasured_candidates_are_last_and_have_no_figures)
{
    struct report report;
    assert_null(
        read_text(HEAD ENTRY CANDIDATE("openmpi", 0) "," CANDIDATE("flags:4", 5) TAIL, &report));
    assert_string_equal(report.entries[0].candidates[1].algorithm, "openmpi");
    char *text = PRINTED(out, report_print(&report, out));
    char median[8] = "", q1[8] = "", q3[8] = "";
    const char *own = strstr(text, " openmpi ");
    assert_non_null(own);
    assert_int_equal(sscanf(own, " openmpi %7s %7s %7s", median, q1, q3), 3);
    assert_string_equal(median, "-");
    assert_string_equal(q1, "-");
    assert_string_equal(q3, "-");
    free(text);
    text = PRINTED(out, plot_script(&report, PLOT_SVG, out));
    assert_non_null(strstr(text, "'not measured'"));
    assert_non_null(strstr(text, "\n1 NaN NaN NaN NaN 0x"));
    assert_non_null(strstr(text, "\n0 5 0 1000 NaN 0x"));
    free(text);
    report_free(&report);
}

/* ---- the doctor's findings ---- */

TEST(findings_of_several_hosts_are_one_line)
{
    json_t *list = json_array();
    json_array_append_new(list, finding("a", "this", FINDING_OK, NULL, "seen"));
    json_array_append_new(list, finding("a", "that", FINDING_NOTE, "do it", "number %d", 1));
    json_array_append_new(list, finding("b", "this", FINDING_OK, NULL, "seen"));
    json_array_append_new(list, finding("b", "that", FINDING_NOTE, "do it", "number %d", 2));
    for (int host = 1; host <= 2; ++host) { /* problems are not merged */
        json_array_append_new(list, finding(1 == host ? "a" : "b", "other", FINDING_PROBLEM,
                                            "do it", "number %d", host));
    }
    json_array_append_new(list, finding(NULL, "all", FINDING_PROBLEM, "do \x1b it", "bad"));
    char *text = PRINTED(out, findings_print(list, out));
    assert_string_equal(text, "ok       a, b, this: seen\n"
                              "note     a, that: number 1; likewise on b\n"
                              "         > do it\n"
                              "problem  a, other: number 1\n"
                              "         > do it\n"
                              "problem  b, other: number 2\n"
                              "         > do it\n"
                              "problem  all: bad\n"
                              "         > do ? it\n"
                              "\n3 problems, 1 note.\n");
    free(text);
    assert_int_equal(findings_count(list, FINDING_OK), 2);
    assert_true(finding_is(json_array_get(list, 0)));
    json_object_set_new(json_array_get(list, 0), "state", json_string("fine"));
    assert_false(finding_is(json_array_get(list, 0)));
    assert_false(finding_is(list));
    assert_false(finding_is(NULL));
    json_decref(list);
}

/* ---- the tournament ---- */

TEST(each_host_meets_each_other_host_once)
{
    enum { MOST = 33 };
    for (int hosts = 1; hosts <= MOST; ++hosts) {
        int met[MOST][MOST] = {{0}};
        for (int round = 0; round < tournament_rounds(hosts); ++round) {
            for (int host = 0; host < hosts; ++host) {
                const int other = tournament_opponent(host, hosts, round);
                assert_int_not_equal(other, host);
                if (other >= 0) {
                    assert_in_range(other, 0, hosts - 1);
                    assert_int_equal(tournament_opponent(other, hosts, round), host);
                    ++met[host][other];
                }
            }
        }
        for (int host = 0; host < hosts; ++host) {
            for (int other = 0; other < hosts; ++other) {
                assert_int_equal(met[host][other], host != other);
            }
        }
    }
}
