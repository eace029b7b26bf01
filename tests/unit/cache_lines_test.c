/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the contents of the tuning cache (coll_nicbarr/files/cache_lines.c). A failure means that
 * jobs lose measurements, use corrupted ones, or crash on a damaged file. (cache_file_test.c tests
 * the file itself, and tests/fuzz/cache_fuzz.c damaged files.)
 *
 * Invariants:
 *
 * - Each key has its most recent measurements, ordered by time.
 * - Lines are in the order in which they were written. If the text would exceed the limit, the
 *   first ones are removed.
 * - Malformed lines are ignored.
 * - For any text, an added measurement can be read afterwards together with the previous ones,
 *   other lines are unchanged, and the result is valid.
 */
#include <math.h>

#include "coll_nicbarr/files/cache_lines.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

#define HEAD "{\"format\": \"nicbarr tuning cache 3\"}\n"
#define START(key) "{\"shape\": \"" key "\", \"measurements\": "
#define SECOND(n)                                                                                  \
    "{\"when\": \"1970-01-01T00:00:" #n "Z\", \"confidence\": 0.875, \"candidates\": ["            \
    "{\"choice\": \"openmpi\", \"rounds\": 9, \"us\": [8.5, 9.25, 10.0]}]}"

enum { KEYS = 100, STEPS = 2000, KEPT = NICBARR_CACHE_KEPT };

static uint64_t random_state;

/* ---- a text, and the measurements of a key in it ---- */

static char *text;
static size_t bytes;

static void put(const char *what, size_t count)
{
    free(text);
    text = malloc(count + 1);
    assert_non_null(text);
    memcpy(text, what, count);
    text[bytes = count] = '\0';
}

static void add(const char *key, const struct nicbarr_measurement *one)
{
    size_t more = 0;
    char *added = nicbarr_cache_lines_add(text, bytes, key, one, &more);
    assert_non_null(added);
    put(added, more);
    free(added);
    assert_true(bytes > 0 && bytes <= NICBARR_CACHE_MOST);
    assert_true(nicbarr_cache_lines_are_ours(text, bytes));
}

static struct nicbarr_evidence seen; /* the result of the last read */

static uint32_t known(const char *key)
{
    seen.count = 0;
    nicbarr_cache_lines_read(text, bytes, key, &seen);
    return seen.count;
}

/* A measurement identified by its time, with this number of candidates. */
static struct nicbarr_measurement measurement_of(int64_t when, uint32_t candidates)
{
    struct nicbarr_measurement one = {.when = when, .confidence = 0.875, .count = candidates};
    for (uint32_t c = 0; c < candidates; ++c) {
        snprintf(one.of[c].name, NICBARR_CHOICE_TEXT, "tree:%u", (unsigned)c);
        one.of[c].rounds = 9 + c;
        one.of[c].us =
            (struct nicbarr_quartiles){0.5, 1 + (double)(when % 1000) / 8, 2e6 + 1.0 / 3};
    }
    return one;
}

/* Returns whether two numbers are equal in six digits. */
static bool are_close(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(a);
}

static void expect_same(const struct nicbarr_measurement *a, const struct nicbarr_measurement *b)
{
    assert_int_equal(a->when, b->when);
    assert_int_equal(a->count, b->count);
    assert_true(are_close(a->confidence, b->confidence));
    for (uint32_t c = 0; c < a->count; ++c) {
        const struct nicbarr_quartiles *is = &a->of[c].us, *was = &b->of[c].us;
        assert_string_equal(a->of[c].name, b->of[c].name);
        assert_int_equal(a->of[c].rounds, b->of[c].rounds);
        assert_true(are_close(is->q1, was->q1) && are_close(is->median, was->median) &&
                    are_close(is->q3, was->q3));
    }
}

/* ---- a model ---- */

struct line {
    uint32_t key, count;
    struct nicbarr_measurement of[KEPT + 1];
    char *text;
    size_t bytes;
};

/* Some keys have characters that JSON escapes. */
static const char *key_of(uint32_t key)
{
    static char name[30];
    snprintf(name, sizeof(name), "m %s| %u", 0 == key % 3 ? "\"\\\n\xc3\xa4" : "", (unsigned)key);
    return name;
}

/* Beyond the limit, the oldest measurement is removed. */
static void model_add(struct line *line, const struct nicbarr_measurement *one)
{
    uint32_t index = line->count++;
    for (; index > 0 && line->of[index - 1].when > one->when; --index) {
        line->of[index] = line->of[index - 1];
    }
    line->of[index] = *one;
    if (line->count > KEPT) {
        memmove(&line->of[0], &line->of[1], KEPT * sizeof(line->of[0]));
        line->count = KEPT;
    }
}

