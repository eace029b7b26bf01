/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the selection of NICs (nics.c). A failure means that a process opens other NICs than
 * coll_nicbarr_nic selects, or reports a wrong reason if none can be opened. The test's fake kinds
 * of NICs open successfully or fail as each test requires.
 */
#include "coll_nicbarr/nics.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { A = 1, B = 2 };

/* The result of opening each NIC, and records of the calls. */
static enum myr_status open_status[3];
static bool retry; /* the result of the last call that opened NICs */
static const char *requested[3];
static uint32_t opened[3], closed[3], polled[3], messages;

static enum myr_status open_one(uint32_t nic, const char *way, void **to, struct myr_error *error)
{
    ++opened[nic];
    requested[nic] = way;
    *to = &open_status[nic];
    return MYR_OK == open_status[nic]
               ? MYR_OK
               : myr_fail(error, open_status[nic], 0, "no %c", (int)nic + '@');
}

static enum myr_status open_a(const struct myr_site *site, const char *way,
                              const union myr_value *values, void **nic, struct myr_error *error)
{
    (void)site;
    (void)values;
    return open_one(A, way, nic, error);
}

static enum myr_status open_b(const struct myr_site *site, const char *way,
                              const union myr_value *values, void **nic, struct myr_error *error)
{
    (void)site;
    (void)values;
    return open_one(B, way, nic, error);
}

static void close_one(void *nic)
{
    ++closed[(enum myr_status *)nic - open_status];
}

static uint32_t poll_one(void *nic)
{
    const ptrdiff_t number = (enum myr_status *)nic - open_status;
    ++polled[number];
    return (uint32_t)(10 * number);
}

static const char *const ways_a[] = {"other", NULL}, *const ways_b[] = {NULL};
static const struct myr_nic_kind kind_a = {
    .name = "a", .ways = ways_a, .open = open_a, .close = close_one, .poll = poll_one};
static const struct myr_nic_kind kind_b = {
    .name = "b", .ways = ways_b, .open = open_b, .close = close_one};
const struct myr_nic_kind *const nicbarr_kinds[] = {&kind_a, &kind_b, NULL};

static void print(int level, const char *line)
{
    (void)level;
    assert_non_null(line);
    ++messages;
}

static const struct myr_site site = {.print = print};

/* ---- words ---- */

static void expect_wanted(const char *words, bool good, bool a, bool b, const char *way_of_a)
{
    /* The result must not depend on the previous state. */
    struct nicbarr_nics nics = {.wanted = {false, true, true}, .way = {NULL, "x", "x"}};
    print_message("words: %s\n", NULL == words ? "(null)" : words);
    assert_int_equal(nicbarr_nics_parse(&nics, words), good);
    assert_int_equal(nics.wanted[A], a);
    assert_int_equal(nics.wanted[B], b);
    assert_int_equal(nicbarr_nics_wanted(&nics), a || b);
    if (a && NULL == way_of_a) {
        assert_null(nics.way[A]);
    } else if (a) {
        assert_string_equal(nics.way[A], way_of_a);
    }
}

TEST(valid_words)
{
    expect_wanted("auto", true, true, true, NULL);
    expect_wanted("", true, true, true, NULL);
    expect_wanted(NULL, true, true, true, NULL);
    expect_wanted("none", true, false, false, NULL);
    expect_wanted("a", true, true, false, "a");
    expect_wanted("b", true, false, true, NULL);
    expect_wanted("a,b", true, true, true, "a");
    expect_wanted("b,a", true, true, true, "a");
    expect_wanted("other", true, true, false, "other");
    expect_wanted("a,other", true, true, false, "other"); /* the last one decides */
    expect_wanted("none,b", true, false, true, NULL);
    expect_wanted("auto,none", true, true, true, NULL);
    expect_wanted("a,", true, true, false, "a");
}

/* An unknown word is reported, and all kinds are wanted. */
TEST(unknown_words)
{
    static const char *const unknown[] = {"c",    "A",  "aa",  "other1", "a,c", "c,a", ",a",
                                          "a,,b", " a", "a b", "othe",   "a;b", ","};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i) {
        expect_wanted(unknown[i], false, true, true, NULL);
    }
}

TEST(all_words)
{
    char text[100], short_text[12];
    assert_string_equal(nicbarr_nic_words(text, sizeof(text)), "auto, none, a, other, b");
    memset(short_text, 'x', sizeof(short_text));
    nicbarr_nic_words(short_text, sizeof(short_text) - 1);
    assert_string_equal(short_text, "auto, none");
    assert_int_equal(short_text[sizeof(short_text) - 1], 'x');
    assert_string_equal(nicbarr_nic_names()[0], "a");
    assert_string_equal(nicbarr_nic_names()[1], "b");
    assert_null(nicbarr_nic_names()[2]);
}

/* ---- opening ---- */

