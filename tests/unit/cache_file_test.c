/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the file of the tuning cache (coll_nicbarr/files/cache_file.c). A failure means that jobs
 * lose measurements, overwrite a user's file, or block. (cache_lines_test.c tests the file's
 * contents.)
 *
 * Invariants:
 *
 * - An added measurement is read again for the same shape, machine and collective, and for no
 *   others.
 * - A foreign file is neither used nor changed.
 * - If processes write concurrently and some are killed, no completed write is lost, and no reader
 *   sees an incomplete file.
 * - In the directory no files remain except the lock, and beside a foreign file not even the lock.
 * - Non-regular files and other users' locks do not block.
 * - Directories are created only below the permitted one.
 * - The environment determines the user's own file as the XDG specification says.
 * - The number of system calls does not depend on the file's size, and a file above the limit is
 *   not read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_lines.h"
#include "coll_nicbarr/files/cache_locations.h"
#include "coll_nicbarr/nics.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static const struct myr_nic_kind soft = {.name = "soft"}, kernel = {.name = "kernel"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, NULL};

enum { WRITERS = 6, WRITES = 8, ROUNDS = 3, NOBODY = 65534 };

static char path[300];
static struct nicbarr_cache_file file = {path, crew_dir, "processor | versions", NULL};

static int set_up(void **state)
{
    (void)crew_dir_begin(state);
    snprintf(path, sizeof(path), "%s/tuning.jsonl", crew_dir);
    return 0;
}

static struct nicbarr_shape shape_of(uint32_t processes)
{
    return (struct nicbarr_shape){
        .nodes = 1, .processes = processes, .homes = 1, .processors = 8, .nics = 1};
}

/* A measurement identified by its time. */
static struct nicbarr_measurement measurement_of(int64_t when)
{
    struct nicbarr_measurement one = {.when = when, .confidence = 0.875, .count = 1};
    strcpy(one.of[0].name, "openmpi");
    one.of[0].rounds = 9;
    one.of[0].us = (struct nicbarr_quartiles){8.5, 9.25, 10};
    return one;
}

static bool add(struct nicbarr_shape shape, int64_t when, struct myr_error *error)
{
    const struct nicbarr_measurement measurement = measurement_of(when);
    *error = (struct myr_error){.text = ""};
    return nicbarr_cache_file_add(&file, &shape, &measurement, error);
}

static struct nicbarr_evidence evidence; /* the result of the last read */

static bool read_cache(struct nicbarr_shape shape, struct myr_error *error)
{
    *error = (struct myr_error){.text = ""};
    evidence.count = 0;
    return nicbarr_cache_file_read(&file, &shape, &evidence, error);
}

static void expect_added(struct nicbarr_shape shape, int64_t when)
{
    struct myr_error error;
    if (!add(shape, when, &error) || '\0' != error.text[0]) {
        fail_msg("%s", error.text);
    }
}

/* Returns whether the measurement of add() was read exactly once. */
static bool holds(int64_t when)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < evidence.count; ++i) {
        found += when == evidence.of[i].when && 9.25 == evidence.of[i].of[0].us.median;
    }
    return 1 == found;
}

/* Expect this number of measurements, and no error. */
static void expect_count(struct nicbarr_shape shape, uint32_t count)
{
    struct myr_error error;
    if (!read_cache(shape, &error) || '\0' != error.text[0]) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(evidence.count, count);
}

static void expect_text(const struct myr_error *error, const char *what)
{
    if (NULL == strstr(error->text, what)) {
        fail_msg("\"%s\" does not say \"%s\"", error->text, what);
    }
}

static void expect_read_error(const char *what)
{
    struct myr_error error;
    assert_false(read_cache(shape_of(4), &error));
    assert_int_equal(evidence.count, 0);
    expect_text(&error, what);
}