static void expect_known(const struct line *line)
{
    assert_int_equal(known(key_of(line->key)), line->count);
    for (uint32_t i = 0; i < line->count; ++i) {
        expect_same(&line->of[i], &seen.of[i]);
    }
}

static struct line lines[KEYS];
static uint32_t line_count;

static void remove_line(uint32_t which)
{
    free(lines[which].text);
    memmove(&lines[which], &lines[which + 1], (--line_count - which) * sizeof(lines[0]));
}

/* Move the key's line to the end, or add one. */
static struct line *last_line(uint32_t key)
{
    struct line line = {.key = key};
    for (uint32_t i = 0; i < line_count; ++i) {
        if (key == lines[i].key) {
            line = lines[i];
            line.text = NULL;
            remove_line(i);
        }
    }
    lines[line_count] = line;
    return &lines[line_count++];
}

/* Expect that the text consists of the model's lines. If it would be too long, the first ones must
 * have been removed. Returns true in this case. */
static bool expect_lines(void)
{
    size_t all = strlen(HEAD), at = strlen(HEAD);
    for (uint32_t i = 0; i < line_count; ++i) {
        all += lines[i].bytes;
    }
    const bool drop = all > NICBARR_CACHE_MOST;
    while (drop && all > NICBARR_CACHE_MOST / 2) {
        all -= lines[0].bytes;
        remove_line(0);
    }
    assert_int_equal(bytes, all);
    assert_memory_equal(text, HEAD, at);
    for (uint32_t i = 0; i < line_count; ++i) {
        assert_memory_equal(text + at, lines[i].text, lines[i].bytes);
        at += lines[i].bytes;
    }
    return drop;
}

TEST(like_the_model)
{
    uint32_t dropped = 0;
    put("", 0);
    for (int step = 0; step < STEPS; ++step) {
        struct line *line = last_line(crew_below(&random_state, KEYS));
        const struct nicbarr_measurement one = measurement_of(
            crew_below(&random_state, 100000), 1 + crew_below(&random_state, NICBARR_CONTESTANTS));
        model_add(line, &one);
        add(key_of(line->key), &one);
        const char *last = memrchr(text, '\n', bytes - 1);
        line->text = strdup(last + 1);
        line->bytes = strlen(last + 1);
        dropped += expect_lines();
        expect_known(&lines[line_count - 1]);
    }
    assert_true(dropped > 1);
    for (uint32_t key = 0; key < KEYS; ++key) {
        expect_known(last_line(key));
    }
    while (line_count > 0) {
        remove_line(0);
    }
}

/* ---- malformed lines ---- */

static void put_line(const char *line)
{
    char *all = NULL;
    assert_true(asprintf(&all, "%s%s", HEAD, line) > 0);
    put(all, strlen(all));
    free(all);
}

TEST(edited_lines)
{
    static const struct {
        const char *from, *to;
        bool good;
    } cases[] = {
        {"\"rounds\": 9", "\"rounds\": 10", true},
        {"\"tree:1\"", "\"magic\"", true}, /* the caller validates names */
        {"\"rounds\": 9", "\"rounds\": 0", false},
        {"\"rounds\": 9", "\"rounds\": -9", false},
        {"\"rounds\": 9", "\"rounds\": 9000000000", false},
        {"\"rounds\": 9", "\"rounds\": \"9\"", false},
        {"\"tree:1\"", "\"a name that is longer than any name\"", false},
        {"\"tree:1\"", "4", false},
        {"1.375", "-1.375", false},
        {"1.375", "0", false},
        {"1.375", "true", false},
        {"0.875", "null", false},
        {"0.875", "1.5", false},
        {"0.875", "-0.5", false},
        {"1970", "nineteen", false},
        {"Z\"", "Z+1\"", false},
        {"\"candidates\"", "\"candidate\"", false},
        {"\"measurements\"", "\"measurement\"", false},
        {"\"shape\": ", "\"shape\":", false},
        {"{\"shape\"", " {\"shape\"", false},
        {"]}\n", "]\n", false}, /* not JSON, but other lines are unaffected */
        {"]}\n", "]} {}\n", false},
        {"]}\n", "]}", true}, /* missing newline */
    };
    const struct nicbarr_measurement first = measurement_of(3, 2), second = measurement_of(4, 1);
    put("", 0);
    add("key", &first);
    char *good = strdup(text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char changed[600];
        const char *found = strstr(good, cases[i].from);
        assert_non_null(found);
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(found - good), good, cases[i].to,
                 found + strlen(cases[i].from));
        put(changed, strlen(changed));
        assert_int_equal(known("key"), cases[i].good);
        add("other", &second);
        assert_int_equal(known("key"), cases[i].good);
        add("key", &second);
        assert_int_equal(known("key"), 1 + cases[i].good);
        assert_int_equal(known("other"), 1);
    }
    free(good);
}

