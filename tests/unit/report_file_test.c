/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests a job's report file (report_file.c). A failure means that it lacks communicators, counts
 * them wrongly, or overwrites a user's file.
 *
 * Invariants:
 *
 * - Equal entries are counted, and each process replaces only its own entries.
 * - Barriers and other collectives have separate lists.
 * - A previous job's report is replaced; other files are left unchanged.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/files/report_file.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

#define FORMAT "nicbarr report 1"

static char path[300];

/* ---- entries ---- */

static json_t *entry_of(const char *name, int processes, const char *choice)
{
    return json_pack("{s:s, s:i, s:s, s:i}", "communicator", name, "processes", processes, "choice",
                     choice, "communicators", 1);
}

static void add(json_t *entries, const char *name, int processes, const char *choice)
{
    json_t *entry = entry_of(name, processes, choice);
    nicbarr_entries_add(entries, entry);
    json_decref(entry);
}

static void take_back(json_t *entries, int processes, const char *choice)
{
    json_t *entry = entry_of("x", processes, choice);
    nicbarr_entries_remove(entries, entry);
    json_decref(entry);
}

static json_int_t counted(const json_t *entries, size_t index)
{
    return json_integer_value(json_object_get(json_array_get(entries, index), "communicators"));
}

static int make_dir(void **state)
{
    (void)crew_dir_begin(state);
    snprintf(path, sizeof(path), "%s/report", crew_dir);
    return 0;
}

#define IN_A_DIR(name) TEST_IN(name, make_dir, crew_dir_end)

IN_A_DIR(counts_equal_entries)
{
    json_t *entries = json_array();
    add(entries, "one", 4, "tree:2");
    add(entries, "other", 4, "tree:2");
    add(entries, "larger", 5, "tree:2");
    add(entries, "another choice", 4, "tree:4");
    assert_int_equal(json_array_size(entries), 3);
    assert_int_equal(counted(entries, 0), 2);
    assert_int_equal(counted(entries, 1), 1);

    take_back(entries, 9, "tree:2"); /* there is no such entry */
    take_back(entries, 5, "tree:2");
    take_back(entries, 4, "tree:2");
    assert_int_equal(json_array_size(entries), 2);
    assert_int_equal(counted(entries, 0), 1);
    take_back(entries, 4, "tree:2");
    take_back(entries, 4, "tree:4");
    assert_int_equal(json_array_size(entries), 0);
    json_decref(entries);
}

/* Entries that differ in any field except the name are separate, also if a field is missing in
 * one. */
IN_A_DIR(separates_different_entries)
{
    static const char *const fields[] = {"collective", "bytes", "source", "secret", "switches"};
    const size_t count = sizeof(fields) / sizeof(fields[0]);
    json_t *entries = json_array();
    for (json_int_t time = 1; time <= 2; ++time) {
        for (size_t n = 0; n <= 2 * count; ++n) { /* 0: all fields are true */
            json_t *entry = json_pack("{s:i, s:i}", "communicator", (int)time, "communicators", 1);
            for (size_t f = 0; f < count; ++f) {
                if (n != 2 * f + 1) {
                    json_object_set_new(entry, fields[f], json_boolean(n != 2 * f + 2));
                }
            }
            nicbarr_entries_add(entries, entry);
            json_object_set_new(entry, "process", json_string("a:0")); /* as in the file */
            json_decref(entry);
            assert_int_equal(counted(entries, n), time);
        }
        assert_int_equal(json_array_size(entries), 2 * count + 1);
    }
    json_decref(entries);
}

/* ---- the file ---- */

/* Write the report of `process` of `job`, with a communicator for each of `names`. */
static bool write_some(const char *job, const char *process, const char *const *names,
                       struct myr_error *error)
{
    json_t *entries = json_array();
    json_t *head = json_pack("{s:s, s:s, s:[]}", "format", FORMAT, "job", job, "communicators");
    for (int n = 0; NULL != names[n]; ++n) {
        add(entries, names[n], n + 2, "openmpi");
    }
    const bool written = nicbarr_report_file_write(path, head, process, entries, error);
    json_decref(head);
    json_decref(entries);
    return written;
}

static void expect_written(const char *job, const char *process, const char *const *names)
{
    struct myr_error error = {0};
    if (!write_some(job, process, names, &error)) {
        fail_msg("%s", error.text);
    }
}

/* Check that the file has these names of communicators. */
static void expect_names(const char *job, const char *names)
{
    char found[200] = "";
    json_error_t error;
    json_t *document = json_load_file(path, 0, &error);
    size_t index;
    json_t *entry;
    assert_non_null(document);
    assert_string_equal(json_string_value(json_object_get(document, "job")), job);
    assert_string_equal(json_string_value(json_object_get(document, "format")), FORMAT);
    json_array_foreach(json_object_get(document, "communicators"), index, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "communicator"));
        assert_non_null(name);
        strcat(found, name);
        strcat(found, " ");
    }
    assert_string_equal(found, names);
    json_decref(document);
}

IN_A_DIR(processes_share_it)
{
    unlink(path);
    expect_written("1", "a:0", (const char *const[]){"A", "B", NULL});
    expect_names("1", "A B ");
    expect_written("1", "b:0", (const char *const[]){"C", NULL});
    expect_names("1", "A B C ");
    expect_written("1", "a:0", (const char *const[]){"D", NULL}); /* replaces its own entry */
    expect_names("1", "C D ");
    expect_written("1", "b:0", (const char *const[]){NULL});
    expect_names("1", "D ");
    expect_written("2", "b:0", (const char *const[]){"E", NULL}); /* another job */
    expect_names("2", "E ");
}

