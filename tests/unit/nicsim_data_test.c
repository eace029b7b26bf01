/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how nicsim reads machines' parameters in JSON, and tables in CSV. A failure means that it
 * simulates another machine than its files describe, or crashes on a malformed file.
 *
 * Invariants:
 *
 * - A file's values are used, and missing ones are inherited from the machine in "like".
 * - Any error is reported in one line that names the file, and nothing is read.
 */
#include <unistd.h>

#include "bench/nicsim/csv.h"
#include "bench/nicsim/parameters.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static const char *path_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%s", crew_dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    crew_file_write(path_of(name), text, strlen(text));
}

/* ---- messages on standard error ---- */

static int usual_stderr;

static void capture_stderr(void)
{
    fflush(stderr);
    usual_stderr = dup(STDERR_FILENO);
    assert_true(usual_stderr >= 0);
    assert_non_null(freopen(path_of("stderr"), "w", stderr));
}

/* Check that there is one line with these two texts, or no message if they are NULL. */
static void expect_message(const char *first, const char *second)
{
    char text[2000];
    fflush(stderr);
    assert_true(dup2(usual_stderr, STDERR_FILENO) >= 0);
    close(usual_stderr);
    FILE *file = fopen(path_of("stderr"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    if (NULL == first) {
        assert_string_equal(text, "");
        return;
    }
    if (NULL == strstr(text, first) || NULL == strstr(text, second) ||
        0 != strncmp(text, "nicsim: ", 8) || strchr(text, '\n') != text + strlen(text) - 1) {
        fail_msg("expected a line with '%s' and '%s', not: %s", first, second, text);
    }
}

/* ---- machines ---- */

/* Returns a valid value of each parameter, mostly distinct. */
static double value_of(uint32_t number)
{
    const char *name = nicsim_parameter_name(number);
    return 0 == strcmp(name, "loss")                 ? 0.25
           : 0 == strcmp(name, "mpi_envelope_bytes") ? 48
                                                     : 600 + number;
}

/* Write a file with all parameters, and `value` as the parameter `name`. */
static void write_machine(const char *file, const char *name, const char *value)
{
    static char text[20000];
    int at = snprintf(text, sizeof(text),
                      "{\"name\": \"all\", \"about\": \"everything\", "
                      "\"parameters\": {");
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        char number[40];
        snprintf(number, sizeof(number), "{\"value\": %g, \"source\": \"s%u\"}", value_of(p), p);
        const bool this = NULL != name && 0 == strcmp(name, nicsim_parameter_name(p));
        if (!this || '\0' != value[0]) {
            at += snprintf(text + at, sizeof(text) - (size_t)at, "%s\"%s\": %s",
                           '{' == text[at - 1] ? "" : ", ", nicsim_parameter_name(p),
                           this ? value : number);
        }
    }
    snprintf(text + at, sizeof(text) - (size_t)at, "}}");
    write_file(file, text);
}

static void expect_machine(const char *name, struct nicsim_file *file)
{
    capture_stderr();
    const bool good = nicsim_read(crew_dir, name, file);
    expect_message(NULL, NULL);
    assert_true(good);
}

/* Check that the machine cannot be read because of this file. */
static void expect_unreadable(const char *name, const char *culprit, const char *why)
{
    struct nicsim_file file;
    capture_stderr();
    const bool good = nicsim_read(crew_dir, name, &file);
    expect_message(culprit, why);
    assert_false(good);
}

static void expect_machine_error(const char *text, const char *why)
{
    if (NULL != text) {
        write_file("bad.json", text);
    }
    expect_unreadable("bad", "bad.json", why);
}

#define IN_A_DIR(name) TEST_IN(name, crew_dir_begin, crew_dir_end)

IN_A_DIR(parameters_by_name)
{
    struct nicsim_machine machine = {.nic = {.nic_mhz = 33, .loss = 0.5}, .create_node_us = 7};
    uint32_t count = 0;
    for (; NULL != nicsim_parameter_name(count); ++count) {
        const char *name = nicsim_parameter_name(count);
        const double expected = 0 == strcmp(name, "nic_mhz")          ? 33
                                : 0 == strcmp(name, "loss")           ? 0.5
                                : 0 == strcmp(name, "create_node_us") ? 7
                                                                      : 0;
        assert_true(expected == *nicsim_parameter(&machine, count));
    }
    /* The structure has no other parameter. */
    assert_int_equal(count * sizeof(double),
                     sizeof(machine) - offsetof(struct nicsim_machine, nic));
    assert_null(nicsim_parameter_name(count + 1));
}

IN_A_DIR(every_parameter)
{
    struct nicsim_file file;
    write_machine("all.json", NULL, NULL);
    expect_machine("all", &file);
    assert_string_equal(file.machine.name, "all");
    assert_string_equal(file.about, "everything");
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        char source[20];
        snprintf(source, sizeof(source), "s%u", p);
        assert_true(value_of(p) == *nicsim_parameter(&file.machine, p));
        assert_string_equal(file.sources[p].text, source);
        assert_false(file.sources[p].fitted);
        assert_true(file.given[p]);
    }
}

