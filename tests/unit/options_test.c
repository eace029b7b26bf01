/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the command line of nicbarr_bench. A failure means that it measures something else than the
 * command line requests.
 *
 * Invariants: without an operation it measures a barrier without sizes; the sizes are those
 * requested, and multiples of the elements' size; invalid command lines are rejected.
 */
#include <getopt.h>

#include "bench/options.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* Split a line into argv, and parse it. */
static enum options_verdict parse(const char *line, struct options *options)
{
    enum { MOST = 16 };
    static char text[256];
    char name[] = "nicbarr_bench", *words[MOST + 1] = {name}, *rest = text;
    int count = 1;
    assert_true(strlen(line) < sizeof(text));
    strcpy(text, line);
    for (char *word; count < MOST && (word = strtok_r(rest, " ", &rest)); count++)
        words[count] = word;
    optind = 0; /* glibc: reinitialize getopt_long */
    return options_parse(count, words, false, options);
}

static void expect_sizes(const char *line, size_t count, const size_t *sizes)
{
    struct options options;
    assert_int_equal(parse(line, &options), OPTIONS_RUN);
    assert_int_equal(options.sizes_count, count);
    assert_memory_equal(options.sizes, sizes, count * sizeof(*sizes));
    assert_int_equal(options.sized, sizes[0] != 0);
}

TEST(barrier_by_default)
{
    struct options options;
    assert_int_equal(parse("", &options), OPTIONS_RUN);
    assert_int_equal(options.operation, OPERATION_BARRIER);
    assert_int_equal(options.beside, OPERATION_NONE);
    assert_null(options.preference[0]);
    assert_string_equal(options.preference[1], "^nicbarr");
    assert_false(options.unchecked);
    expect_sizes("", 1, (size_t[]){0});
}

TEST(every_operation_by_name)
{
    for (int o = 0; o < OPERATION_NONE; o++) {
        char beside[64] = "--beside ";
        struct options options;
        assert_int_equal(parse(operations[o].name, &options), OPTIONS_RUN);
        assert_int_equal(options.operation, o);
        assert_int_equal(parse(strcat(beside, operations[o].name), &options), OPTIONS_RUN);
        assert_int_equal(options.operation, OPERATION_BARRIER);
        assert_int_equal(options.beside, o);
    }
}

TEST(operation_at_any_position)
{
    static const char *const lines[] = {"bcast -c 7 -a tuned", "-c 7 bcast -a tuned",
                                        "-c 7 -a tuned bcast"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct options options;
        assert_int_equal(parse(lines[i], &options), OPTIONS_RUN);
        assert_int_equal(options.operation, OPERATION_BCAST);
        assert_int_equal(options.chunks, 7);
        assert_string_equal(options.preference[0], "tuned");
    }
}

TEST(requested_sizes)
{
    expect_sizes("allreduce", 6, (size_t[]){4, 8, 64, 512, 1024, 4096});
    expect_sizes("allreduce -m 32", 4, (size_t[]){4, 8, 16, 32});
    expect_sizes("allreduce -m 4", 1, (size_t[]){4});
    expect_sizes("iallreduce -m 12:50", 3, (size_t[]){12, 24, 48});
    expect_sizes("bcast -m 1:1", 1, (size_t[]){1});
    expect_sizes("bcast -m 3:7", 2, (size_t[]){3, 6});
    expect_sizes("-m 8:8 bcast", 1, (size_t[]){8});
    expect_sizes("--beside bcast -m 3:3", 1, (size_t[]){3});
    expect_sizes("bcast --message-size 268435456:268435456", 1, (size_t[]){268435456});

    struct options options;
    assert_int_equal(parse("bcast -m 1:268435456", &options), OPTIONS_RUN);
    assert_int_equal(options.sizes_count, 29);
    assert_int_equal(options.sizes[28], 268435456);
}

/* Operations without data ignore sizes. */
TEST(operations_without_sizes)
{
    static const char *const lines[] = {"barrier -m 8", "ibarrier", "persistent -m 1:2", "dup",
                                        "dup --beside barrier -m 3:3"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        expect_sizes(lines[i], 1, (size_t[]){0});
}

TEST(invalid_command_lines)
{
    static const char *const lines[] = {
        "scan",
        "allreduce bcast",
        "--beside",
        "--beside none",
        "--nonsense",
        "bcast -m",
        "bcast -m x",
        "bcast -m 0",
        "bcast -m 0:8",
        "bcast -m :8",
        "bcast -m 8:",
        "bcast -m 8:4",
        "bcast -m -1:4",
        "bcast -m 1:2:3",
        "bcast -m 268435457",
        "bcast -m 0000000000000001:2",
        "bcast -m 2", /* below the smallest size, 4 */
        "allreduce -m 1:8",
        "iallreduce -m 6:24",
        "bcast --beside allreduce -m 1:8",
        "--beside allreduce -m 2:8",
        "-c 0",
        "-c x",
        "-i 0",
        "-x -1",
        "-t -1",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct options options;
        if (parse(lines[i], &options) != OPTIONS_BAD)
            fail_msg("accepted: %s", lines[i]);
    }
}
