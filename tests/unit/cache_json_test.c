/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file of the tuning cache says (coll_nicbarr/files/cache_json.c). Invariants. Of a list,
 * however long, a stated number of entries is looked at. What is nested deeply is refused, and only
 * that. What is written can be read again: beyond the limit the keys that were measured the longest
 * ago go, and what is not as we write it before them, but never what has just been added. (What
 * else becomes of a file is cache_file_test.c's.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "coll_nicbarr/files/cache_json.h"
#include "tests/unit/crew.h"

enum { LONG = 3000, MANY = 20000, ROOM = NICBARR_CACHE_MOST + 1000 };

#define HEAD "{\"format\": \"nicbarr tuning cache 2\", \"shapes\": {"
#define CANDIDATES "\"candidates\": [{\"choice\": \"openmpi\", \"rounds\": 9, \"us\": [1, 2, 3]}]"

static char text[ROOM];

/* ---- how often a measurement is read ---- */

static unsigned times_read; /* each has one time */

char *__real_strptime(const char *, const char *, struct tm *);
char *__wrap_strptime(const char *, const char *, struct tm *);
char *__wrap_strptime(const char *from, const char *as, struct tm *to)
{
    ++times_read;
    return __real_strptime(from, as, to);
}

/* ---- documents ---- */

static size_t append(size_t length, const char *what, ...) __attribute__((format(printf, 2, 3)));
static size_t append(size_t length, const char *what, ...)
{
    va_list rest;
    va_start(rest, what);
    length += (size_t)vsnprintf(text + length, ROOM - length, what, rest);
    va_end(rest);
    assert_true(length < ROOM);
    return length;
}

static json_t *parsed(size_t length)
{
    struct myr_error error = {.text = ""};
    json_t *root = nicbarr_cache_json_parse(text, length, &error);
    if (NULL == root) {
        fail_msg("%s", error.text);
    }
    return root;
}

static struct nicbarr_measurement measurement_of(int64_t when)
{
    struct nicbarr_measurement one = {.when = when, .confidence = 0.5, .count = 1};
    strcpy(one.of[0].name, "openmpi");
    one.of[0].rounds = 3;
    one.of[0].us = (struct nicbarr_quartiles){1, 2, 3};
    return one;
}

static uint32_t known(const json_t *root, const char *key)
{
    static struct nicbarr_evidence evidence;
    evidence.count = 0;
    nicbarr_cache_json_read(root, key, &evidence);
    return evidence.count;
}

/* A list of `LONG` entries, all as we write them, or none. */
static json_t *long_list(bool ours)
{
    size_t length = append(0, "%s\"key\": [", HEAD);
    for (int i = 0; i < LONG; ++i) {
        length = append(
            length,
            "%s{\"when\": \"1970-01-01T00:%02d:%02dZ\", \"confidence\": 0.9, " CANDIDATES "}",
            0 == i ? "" : ", ", i / 60, ours ? i % 60 : 99);
    }
    return parsed(append(length, "]}}"));
}

/* ---- tests ---- */

static void long_lists(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ++ours) {
        const struct nicbarr_measurement one = measurement_of(5000);
        json_t *root = long_list(ours);
        times_read = 0;
        assert_int_equal(known(root, "key"), ours ? NICBARR_CACHE_LOOKED_AT : 0);
        assert_in_range(times_read, 1, NICBARR_CACHE_LOOKED_AT);
        times_read = 0;
        nicbarr_cache_json_add(root, "key", &one);
        assert_in_range(times_read, 1, NICBARR_CACHE_LOOKED_AT);
        assert_int_equal(known(root, "key"), ours ? NICBARR_CACHE_KEPT : 1);
        json_decref(root);
    }
}

/* So many lists within each other, in all. */
static size_t nested(int depth)
{
    size_t length = append(0, "%s\"x\": ", HEAD);
    for (int i = 2; i < depth; ++i) {
        length = append(length, "[");
    }
    for (int i = 2; i < depth; ++i) {
        length = append(length, "]");
    }
    return append(length, "}}");
}

static void deep_nesting(void **state)
{
    (void)state;
    static const int depths[] = {NICBARR_CACHE_DEPTH + 1, 100, 2000, 1000000};
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); ++i) {
        struct myr_error error = {.text = ""};
        assert_null(nicbarr_cache_json_parse(text, nested(depths[i]), &error));
        assert_int_equal(error.status, MYR_ERR_FOREIGN);
        assert_string_equal(error.text, "it is nested more than 16 deep");
    }
    json_decref(parsed(nested(NICBARR_CACHE_DEPTH)));
    /* What is in strings does not count, nor what is side by side. */
    size_t length =
        append(0, "%s\"a\\\"[[[[[[[[[[[[[[[[[[[[[[[[\\\\\": \"{{{{{{{{{{{{{{{{{{\"", HEAD);
    for (int i = 0; i < 100; ++i) {
        length = append(length, ", \"%d\": [{}]", i);
    }
    json_decref(parsed(append(length, "}}")));
}