/* Expect that nothing can be added, and that no lock is created beside a foreign file. */
static void expect_refused(enum myr_status status, const char *what)
{
    char lock[sizeof(path) + 8];
    struct myr_error error;
    assert_false(add(shape_of(5), 1, &error));
    assert_int_equal(error.status, status);
    expect_text(&error, what);
    snprintf(lock, sizeof(lock), "%s.lock", path);
    assert_true(MYR_ERR_FOREIGN != status || 0 != access(lock, F_OK));
}

static size_t get(char *text, size_t room)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    const size_t bytes = fread(text, 1, room, in);
    fclose(in);
    return bytes;
}

/* Count the files except the lock. */
static int files_in_dir(void)
{
    DIR *directory = opendir(crew_dir);
    int files = 0;
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); NULL != entry;
         entry = readdir(directory)) {
        files += '.' != entry->d_name[0] && NULL == strstr(entry->d_name, ".lock");
    }
    closedir(directory);
    return files;
}

#define CACHE_TEST(name) TEST_IN(name, set_up, crew_dir_end)

CACHE_TEST(added_and_read)
{
    expect_count(shape_of(4), 0);
    crew_file_write(path, "", 0); /* as left by a full disk, or created by the user */
    expect_count(shape_of(4), 0);
    expect_added(shape_of(4), 5);
    expect_added(shape_of(4), 7);
    expect_count(shape_of(4), 2);
    assert_true(holds(5) && holds(7));
    assert_int_equal(files_in_dir(), 1);

    /* The whole shape, the machine and the collective must match. */
    const struct nicbarr_shape others[] = {
        {1, 5, 1, 8, 1, false}, {1, 4, 2, 8, 1, false}, {1, 4, 1, 8, 1, true},
        {1, 4, 1, 4, 1, false}, {2, 4, 1, 8, 1, false}, {2, 4, 1, 8, 2, false},
        {2, 4, 1, 8, 6, false},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        expect_count(others[i], 0);
        expect_added(others[i], 100 + (int64_t)i);
        expect_count(others[i], 1);
        assert_true(holds(100 + (int64_t)i));
    }
    const struct nicbarr_cache_file here = file;
    file.machine = "another processor | versions";
    expect_count(shape_of(4), 0);
    file = here;
    file.what = "MPI_Bcast up to 32 bytes";
    expect_count(shape_of(4), 0);
    expect_added(shape_of(4), 9);
    file = here;
    expect_count(shape_of(4), 2);
}

CACHE_TEST(not_ours)
{
    static const char *const texts[] = {
        "garbage",
        "{\"format\": \"nicbarr tuning cache 2\", \"shapes\": {}}\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        char after[200];
        crew_file_write(path, texts[i], strlen(texts[i]));
        expect_read_error("not a tuning cache, or one of another version");
        expect_refused(MYR_ERR_FOREIGN, "not a tuning cache, or one of another version");
        assert_int_equal(get(after, sizeof(after)), strlen(texts[i]));
        assert_memory_equal(after, texts[i], strlen(texts[i]));
        assert_int_equal(files_in_dir(), 1);
    }
}

/* ---- directories ---- */