IN_A_DIR(like_another)
{
    struct nicsim_file file;
    write_machine("all.json", NULL, NULL);
    write_file("second.json",
               "{\"name\": \"second\", \"like\": \"all\", \"about\": \"b\", \"parameters\": "
               "{\"cycles_loop\": {\"value\": 0.5, \"source\": \"fitted\", \"fitted\": true}}}");
    write_file("third.json", "{\"name\": \"third\", \"like\": \"second\", \"about\": \"c\"}");
    expect_machine("third", &file);
    assert_string_equal(file.machine.name, "third");
    assert_string_equal(file.path, path_of("third.json"));
    assert_true(600 == file.machine.nic.nic_mhz);
    assert_true(0.5 == file.machine.nic.cycles_loop);
    assert_true(602 == file.machine.nic.cycles_look);
    assert_true(file.sources[1].fitted);
    assert_false(file.given[1]); /* inherited */
}

/* Only the values of fitted parameters are written. */
IN_A_DIR(values_written)
{
    struct nicsim_file file, again;
    write_machine("all.json", "cycles_turn",
                  "{\"value\": 1, \"source\": \"fitted\", \"fitted\": true}");
    expect_machine("all", &file);
    file.machine.nic.cycles_turn = 123.5;
    file.machine.nic.cycles_loop = 77;
    assert_true(nicsim_update(&file));
    expect_machine("all", &again);
    assert_true(123.5 == again.machine.nic.cycles_turn);
    assert_true(601 == again.machine.nic.cycles_loop);
    assert_string_equal(again.machine.name, "all");
}

IN_A_DIR(bad_machines)
{
    expect_machine_error("", "bad.json:");
    expect_machine_error("{\"name\": ", "bad.json:1:");
    expect_machine_error("{\n\"name\": \"x\",\n\"about\" 5}", "bad.json:3:");
    expect_machine_error("[1, 2]", "\"name\" or \"about\" is missing");
    expect_machine_error("{\"about\": \"x\"}", "\"name\" or \"about\" is missing");
    expect_machine_error("{\"name\": \"x\"}", "\"about\" is missing");
    expect_machine_error("{\"name\": 5, \"about\": \"x\"}", "\"name\" or \"about\" is missing");
    expect_machine_error("{\"name\": \"x\", \"about\": \"x\"}", "\"nic_mhz\" is missing");
    expect_machine_error("{\"name\": \"x\", \"about\": \"x\", \"parameters\": [5]}",
                         "\"nic_mhz\" is missing");
    expect_machine_error("{\"name\": \"x\", \"about\": \"x\", \"like\": \"bad\"}",
                         "\"like\" is circular");
    unlink(path_of("bad.json"));
    expect_machine_error(NULL, "No such file");
}

IN_A_DIR(bad_parameters)
{
    static const char *const bad[] = {
        "5",
        "{\"source\": \"s\"}",
        "{\"value\": 5}",
        "{\"value\": \"5\", \"source\": \"s\"}",
        "{\"value\": 5, \"source\": 5}",
        "{\"value\": null, \"source\": \"s\"}",
        "[]",
    };
    for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); ++b) {
        write_machine("bad.json", "cable_us", bad[b]);
        expect_machine_error(NULL, "\"cable_us\" is not a parameter with a value and a source");
    }
    write_machine("bad.json", "cable_us", "");
    expect_machine_error(NULL, "\"cable_us\" is missing");
    expect_machine_error(
        "{\"name\": \"x\", \"about\": \"x\", \"parameters\": {\"cable_ns\": {\"value\": "
        "5, \"source\": \"s\"}}}",
        "\"cable_ns\" is not a parameter");
}

/* Values that a simulation cannot use are rejected. */
IN_A_DIR(parameters_out_of_range)
{
    static const struct {
        const char *name, *least, *below, *most, *above;
    } ranges[] = {
        {"nic_mhz", "0.001", "0", "1e6", "1e7"},
        {"dma_bytes_per_us", "0.001", "0", "1e9", "1e10"},
        {"link_bytes_per_us", "0.001", "0", "1e9", "1e10"},
        {"switch_ports", "4", "3", "65536", "65537"},
        {"mtu", "576", "575", "65535", "65536"},
        {"mpi_envelope_bytes", "0", "-1", "64", "65"},
        {"loss", "0", "-0.1", "0.9", "0.91"},
        {"cable_us", "0", "-0.001", "1e6", "1e300"},
    };
    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); ++r) {
        const char *const values[] = {ranges[r].least, ranges[r].most, ranges[r].below,
                                      ranges[r].above};
        for (int v = 0; v < 4; ++v) {
            struct nicsim_file file;
            char entry[80], why[80];
            snprintf(entry, sizeof(entry), "{\"value\": %s, \"source\": \"s\"}", values[v]);
            snprintf(why, sizeof(why), "\"%s\" must be from ", ranges[r].name);
            write_machine("bad.json", ranges[r].name, entry);
            if (v < 2) {
                expect_machine("bad", &file);
            } else {
                expect_machine_error(NULL, why);
            }
        }
    }
}