TEST(not_ours)
{
    static const char *const texts[] = {
        " ",
        "\n",
        "garbage",
        "{\"format\": \"nicbarr tuning cache 3\"}",
        "[1, 2, 3]\n",
        "{\"format\": \"nicbarr tuning cache 2\", \"shapes\": {}}\n",
        "{\"format\": \"nicbarr tuning cache 4\"}\n",
        "\n" HEAD,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        assert_false(nicbarr_cache_lines_are_ours(texts[i], strlen(texts[i])));
    }
    assert_true(nicbarr_cache_lines_are_ours("", 0));
    assert_true(nicbarr_cache_lines_are_ours(HEAD, strlen(HEAD)));
}

/* Concatenated files: both are read, and writing merges the lines. */
TEST(two_lines)
{
    const struct nicbarr_measurement one = measurement_of(5, 1);
    put_line(
        START("key") "[" SECOND(07) "]}\nx\n" START("key") "[" SECOND(03) ", " SECOND(09) "]}\n");
    assert_int_equal(known("key"), 3);
    add("key", &one);
    assert_int_equal(known("key"), 4);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(seen.of[i].when, 3 + 2 * i);
    }
    assert_memory_equal(text, HEAD "x\n" START("key"), strlen(HEAD "x\n" START("key")));
    assert_ptr_equal(strstr(text + strlen(HEAD "x\n") + 1, "shape"), strstr(text, "shape"));
}

/* Measurements of several files are merged, up to the limit. */
TEST(several_files)
{
    put("", 0);
    for (int64_t when = 1; when <= KEPT + 1; ++when) {
        const struct nicbarr_measurement one = measurement_of(when, 2);
        add("key", &one);
    }
    seen.count = 3;
    for (uint32_t i = 1; i <= 1 + NICBARR_EVIDENCE_MOST / KEPT; ++i) {
        const uint32_t all = 3 + KEPT * i, most = NICBARR_EVIDENCE_MOST;
        nicbarr_cache_lines_read(text, bytes, "key", &seen);
        assert_int_equal(seen.count, all < most ? all : most);
        assert_int_equal(seen.of[seen.count - 1].when, KEPT + 1); /* the newest is included */
    }
}

static void put_nested(size_t depth)
{
    char *line = malloc(2 * depth + 400);
    assert_non_null(line);
    int length = sprintf(line, START("key") "[" SECOND(07) "], \"x\": ");
    memset(line + length, '[', depth - 1);
    memset(line + length + depth - 1, ']', depth - 1);
    strcpy(line + length + 2 * (depth - 1), "}\n");
    put_line(line);
    free(line);
}

TEST(deep_nesting)
{
    static const size_t depths[] = {NICBARR_CACHE_DEPTH, NICBARR_CACHE_DEPTH + 1, 2000, 200000};
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); ++i) {
        put_nested(depths[i]);
        assert_int_equal(known("key"), 0 == i);
    }
    /* Brackets in strings and lists side by side do not increase the depth. */
    put_line(
        START("key") "[" SECOND(07) "], \"x\\\"[[[[[[[[[[[[[[[[[[\\\\\": [{}, [], {}, [], {}, [],"
                                    " {}, [], {}, [], {}, [], {}, [], {}, [], {}, []]}\n");
    assert_int_equal(known("key"), 1);
}

/* Texts of maximum size that take longest to parse are read, and lose nothing when a measurement is
 * added. (The watchdog detects a super-linear run time.) */
TEST(worst_run_time)
{
    static const char *const pieces[] = {
        "\n",
        "[",
        "\"",
        "\\",
        "0,",
        "{\"shape\": \"",
        START("key") "[\n",
        START("key") "[]}\n",
        START("key") "[" SECOND(07) "]}\n",
        SECOND(07) ", ",
    };
    const struct nicbarr_measurement one = measurement_of(8, 1);
    static char all[NICBARR_CACHE_MOST + 1];
    for (size_t i = 0; i < 2 * sizeof(pieces) / sizeof(pieces[0]); ++i) {
        const char *piece = pieces[i / 2];
        size_t length = (size_t)sprintf(all, HEAD "%s", 0 == i % 2 ? "" : START("key") "[");
        for (; length + strlen(piece) < sizeof(all); length += strlen(piece)) {
            memcpy(all + length, piece, strlen(piece) + 1);
        }
        put(all, length);
        const uint32_t before = known("key");
        add("key", &one);
        assert_int_equal(known("key"), before < KEPT ? before + 1 : KEPT);
        assert_int_equal(seen.of[seen.count - 1].when, 8);
    }
}

int main(void)
{
    crew_watchdog();
    random_state = crew_seed();
    const int failed = test_run(NULL);
    free(text);
    return failed;
}