static void expect_dirs_made(void)
{
    struct stat inner;
    snprintf(path, sizeof(path), "%s/a/b/tuning.jsonl", crew_dir);
    expect_count(shape_of(4), 0);
    expect_added(shape_of(4), 4);
    expect_count(shape_of(4), 1);
    assert_int_equal(unlink(path), 0);
    strcat(path, ".lock");
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/a/b", crew_dir);
    assert_int_equal(stat(path, &inner), 0);
    assert_int_equal(inner.st_mode & 0777, 0700);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

CACHE_TEST(makes_dirs)
{
    char slashes[sizeof(crew_dir) + 2];
    const struct nicbarr_cache_file here = file;
    expect_dirs_made();
    snprintf(slashes, sizeof(slashes), "%s//", crew_dir);
    file.below = slashes;
    expect_dirs_made();
    file = here;
}

/* No directory is created outside the permitted one, nor that one itself, nor in another
 * user's directory. */
CACHE_TEST(makes_no_dirs)
{
    char below[220];
    const struct nicbarr_cache_file here = file;
    snprintf(path, sizeof(path), "%s/ab/c/tuning.jsonl", crew_dir);
    snprintf(below, sizeof(below), "%s/a", crew_dir);
    for (int i = 0; i < 3; ++i) {
        file.below = 0 == i ? NULL : below;
        assert_true(i < 2 || 0 == mkdir(below, 0700)); /* .../ab is not inside .../a */
        expect_refused(MYR_ERR_NOT_THERE, "its directory");
        assert_int_equal(files_in_dir(), 2 == i);
    }
    assert_int_equal(rmdir(below), 0);
    file = here;
    if (0 == getuid()) {
        assert_int_equal(chown(crew_dir, NOBODY, NOBODY), 0);
        expect_refused(MYR_ERR_NOT_THERE, "its directory");
        assert_int_equal(files_in_dir(), 0);
    }
}

/* ---- the user's own file ---- */

/* A relative $XDG_CACHE_HOME is ignored, as its specification demands. */
CACHE_TEST(own_file)
{
    static const struct {
        const char *xdg, *home, *own, *below;
    } cases[] = {
        {"/home/a/c", "/home/a", "/home/a/c/nicbarr/tuning.jsonl", "/home/a/"},
        {"/home/a/c/", "/home/a", "/home/a/c//nicbarr/tuning.jsonl", "/home/a/"},
        {"/home/a/c///", "/home/a", "/home/a/c////nicbarr/tuning.jsonl", "/home/a/"},
        {"/c", "/home/a", "/c/nicbarr/tuning.jsonl", "/"},
        {"/", "/home/a", "//nicbarr/tuning.jsonl", "/"},
        {"c", "/home/a", "/home/a/.cache/nicbarr/tuning.jsonl", "/home/a"},
        {"", "/home/a/", "/home/a//.cache/nicbarr/tuning.jsonl", "/home/a/"},
        {"c", "a", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct nicbarr_cache_location location;
        const char *list = "auto";
        assert_int_equal(setenv("XDG_CACHE_HOME", cases[i].xdg, 1), 0);
        assert_int_equal(setenv("HOME", cases[i].home, 1), 0);
        assert_int_equal(nicbarr_cache_next_location(&list, &location), NULL != cases[i].own);
        if (NULL != cases[i].own) {
            assert_string_equal(location.path, cases[i].own);
            assert_string_equal(location.below, cases[i].below);
        }
    }
}

/* Opening a file that is not a regular one does not block, and leaves it unchanged. */
CACHE_TEST(no_regular_file)
{
    struct stat about;
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_read_error("not a regular file");
    expect_refused(MYR_ERR_FOREIGN, "not a regular file");
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/zero", path), 0);
    expect_read_error("not a regular file");
    assert_int_equal(unlink(path), 0);
    crew_file_write(path, "", 0); /* a file as a directory, and a directory as a file */
    strcat(path, "/tuning.jsonl");
    expect_refused(MYR_ERR_NOT_THERE, strerror(ENOTDIR));
    snprintf(path, sizeof(path), "%s", crew_dir);
    expect_refused(MYR_ERR_FOREIGN, "it is not a regular file");
    assert_int_equal(files_in_dir(), 1);
}

/* The temporary file is newly created, even if another one exists. If the lock is a symbolic link,
 * its target is not created. */
CACHE_TEST(strange_files_beside_it)
{
    char beside[400], elsewhere[400];
    snprintf(beside, sizeof(beside), "%s.new", path);
    assert_int_equal(mkfifo(beside, 0600), 0);
    expect_added(shape_of(4), 4);
    expect_count(shape_of(4), 1);
    assert_int_equal(files_in_dir(), 1);
    snprintf(beside, sizeof(beside), "%s.lock", path);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", crew_dir);
    assert_int_equal(unlink(beside), 0);
    assert_int_equal(symlink(elsewhere, beside), 0);
    expect_refused(MYR_ERR_SYSTEM, strerror(ELOOP));
    assert_int_equal(files_in_dir(), 1);
}

/* Another user may lock a file that it can read: this must not block for long. */
CACHE_TEST(locked_by_another_user)
{
    char name[400];
    snprintf(name, sizeof(name), "%s.lock", path);
    assert_int_equal(chmod(crew_dir, 0755), 0);
    expect_added(shape_of(4), 4);
    const int door = open(name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(door, LOCK_EX), 0);
    expect_refused(MYR_ERR_FULL, "another process keeps it locked");
    assert_int_equal(files_in_dir(), 1);
    close(door);
    expect_added(shape_of(5), 4);
    expect_count(shape_of(4), 1);
}

/* Try to write as a user without permission. `status` and `context` are the expected error. */
static void be_denied(uint32_t status, void *context)
{
    struct myr_error error;
    CREW_CHECK(0 != getuid() || 0 == setuid(NOBODY), "setuid");
    CREW_CHECK(read_cache(shape_of(4), &error), "%s", error.text);
    CREW_CHECK((MYR_ERR_SYSTEM == status) == evidence.count, "%u", evidence.count);
    CREW_CHECK(!add(shape_of(5), 4, &error), "the file was written");
    CREW_CHECK(status == error.status, "%d", (int)error.status);
    CREW_CHECK(NULL != strstr(error.text, context) && NULL != strstr(error.text, strerror(EACCES)),
               "%s", error.text);
}

static void expect_denied(enum myr_status status, const char *what)
{
    assert_int_equal(chmod(crew_dir, 0555), 0);
    const bool succeeded = crew_join(crew_fork(be_denied, status, (void *)what));
    assert_int_equal(chmod(crew_dir, 0700), 0);
    assert_true(succeeded);
}

CACHE_TEST(read_only_dir)
{
    expect_added(shape_of(4), 4);
    assert_int_equal(chmod(path, 0444), 0);
    expect_denied(MYR_ERR_SYSTEM, "");
    expect_count(shape_of(4), 1);
    expect_count(shape_of(5), 0);
    assert_int_equal(files_in_dir(), 1);
}

/* The error states that the directory cannot be created, instead of that it is missing. */
CACHE_TEST(uncreatable_dir)
{
    snprintf(path, sizeof(path), "%s/a/b/tuning.jsonl", crew_dir);
    assert_true(0 != getuid() || 0 == chown(crew_dir, NOBODY, NOBODY));
    expect_denied(MYR_ERR_NOT_THERE, "its directory cannot be used: ");
    assert_int_equal(files_in_dir(), 0);
}

/* ---- concurrent writers ---- */

/* Add to own shapes and to a shared one. `context` counts each process's completed rounds. */
static void write_some(uint32_t rank, void *context)
{
    volatile uint32_t *written = context;
    for (uint32_t i = 0; i < WRITES; ++i) {
        struct myr_error error;
        const struct nicbarr_shape own = shape_of(10 + rank * WRITES + i);
        CREW_CHECK(add(own, 4, &error), "%s", error.text);
        CREW_CHECK(read_cache(own, &error) && holds(4), "%s", error.text);
        CREW_CHECK(add(shape_of(2), 1 + i * WRITERS + rank, &error), "%s", error.text);
        CREW_CHECK(read_cache(shape_of(2), &error), "%s", error.text);
        written[rank] = i + 1;
    }
}

/* No completed write is lost when processes write concurrently and half of them are killed at
 * arbitrary points. The shared shape has the most recent measurements. */
CACHE_TEST(concurrent_writers)
{
    volatile uint32_t *written = crew_memory(WRITERS * sizeof(*written));
    uint64_t random = crew_seed();
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        pid_t writer[WRITERS];
        (void)unlink(path);
        for (uint32_t w = 0; w < WRITERS; ++w) {
            written[w] = 0;
            writer[w] = crew_fork(write_some, w, (void *)written);
        }
        for (uint32_t w = 1; w < WRITERS; w += 2) {
            while (written[w] < w - round % 2) {
                usleep(100);
            }
            usleep(crew_below(&random, 1000));
            (void)kill(writer[w], SIGKILL);
            assert_int_equal(waitpid(writer[w], NULL, 0), writer[w]);
        }
        for (uint32_t w = 0; w < WRITERS; w += 2) {
            assert_true(crew_join(writer[w]));
        }
        expect_added(shape_of(4), 4);
        assert_int_equal(files_in_dir(), 1);
        for (uint32_t w = 0; w < WRITERS; ++w) {
            for (uint32_t i = 0; i < written[w]; ++i) {
                expect_count(shape_of(10 + w * WRITES + i), 1);
                assert_true(holds(4));
            }
        }
        expect_count(shape_of(2), NICBARR_CACHE_KEPT);
        for (uint32_t w = 0; w < WRITERS; w += 2) {
            assert_true(holds(1 + (WRITES - 1) * WRITERS + w));
        }
    }
    crew_memory_free((void *)written, WRITERS * sizeof(*written));
}

/* ---- costs ---- */

/* Returns the number of this process's system calls that read or write files, including a constant
 * number for counting, or 0 if the kernel does not count them. */
static uint64_t count_calls(void)
{
    unsigned long long reads = 0, writes = 0;
    FILE *in = fopen("/proc/self/io", "re");
    if (NULL != in) {
        (void)!fscanf(in, "rchar: %*u wchar: %*u syscr: %llu syscw: %llu", &reads, &writes);
        fclose(in);
    }
    return reads + writes;
}

/* Write a file of this size, with one measurement of shape 4. */
static void put_large(size_t bytes)
{
    char *text = malloc(bytes);
    assert_non_null(text);
    (void)unlink(path);
    expect_added(shape_of(4), 4);
    const size_t length = get(text, bytes);
    assert_true(length < bytes);
    memset(text + length, 'x', bytes - length);
    for (size_t i = length + 100; i < bytes; i += 100) {
        text[i] = '\n';
    }
    crew_file_write(path, text, bytes);
    free(text);
}

/* A file at the size limit takes as many system calls as a small one, and old lines are dropped
 * from it. A file above the limit is neither read nor changed. */
CACHE_TEST(costs)
{
    static const size_t sizes[] = {5000, NICBARR_CACHE_MOST, NICBARR_CACHE_MOST + 1};
    for (int i = 0; i < 3; ++i) {
        struct myr_error error;
        struct stat about;
        put_large(sizes[i]);
        const uint64_t before = count_calls(), overhead = count_calls() - before;
        assert_int_equal(read_cache(shape_of(4), &error), i < 2);
        const uint64_t to_read = count_calls() - before - 2 * overhead;
        assert_int_equal(evidence.count, i < 2);
        assert_true(i < 2 || NULL != strstr(error.text, "it has 524289 bytes, more than the limit "
                                                        "of 524288"));
        assert_int_equal(add(shape_of(5), 9, &error), i < 2);
        const uint64_t to_add = count_calls() - before - 3 * overhead - to_read;
        assert_true(i < 2 || MYR_ERR_FOREIGN == error.status);
        assert_int_equal(stat(path, &about), 0);
        assert_true(1 == i ? about.st_size <= NICBARR_CACHE_MOST / 2
                           : about.st_size >= (off_t)sizes[i]);
        if (0 != before) {
            assert_int_equal(to_read, i < 2);
            assert_int_equal(to_add, i < 2 ? 3 : 0); /* two reads and one write */
        }
    }
}

int main(void)
{
    nicbarr_choice_nics(nicbarr_nic_names());
    crew_watchdog();
    return test_run(NULL);
}
