/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the reader of the tuning cache (coll_nicbarr/files/cache_file.c, cache_lines.c), to find
 * damaged cache files that crash a job at its start or that are overwritten. run.sh builds and runs
 * it.
 *
 * An input is a byte that selects the shape, followed by the file's content. Invariants:
 *
 * - The values that are read are in their ranges and can be evaluated.
 * - An unusable file causes a message of one line, and no byte of it changes.
 * - In all other cases an added measurement is found again, and replaces the oldest one if there
 *   are too many.
 */
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_lines.h"
#include "coll_nicbarr/nics.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/crew.h"

static const struct myr_nic_kind soft = {.name = "soft"}, kernel = {.name = "kernel"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, NULL};

static char dir[80], path[100];
static const struct nicbarr_cache_file file = {path, dir, "m", NULL};

static void remove_dir(void)
{
    crew_dir_remove(dir);
}

static void begin(void)
{
    if ('\0' == path[0]) {
        crew_dir_make(dir, sizeof(dir));
        snprintf(path, sizeof(path), "%s/tuning.jsonl", dir);
        CHECK(0 == atexit(remove_dir));
        nicbarr_choice_nics(nicbarr_nic_names());
    }
}

static void put(const uint8_t *content, size_t bytes)
{
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(out >= 0 && (ssize_t)bytes == write(out, content, bytes));
    close(out);
}

static bool is_unchanged(const uint8_t *content, size_t bytes)
{
    uint8_t *now = malloc(bytes + 1);
    const int in = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(NULL != now && in >= 0);
    const bool same =
        (ssize_t)bytes == read(in, now, bytes + 1) && 0 == memcmp(now, content, bytes);
    close(in);
    free(now);
    return same;
}

static void check_line(const struct myr_error *error)
{
    CHECK(NULL != memchr(error->text, '\0', sizeof(error->text)));
}

static bool is_figure(double figure)
{
    return isfinite(figure) && figure > 0;
}

/* Check that nicbarr could have written the measurements that were read. */
static void check_evidence(const struct nicbarr_evidence *evidence)
{
    struct nicbarr_finding finding;
    CHECK(evidence->count <= NICBARR_EVIDENCE_MOST);
    for (uint32_t i = 0; i < evidence->count; ++i) {
        const struct nicbarr_measurement *m = &evidence->of[i];
        CHECK(m->count >= 1 && m->count <= NICBARR_CONTESTANTS);
        CHECK(m->confidence >= 0 && m->confidence <= 1);
        for (uint32_t c = 0; c < m->count; ++c) {
            CHECK(NULL != memchr(m->of[c].name, '\0', NICBARR_CHOICE_TEXT));
            CHECK(m->of[c].rounds >= 1 && is_figure(m->of[c].us.q1));
            CHECK(is_figure(m->of[c].us.median) && is_figure(m->of[c].us.q3));
        }
    }
    if (nicbarr_evidence_conclude(evidence, 1700000000, &finding)) {
        CHECK(finding.confidence >= 0 && finding.confidence <= 1);
        CHECK(NULL != memchr(finding.name, '\0', sizeof(finding.name)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nicbarr_evidence before, after;
    if (0 == size) {
        return 0;
    }
    begin();
    const uint8_t kind = *data;
    const struct nicbarr_shape shape = {
        .nodes = 1 + (kind & 1),
        .processes = 4,
        .homes = 1,
        .processors = 8,
        .nics = 1 + (kind >> 1) % 7,
        .oversubscribed = 0 != (kind & 16),
    };
    struct myr_error error = {.text = ""};
    before.count = after.count = 0;
    put(data + 1, size - 1);
    const bool readable = nicbarr_cache_file_read(&file, &shape, &before, &error);
    CHECK(readable == ('\0' == error.text[0]) && (readable || 0 == before.count));
    check_line(&error);
    check_evidence(&before);

    struct nicbarr_measurement added = {.when = INT32_MAX, .confidence = 0.5, .count = 1};
    strcpy(added.of[0].name, "openmpi");
    added.of[0].rounds = 3;
    added.of[0].us = (struct nicbarr_quartiles){1, 2, 3};
    error.text[0] = '\0';
    const bool written = nicbarr_cache_file_add(&file, &shape, &added, &error);
    CHECK(written == readable && written == ('\0' == error.text[0]));
    check_line(&error);
    if (!written) {
        CHECK(is_unchanged(data + 1, size - 1));
        return 0;
    }
    CHECK(nicbarr_cache_file_read(&file, &shape, &after, &error));
    check_evidence(&after);
    CHECK(after.count ==
          (before.count < NICBARR_CACHE_KEPT ? before.count + 1 : NICBARR_CACHE_KEPT));
    bool found = false;
    for (uint32_t i = 0; i < after.count; ++i) {
        found = found || added.when == after.of[i].when;
    }
    CHECK(found || after.count == NICBARR_CACHE_KEPT);
    return 0;
}
