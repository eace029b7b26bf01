/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of the tuning cache (coll_nicbarr/cache_file.c). Invariants. What was written is read
 * again, for that shape and machine only. A file that is not ours is neither believed nor changed.
 * When several write at the same time, no entry is lost, and no reader sees half a file. Nothing
 * else stays in the folder. Nobody waits for what is no file, or for a stranger's lock.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "coll_nicbarr/cache_file.h"
#include "coll_nicbarr/nics.h"
#include "tests/unit/crew.h"

static const struct myr_nic_kind soft = {.name = "soft"}, kernel = {.name = "kernel"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, NULL};

enum { WRITERS = 6, WRITES = 15, NOBODY = 65534 };

static char folder[200], path[300];
static struct nicbarr_cache_file file = {path, "host | processor | versions", NULL};

static int set_up(void **state)
{
    (void)state;
    crew_folder_make(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/tuning.json", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crew_folder_remove(folder);
    return 0;
}

static struct nicbarr_shape shape_of(uint32_t processes)
{
    return (struct nicbarr_shape){
        .nodes = 1, .processes = processes, .homes = 1, .processors = 8, .players = 1};
}

static bool remember(struct nicbarr_shape shape, const char *name, struct myr_error *error)
{
    struct nicbarr_cache_entry entry = {
        .choice_us = 1.5, .openmpi_us = 2.5, .measured = "2026-01-01T00:00:00Z"};
    *error = (struct myr_error){0};
    return nicbarr_choice_parse(name, &entry.choice) &&
           nicbarr_cache_file_write(&file, &shape, &entry, error);
}

static void expect_written(struct nicbarr_shape shape, const char *name)
{
    struct myr_error error;
    if (!remember(shape, name, &error)) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(error.text, "");
}

/* NULL: there is none; without a complaint in both cases. */
static void expect_known(struct nicbarr_shape shape, const char *name)
{
    struct nicbarr_choice choice;
    char text[NICBARR_CHOICE_TEXT];
    struct myr_error error = {0};
    const bool known = nicbarr_cache_file_read(&file, &shape, &choice, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(known, NULL != name);
    if (NULL != name) {
        assert_string_equal(nicbarr_choice_name(choice, text), name);
    }
}

static void expect_complaint(struct nicbarr_shape shape, const char *what)
{
    struct nicbarr_choice choice;
    struct myr_error error = {0};
    assert_false(nicbarr_cache_file_read(&file, &shape, &choice, &error));
    if (NULL == strstr(error.text, what)) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, what);
    }
}

static size_t get(char *text, size_t room)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    const size_t bytes = fread(text, 1, room, in);
    fclose(in);
    return bytes;
}

static int files_in_folder(void)
{
    DIR *directory = opendir(folder);
    int files = 0;
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); NULL != entry;
         entry = readdir(directory)) {
        files += '.' != entry->d_name[0];
    }
    closedir(directory);
    return files;
}

static void missing(void **state)
{
    (void)state;
    expect_known(shape_of(4), NULL);
    assert_int_equal(files_in_folder(), 0);
}

static void written_and_read(void **state)
{
    (void)state;
    expect_written(shape_of(4), "tree:4");
    expect_written(shape_of(5), "openmpi");
    expect_known(shape_of(4), "tree:4");
    expect_known(shape_of(5), "openmpi");
    expect_known(shape_of(6), NULL);
    expect_written(shape_of(4), "pairwise"); /* in place of the first */
    expect_known(shape_of(4), "pairwise");
    expect_known(shape_of(5), "openmpi");
    assert_int_equal(files_in_folder(), 1);

    /* All of a shape counts, and the machine. */
    struct nicbarr_shape other = shape_of(4);
    other.homes = 2;
    expect_known(other, NULL);
    other = shape_of(4);
    other.oversubscribed = true;
    expect_known(other, NULL);
    other = shape_of(4);
    other.processors = 4;
    expect_known(other, NULL);
    other = shape_of(4);
    other.nodes = 2;
    expect_known(other, NULL);
    const struct nicbarr_cache_file here = file;
    file.machine = "another host | processor | versions";
    expect_known(shape_of(4), NULL);
    file = here;
}

static void not_ours(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "line 1"},
        {"garbage", "line 1"},
        {"{\n\"format\": \"nicbarr tuning cache 1\",\n\"entr", "line 3"},
        {"[1, 2, 3]", "something else"},
        {"{\"a\": [1, 2, 3]}", "something else"},
        {"{\"format\": \"nicbarr tuning cache 2\", \"entries\": {}}", "another version"},
        {"{\"format\": \"nicbarr tuning cache 1\", \"entries\": []}", "something else"},
        {"{\"format\": 1, \"entries\": {}}", "something else"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        const size_t bytes = strlen(cases[i].text);
        struct myr_error error;
        char after[200];
        crew_file_write(path, cases[i].text, bytes);
        expect_complaint(shape_of(4), cases[i].complaint);
        assert_false(remember(shape_of(4), "tree:4", &error));
        assert_non_null(strstr(error.text, cases[i].complaint));
        assert_int_equal(get(after, sizeof(after)), bytes);
        assert_memory_equal(after, cases[i].text, bytes);
        assert_int_equal(files_in_folder(), 1);
    }
}