IN_A_DIR(other_files)
{
    char name[sizeof(((struct nicsim_file *)NULL)->path)];
    write_file("one.json", "{\"name\": \"x\", \"about\": \"x\", \"like\": \"two\"}");
    write_file("two.json", "{\"name\": \"x\", \"about\": \"x\", \"like\": \"one\"}");
    expect_unreadable("one", ".json", "\"like\" is circular");
    write_file("bad.json", "{\"name\": \"x\", \"about\": \"x\", \"like\": \"nobody\"}");
    expect_unreadable("bad", "nobody.json", "No such file");
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    expect_unreadable(name, "xxx", "too long");
}

/* ---- tables ---- */

static struct csv csv;

static void expect_table(const char *text)
{
    write_file("table.csv", text);
    capture_stderr();
    const bool good = csv_read(path_of("table.csv"), &csv);
    expect_message(NULL, NULL);
    assert_true(good);
}

static void expect_table_error(const char *text, const char *why)
{
    if (NULL != text) {
        write_file("table.csv", text);
    }
    capture_stderr();
    const bool good = csv_read(path_of("table.csv"), &csv);
    expect_message("table.csv", why);
    assert_false(good);
}

IN_A_DIR(a_table)
{
    double number = 0;
    expect_table("# what it is\n\nnic,nodes,us,note\n# in between\nA,16,102.5,first\n\nB,,,\nC,8\n"
                 "D,x,1e3,5 us");
    assert_int_equal(csv.columns, 4);
    assert_int_equal(csv.rows, 4);
    assert_string_equal(csv_text(&csv, 0, "nic"), "A");
    assert_string_equal(csv_text(&csv, 0, "note"), "first");
    assert_true(csv_number(&csv, 0, "us", &number));
    assert_true(102.5 == number);
    /* There are an empty field, a missing field, and a missing column. */
    assert_string_equal(csv_text(&csv, 1, "nodes"), "");
    assert_false(csv_number(&csv, 1, "nodes", &number));
    assert_string_equal(csv_text(&csv, 1, "note"), "");
    assert_string_equal(csv_text(&csv, 2, "us"), "");
    assert_false(csv_number(&csv, 2, "us", &number));
    assert_true(csv_number(&csv, 2, "nodes", &number));
    assert_true(8 == number);
    assert_string_equal(csv_text(&csv, 0, "factor"), "");
    assert_false(csv_number(&csv, 0, "factor", &number));
    assert_false(csv_number(&csv, 3, "nodes", &number));
    assert_false(csv_number(&csv, 3, "note", &number)); /* trailing text */
    assert_true(csv_number(&csv, 3, "us", &number));    /* without a newline */
    assert_true(1000 == number);
    expect_table("a,b\r\n\r\n1,2\r\n"); /* line ends of spreadsheets */
    assert_int_equal(csv.rows, 1);
    assert_true(csv_number(&csv, 0, "b", &number));
    assert_true(2 == number);
}

static const char *rows(uint32_t count)
{
    static char text[2000];
    int at = snprintf(text, sizeof(text), "a,b\n");
    for (uint32_t r = 0; r < count; ++r) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%u,x\n", r);
    }
    return text;
}

IN_A_DIR(maximum_of_rows)
{
    expect_table(rows(CSV_ROWS));
    assert_int_equal(csv.rows, CSV_ROWS);
    assert_string_equal(csv_text(&csv, CSV_ROWS - 1, "a"), "63");
    expect_table_error(rows(CSV_ROWS + 1), "no table with up to 64 rows");
}

IN_A_DIR(bad_tables)
{
    expect_table_error("", "no table");
    expect_table_error("# nothing\n", "no table");
    expect_table_error("a,b,c\n", "no table");
    unlink(path_of("table.csv"));
    expect_table_error(NULL, "cannot be read");
}

/* Excess columns and long fields are truncated, without writing beyond their memory. */
IN_A_DIR(too_many_columns_and_long_fields)
{
    char text[1000], field[CSV_FIELD + 20];
    memset(field, 'f', sizeof(field) - 1);
    field[sizeof(field) - 1] = '\0';
    snprintf(text, sizeof(text), "a,b,c,d,e,f,g,h,i,j,k,l,m,n\n%s,2,3,4,5,6,7,8,9,10,11,12,13,14\n",
             field);
    expect_table(text);
    assert_int_equal(csv.columns, CSV_COLUMNS);
    assert_int_equal(strlen(csv_text(&csv, 0, "a")), CSV_FIELD - 1);
    assert_string_equal(csv_text(&csv, 0, "l"), "12");
    assert_string_equal(csv_text(&csv, 0, "m"), "");
}