static enum myr_status open_all(struct nicbarr_nics *nics, const char *words, enum myr_status a,
                                enum myr_status b, struct myr_error *error)
{
    memset(opened, 0, sizeof(opened));
    memset(closed, 0, sizeof(closed));
    messages = 0;
    open_status[A] = a;
    open_status[B] = b;
    memset(nics, 0, sizeof(*nics));
    assert_true(nicbarr_nics_parse(nics, words));
    return nicbarr_nics_open(nics, &site, &retry, error);
}

TEST(opens_what_is_wanted)
{
    struct nicbarr_nics nics;
    struct myr_error error;
    assert_int_equal(open_all(&nics, "auto", MYR_OK, MYR_OK, &error), MYR_OK);
    assert_ptr_equal(nics.nic[A], &open_status[A]);
    assert_ptr_equal(nics.nic[B], &open_status[B]);
    assert_int_equal(nicbarr_nics_run(&nics, true), 10); /* B has no poll function */
    assert_int_equal(nicbarr_nics_run(&nics, false), 0);
    assert_int_equal(polled[A], 1);
    nicbarr_nics_close(&nics);
    nicbarr_nics_close(&nics); /* all are closed already */
    assert_int_equal(closed[A], 1);
    assert_int_equal(closed[B], 1);

    assert_int_equal(open_all(&nics, "other", MYR_OK, MYR_OK, &error), MYR_OK);
    assert_string_equal(requested[A], "other");
    assert_int_equal(opened[B], 0);
    assert_null(nics.nic[B]);
    nicbarr_nics_close(&nics);
    assert_int_equal(closed[B], 0);
}

TEST(one_is_enough)
{
    struct nicbarr_nics nics;
    struct myr_error error;
    assert_int_equal(open_all(&nics, "auto", MYR_OK, MYR_ERR_NOT_THERE, &error), MYR_OK);
    assert_int_equal(messages, 0); /* B was not requested by name */
    assert_null(nics.nic[B]);
    nicbarr_nics_close(&nics);
    assert_int_equal(open_all(&nics, "auto", MYR_ERR_SYSTEM, MYR_OK, &error), MYR_OK);
    assert_int_equal(messages, 1); /* A exists, but fails */
    assert_null(nics.nic[A]);
    nicbarr_nics_close(&nics);
    assert_int_equal(closed[A], 0);
    assert_int_equal(closed[B], 1);
}

/* The first failure is reported, but an absent NIC only if nothing else failed. */
TEST(reports_why_none_opened)
{
    struct nicbarr_nics nics;
    struct myr_error error;
    static const struct {
        const char *words;
        enum myr_status a, b, status;
        const char *text;
    } cases[] = {
        {"auto", MYR_ERR_SYSTEM, MYR_ERR_FULL, MYR_ERR_SYSTEM, "no A"},
        {"auto", MYR_ERR_SYSTEM, MYR_ERR_NOT_THERE, MYR_ERR_SYSTEM, "no A"},
        {"auto", MYR_ERR_NOT_THERE, MYR_ERR_FULL, MYR_ERR_FULL, "no B"},
        {"auto", MYR_ERR_NOT_THERE, MYR_ERR_NOT_THERE, MYR_ERR_NOT_THERE, "no A"},
        {"b", MYR_OK, MYR_ERR_NOT_THERE, MYR_ERR_NOT_THERE, "no B"},
        {"none", MYR_OK, MYR_OK, MYR_ERR_NOT_THERE, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        assert_int_equal(open_all(&nics, cases[i].words, cases[i].a, cases[i].b, &error),
                         cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_string_equal(error.text, cases[i].text);
        assert_null(nics.nic[A]);
        assert_null(nics.nic[B]);
    }
}

/* A NIC that is not ready yet is opened by a later call, and open NICs remain open. Nothing is
 * reported. */
TEST(retries)
{
    struct nicbarr_nics nics;
    struct myr_error error;
    assert_int_equal(open_all(&nics, "auto", MYR_OK, MYR_ERR_NOT_YET, &error), MYR_OK);
    assert_true(retry);
    assert_int_equal(messages, 0);
    open_status[B] = MYR_OK;
    assert_int_equal(nicbarr_nics_open(&nics, &site, &retry, &error), MYR_OK);
    assert_false(retry);
    assert_int_equal(opened[A], 1);
    assert_int_equal(opened[B], 2);
    assert_ptr_equal(nics.nic[B], &open_status[B]);
    nicbarr_nics_close(&nics);
    assert_int_equal(closed[A], 1);
    assert_int_equal(closed[B], 1);

    assert_int_equal(open_all(&nics, "b", MYR_OK, MYR_ERR_NOT_YET, &error), MYR_ERR_NOT_YET);
    assert_true(retry);
    open_status[B] = MYR_ERR_SYSTEM; /* it fails at last */
    assert_int_equal(nicbarr_nics_open(&nics, &site, &retry, &error), MYR_ERR_SYSTEM);
    assert_false(retry);
    assert_string_equal(error.text, "no B");
    assert_int_equal(messages, 1);
}