/* An entry of ours whose choice was edited. */
static void edited(void **state)
{
    (void)state;
    static const struct {
        const char *choice, *complaint; /* NULL: it is gone by */
    } cases[] = {
        {"tree:2", NULL},
        {"magic4", "an algorithm that does not exist"},
        {"tree:0", "an algorithm that does not exist"},
        {"tree:3@kernel", "a NIC that is not there"},
    };
    char text[1000], changed[1100];
    expect_written(shape_of(4), "tree:7");
    const size_t bytes = get(text, sizeof(text) - 1);
    text[bytes] = '\0';
    char *choice = strstr(text, "tree:7");
    assert_non_null(choice);
    *choice = '\0';
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        snprintf(changed, sizeof(changed), "%s%s%s", text, cases[i].choice,
                 choice + strlen("tree:7"));
        crew_file_write(path, changed, strlen(changed));
        if (NULL == cases[i].complaint) {
            expect_known(shape_of(4), cases[i].choice);
        } else {
            expect_complaint(shape_of(4), cases[i].complaint);
        }
        expect_known(shape_of(5), NULL);
    }
    expect_written(shape_of(4), "pairwise"); /* the file is ours, so it is mended */
    expect_known(shape_of(4), "pairwise");
}

/* ---- folders ---- */

static void makes_folders(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s/a/b/tuning.json", folder);
    expect_written(shape_of(4), "tree:4");
    expect_known(shape_of(4), "tree:4");
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/a/b", folder);
    struct stat inner;
    assert_int_equal(stat(path, &inner), 0);
    assert_int_equal(inner.st_mode & 0777, 0700);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void no_folder(void **state)
{
    (void)state;
    struct myr_error error;
    crew_file_write(path, "", 0);
    snprintf(path, sizeof(path), "%s/tuning.json/tuning.json", folder); /* that is a file */
    assert_false(remember(shape_of(4), "tree:4", &error));
    assert_non_null(strstr(error.text, strerror(ENOTDIR)));
    snprintf(path, sizeof(path), "%s", folder); /* and that is none */
    assert_false(remember(shape_of(4), "tree:4", &error));
    assert_string_not_equal(error.text, "");
    assert_int_equal(files_in_folder(), 1);
}

/* What is no regular file is not waited for, and stays what it is. */
static void no_regular_file(void **state)
{
    (void)state;
    struct myr_error error;
    struct stat about;
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_complaint(shape_of(4), "no regular file");
    assert_false(remember(shape_of(4), "tree:4", &error));
    assert_non_null(strstr(error.text, "no regular file"));
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/zero", path), 0);
    expect_complaint(shape_of(4), "no regular file");
}

/* The new file beside it is one of our making, whatever somebody has put there. */
static void no_regular_file_beside_it(void **state)
{
    (void)state;
    char beside[400];
    snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid());
    assert_int_equal(mkfifo(beside, 0600), 0);
    expect_written(shape_of(4), "tree:4");
    expect_known(shape_of(4), "tree:4");
    assert_int_equal(files_in_folder(), 1);
}

/* Another user may lock a folder that it may read: nobody waits for long. */
static void locked_by_a_stranger(void **state)
{
    (void)state;
    struct myr_error error;
    assert_int_equal(chmod(folder, 0755), 0);
    const int door = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(door, LOCK_EX), 0);
    assert_false(remember(shape_of(4), "tree:4", &error));
    assert_non_null(strstr(error.text, "another process keeps it locked"));
    assert_int_equal(files_in_folder(), 0);
    close(door);
    expect_written(shape_of(4), "tree:4");
}

/* As somebody who may look, but not write. */
static void look_only(uint32_t rank, void *context)
{
    struct nicbarr_choice choice;
    struct nicbarr_shape shape = shape_of(4);
    struct myr_error error = {0};
    (void)rank;
    (void)context;
    CREW_CHECK(0 != getuid() || 0 == setuid(NOBODY), "setuid");
    CREW_CHECK(nicbarr_cache_file_read(&file, &shape, &choice, &error), "%s", error.text);
    CREW_CHECK(!remember(shape_of(5), "tree:4", &error), "written");
    CREW_CHECK(NULL != strstr(error.text, strerror(EACCES)), "%s", error.text);
}

static void read_only_folder(void **state)
{
    (void)state;
    expect_written(shape_of(4), "tree:4");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    const bool well = crew_join(crew_fork(look_only, 0, NULL));
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(well);
    expect_known(shape_of(4), "tree:4");
    expect_known(shape_of(5), NULL);
    assert_int_equal(files_in_folder(), 1);
}

/* ---- several at once ---- */

static void write_some(uint32_t rank, void *context)
{
    (void)context;
    for (uint32_t i = 0; i < WRITES; ++i) {
        struct nicbarr_choice choice;
        struct myr_error error;
        const struct nicbarr_shape own = shape_of(2 + rank * WRITES + i), first = shape_of(2);
        CREW_CHECK(remember(own, "tree:4", &error), "%s", error.text);
        CREW_CHECK(nicbarr_cache_file_read(&file, &own, &choice, &error), "lost: %s", error.text);
        (void)nicbarr_cache_file_read(&file, &first, &choice, &error);
        CREW_CHECK('\0' == error.text[0], "%s", error.text);
    }
}

static void at_once(void **state)
{
    (void)state;
    assert_true(crew_run(WRITERS, write_some, NULL));
    for (uint32_t processes = 2; processes < 2 + WRITERS * WRITES; ++processes) {
        expect_known(shape_of(processes), "tree:4");
    }
    assert_int_equal(files_in_folder(), 1);
}

int main(void)
{
    nicbarr_choice_nics(nicbarr_nic_names());
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(written_and_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(makes_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_regular_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_regular_file_beside_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(locked_by_a_stranger, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_only_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cache file", tests, NULL, NULL);
}
