/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the reader of the tuning cache (coll_nicbarr/cache_file.c). Built and run by run.sh.
 *
 * An input is a byte for the shape, and the file's content. Invariants: what is found can be
 * played, and where nothing is found there may be a complaint of one line; what is written then is
 * found again, or the file is not ours, and not a byte of it has changed.
 */
#include <fcntl.h>
#include <unistd.h>

#include "coll_nicbarr/cache_file.h"
#include "coll_nicbarr/nics.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/crew.h"

static const struct myr_nic_kind soft = {.name = "soft"}, kernel = {.name = "kernel"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, NULL};

static char folder[80], path[100];
static const struct nicbarr_cache_file file = {path, "m", NULL};

static void remove_folder(void)
{
    crew_folder_remove(folder);
}

static void begin(void)
{
    if ('\0' == path[0]) {
        crew_folder_make(folder, sizeof(folder));
        snprintf(path, sizeof(path), "%s/tuning.json", folder);
        CHECK(0 == atexit(remove_folder));
        nicbarr_choice_nics(nicbarr_nic_names());
    }
}

static void put(const uint8_t *content, size_t bytes)
{
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(out >= 0 && (ssize_t)bytes == write(out, content, bytes));
    close(out);
}

static bool is_still(const uint8_t *content, size_t bytes)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
        .players = 1 + (kind >> 1) % 7,
        .oversubscribed = 0 != (kind & 16),
    };
    struct nicbarr_choice choice;
    struct myr_error error = {.text = ""};
    put(data + 1, size - 1);
    if (nicbarr_cache_file_read(&file, &shape, &choice, &error)) {
        CHECK(nicbarr_playable(&shape, choice) && '\0' == error.text[0]);
    }
    check_line(&error);
    const struct nicbarr_cache_entry entry = {
        {NICBARR_TREE, 4, (uint32_t)__builtin_ctz(shape.players)},
        1.5,
        2.5,
        "2026-01-01T00:00:00Z"};
    if (nicbarr_cache_file_write(&file, &shape, &entry, &error)) {
        error.text[0] = '\0';
        CHECK(nicbarr_cache_file_read(&file, &shape, &choice, &error));
        CHECK(nicbarr_choice_equal(choice, entry.choice) && '\0' == error.text[0]);
    } else {
        check_line(&error);
        CHECK('\0' != error.text[0] && is_still(data + 1, size - 1));
    }
    return 0;
}