/* What `root` is written as can be read, and is within the limit. */
static json_t *written(json_t *root, const char *key)
{
    char *out = nicbarr_cache_json_text(root, key);
    struct myr_error error = {.text = ""};
    assert_non_null(out);
    const size_t bytes = strlen(out);
    assert_true(bytes <= NICBARR_CACHE_MOST);
    json_t *again = nicbarr_cache_json_parse(out, bytes, &error);
    if (NULL == again) {
        fail_msg("%s", error.text);
    }
    assert_true(json_equal(root, again));
    free(out);
    json_decref(root);
    return again;
}

/* Add one measurement to each of so many keys, the later ones later. */
static json_t *many_keys(json_t *root, int from, int end)
{
    char key[120];
    for (int i = from; i < end; ++i) {
        const struct nicbarr_measurement one = measurement_of(1000 + i);
        snprintf(key, sizeof(key), "%0100d", i);
        nicbarr_cache_json_add(root, key, &one);
    }
    return root;
}

static void the_oldest_keys_go(void **state)
{
    (void)state;
    char key[120];
    const struct nicbarr_measurement one = measurement_of(1); /* the oldest of all */
    json_t *root = many_keys(nicbarr_cache_json_empty(), 0, MANY);
    nicbarr_cache_json_add(root, "key", &one);
    root = written(root, "key");
    assert_int_equal(known(root, "key"), 1);
    const int left = (int)json_object_size(json_object_get(root, "shapes"));
    char *out = nicbarr_cache_json_text(root, "key");
    assert_in_range(strlen(out), NICBARR_CACHE_MOST / 2, NICBARR_CACHE_MOST);
    free(out);
    for (int i = 0; i < MANY; ++i) {
        snprintf(key, sizeof(key), "%0100d", i);
        assert_int_equal(known(root, key), i > MANY - left);
    }
    root = written(many_keys(root, MANY, MANY + 1), "key"); /* there is room again */
    assert_int_equal(json_object_size(json_object_get(root, "shapes")), left + 1);
    json_decref(root);
}

/* What is small as it stands, and large as we write it. */
static void what_grows_goes(void **state)
{
    (void)state;
    const struct nicbarr_measurement one = measurement_of(1);
    size_t length = append(0, "%s\"grows\": [[[[[[[[[[[[0", HEAD);
    while (length < NICBARR_CACHE_MOST - 100) {
        length = append(length, ",0");
    }
    json_t *root = parsed(append(length, "]]]]]]]]]]]], \"stays\": []}, \"other\": 1}"));
    nicbarr_cache_json_add(root, "key", &one);
    nicbarr_cache_json_add(root, "stays", &one);
    root = written(root, "key");
    assert_int_equal(known(root, "key"), 1);
    assert_int_equal(known(root, "stays"), 1);
    assert_int_equal(json_object_size(json_object_get(root, "shapes")), 2);
    json_decref(root);
}

/* One that has more than the limit, beside what is as we write it: in its name, or in its list. */
static void what_is_large_alone_goes(void **state)
{
    (void)state;
    const struct nicbarr_measurement one = measurement_of(1);
    for (int which = 0; which < 2; ++which) {
        size_t length =
            append(0,
                   "%s\"key\": [{\"when\": \"1970-01-01T00:00:03Z\", \"confidence\": 1, "
                   "\"more\": \"",
                   HEAD);
        while (0 == which && length < NICBARR_CACHE_MOST - 400) {
            length = append(length, "aaaaaaaaaaaaaaaa");
        }
        length = append(length, "\", " CANDIDATES "}], \"");
        while (1 == which && length < NICBARR_CACHE_MOST - 400) {
            length = append(length, "\\\\u00011111111111");
        }
        length = append(length,
                        "\": [{\"when\": \"1970-01-01T00:00:03Z\", \"confidence\": 1, " CANDIDATES
                        "}]}}");
        json_t *root = parsed(length);
        nicbarr_cache_json_add(root, "key", &one);
        many_keys(root, 0, 1);
        root = written(root, "key");
        assert_int_equal(known(root, "key"), 2);
        json_decref(root);
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lists),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(the_oldest_keys_go),
        cmocka_unit_test(what_grows_goes),
        cmocka_unit_test(what_is_large_alone_goes),
    };
    return cmocka_run_group_tests_name("cache_json", tests, NULL, NULL);
}