/* Collectives that carry data have a list of their own. */
IN_A_DIR(collectives_have_a_list)
{
    struct myr_error error = {0};
    json_error_t why;
    json_t *entries = json_array();
    unlink(path);
    expect_written("1", "b:0", (const char *const[]){"other", NULL});
    add(entries, "barrier", 4, "ring");
    for (int bytes = 120; bytes <= 122; ++bytes) { /* two of 120, two of 122, one of 121 */
        for (int n = 0; n < (121 == bytes ? 1 : 2); ++n) {
            json_t *entry = json_pack("{s:s, s:i, s:s, s:i, s:s, s:i}", "communicator", "data",
                                      "processes", 4, "choice", "ring", "communicators", 1,
                                      "collective", "MPI_Bcast", "bytes", bytes);
            nicbarr_entries_add(entries, entry);
            json_decref(entry);
        }
    }
    for (int time = 0; time < 2; ++time) { /* the second time replaces the first */
        json_t *head = json_pack("{s:s, s:s, s:[]}", "format", FORMAT, "job", "1", "communicators");
        assert_true(nicbarr_report_file_write(path, head, "a:0", entries, &error));
        json_decref(head);
    }
    expect_names("1", "other barrier ");
    json_t *document = json_load_file(path, 0, &why);
    const json_t *list = json_object_get(document, "collectives");
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(counted(list, 0), 2);
    assert_int_equal(counted(list, 1), 1);
    assert_int_equal(counted(list, 2), 2);
    json_decref(document);
    json_decref(entries);
}

/* Truncated, old or edited reports are replaced. */
IN_A_DIR(invalid_reports_are_replaced)
{
    static const char *const contents[] = {
        "",
        "{",
        "{\n \"format\": \"nicb",
        "{\n \"format\": \"nicbarr report 1\", \"job\": \"1\", \"communicators\": [{\"comm",
        "{\n \"format\": \"nicbarr report 0\", \"job\": \"1\"}", /* of an older release */
        "{\"job\": 1, \"format\": \"" FORMAT "\"}",              /* sorted by another tool */
        "{\"format\": \"" FORMAT "\", \"job\": \"1\"}",
        "{\"format\": \"" FORMAT "\", \"job\": \"1\", \"communicators\": 5}",
        "{\"format\": \"" FORMAT "\", \"job\": \"1\", \"collectives\": []}"};
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); ++i) {
        crew_file_write(path, contents[i], strlen(contents[i]));
        expect_written("1", "a:0", (const char *const[]){"A", NULL});
        expect_names("1", "A ");
    }
}

IN_A_DIR(other_files_are_kept)
{
    static const char *const contents[] = {
        "no JSON",
        "\n",
        "{}",
        "[1]",
        "{\"job\": \"1\"}",
        "#!/bin/sh\n",
        "{\"format\": \"nicbarr tuning 1\", \"job\": \"1\", \"communicators\": []}"};
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); ++i) {
        struct myr_error error = {0};
        char found[100];
        crew_file_write(path, contents[i], strlen(contents[i]));
        assert_false(write_some("1", "a:0", (const char *const[]){"A", NULL}, &error));
        assert_non_null(strstr(error.text, path));
        assert_non_null(strstr(error.text, "name another file"));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
        fclose(file);
        assert_string_equal(found, contents[i]);
    }
    unlink(path);
}

IN_A_DIR(reports_errors)
{
    struct myr_error error = {0};
    char kept[sizeof(path)];
    memcpy(kept, path, sizeof(path));
    snprintf(path, sizeof(path), "%s/none/report", crew_dir);
    assert_false(write_some("1", "a:0", (const char *const[]){"A", NULL}, &error));
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "No such file"));
    error = (struct myr_error){0};
    assert_false(nicbarr_report_file_check(path, &error)); /* the check reports it as well */
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "No such file"));
    /* A pipe is neither read nor waited for. */
    snprintf(path, sizeof(path), "%s/pipe", crew_dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(write_some("1", "a:0", (const char *const[]){"A", NULL}, &error));
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_false(nicbarr_report_file_check(path, &error));
    memcpy(path, kept, sizeof(path));
}

/* Checking whether a report can be written creates and changes nothing. */
IN_A_DIR(check_changes_nothing)
{
    struct myr_error error = {0};
    unlink(path);
    assert_true(nicbarr_report_file_check(path, &error));
    assert_int_equal(access(path, F_OK), -1);
    expect_written("1", "a:0", (const char *const[]){"A", NULL});
    assert_true(nicbarr_report_file_check(path, &error));
    expect_names("1", "A ");
}

/* A huge file is not read completely just to find out that it is not a report. */
IN_A_DIR(large_files_are_kept)
{
    struct myr_error error = {0};
    struct stat about;
    crew_file_write(path, "{", 1);
    assert_int_equal(truncate(path, (off_t)1 << 33), 0);
    assert_false(write_some("1", "a:0", (const char *const[]){"A", NULL}, &error));
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "8589934592 bytes, more than the limit of 67108864"));
    assert_int_equal(stat(path, &about), 0);
    assert_true((off_t)1 << 33 == about.st_size);
    unlink(path);
}
