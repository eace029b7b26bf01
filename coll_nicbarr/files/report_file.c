/* SPDX-License-Identifier: BSD-3-Clause */
/* See report_file.h. */
#include "coll_nicbarr/files/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll_nicbarr/files/regular_file.h"

enum {
    /* sufficient for all processes of a large job to write one after the other */
    LOCK_MOST_MS = 30000,
    FILE_MOST = 64 << 20, /* maximum bytes; larger files are left unchanged */
};

/* ---- entries ---- */

/* Returns whether `other` has all fields of `entry` with the same values. The communicator's name,
 * the count and the writer are ignored. */
static bool contains_all(const json_t *other, const json_t *entry)
{
    const char *field;
    json_t *value;
    json_object_foreach((json_t *)entry, field, value)
    {
        const bool own = 0 == strcmp(field, "communicator") ||
                         0 == strcmp(field, "communicators") || 0 == strcmp(field, "process");
        if (!own && !json_equal(value, json_object_get(other, field))) {
            return false;
        }
    }
    return true;
}

static bool are_alike(const json_t *left, const json_t *right)
{
    return contains_all(left, right) && contains_all(right, left);
}

/* Returns the index of the entry that can count the communicator of `entry`, or SIZE_MAX. */
static size_t find_alike(const json_t *entries, const json_t *entry)
{
    for (size_t i = 0; i < json_array_size(entries); ++i) {
        if (are_alike(entry, json_array_get(entries, i))) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Add `more` to an entry's count of communicators; an entry whose count becomes 0 is removed. */
static void count_communicator(json_t *entries, size_t index, int more)
{
    json_t *entry = json_array_get(entries, index);
    const json_int_t now = json_integer_value(json_object_get(entry, "communicators")) + more;
    if (0 == now) {
        json_array_remove(entries, index);
    } else {
        json_object_set_new(entry, "communicators", json_integer(now));
    }
}

json_t *nicbarr_entries_add(json_t *entries, json_t *entry)
{
    const size_t known = find_alike(entries, entry);
    if (SIZE_MAX == known) {
        json_array_append(entries, entry);
        return entry;
    }
    count_communicator(entries, known, 1);
    return json_array_get(entries, known);
}

void nicbarr_entries_remove(json_t *entries, const json_t *entry)
{
    const size_t known = find_alike(entries, entry);
    if (SIZE_MAX != known) {
        count_communicator(entries, known, -1);
    }
}

/* ---- the file ---- */

/* Barriers have a separate list, for programs that do not support other collectives. */
static const char *const lists[] = {"communicators", "collectives"};

static const char *list_of(const json_t *entry)
{
    return lists[NULL != json_object_get(entry, "collective")];
}

static json_t *list_in(json_t *document, const char *name)
{
    json_t *list = json_object_get(document, name);
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(document, name, list);
    }
    return list;
}

/* Remove the entries of `process`. */
static void remove_entries(json_t *list, const char *process)
{
    for (size_t i = json_array_size(list); i > 0; --i) {
        const char *writer =
            json_string_value(json_object_get(json_array_get(list, i - 1), "process"));
        if (NULL != writer && 0 == strcmp(writer, process)) {
            json_array_remove(list, i - 1);
        }
    }
}

/* Returns whether the file begins like a report. It may be empty or contain only a part of this
 * beginning, if a process was killed while it wrote. */
static bool begins_as_report(int file)
{
    static const char report[] = "{\n \"format\": \"nicbarr report ";
    char begin[sizeof(report)];
    const ssize_t bytes = pread(file, begin, sizeof(report) - 1, 0);
    return bytes >= 0 && 0 == memcmp(begin, report, (size_t)bytes);
}

/* Returns the document with the entries that other processes of this job have written, or `head` if
 * there is none. The caller releases it by json_decref(). Returns NULL, with a message, if the file
 * has other content or cannot be read. */
static json_t *read_other_entries(int file, json_t *head, const char *process,
                                  struct myr_error *error)
{
    size_t bytes = 0;
    char *text = nicbarr_read_whole(file, FILE_MOST, &bytes, error);
    if (NULL == text) {
        return NULL;
    }
    json_t *document = json_loadb(text, bytes, JSON_DISABLE_EOF_CHECK, NULL);
    free(text);
    const json_t *job = json_object_get(document, "job");
    if (!json_equal(json_object_get(document, "format"), json_object_get(head, "format")) &&
        !begins_as_report(file)) {
        json_decref(document);
        myr_write_error(
            error, MYR_ERR_FOREIGN, 0,
            "it is not a report, and is left unchanged; remove it, or name another file");
        return NULL;
    }
    if (NULL == job || !json_equal(job, json_object_get(head, "job")) ||
        !json_is_array(json_object_get(document, lists[0]))) {
        json_decref(document);
        document = json_incref(head);
    }
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); ++l) {
        remove_entries(list_in(document, lists[l]), process);
    }
    return document;
}

/* Replace the content of the file, whose offset is 0. Returns false, with errno, on failure. */
static bool replace_content(int file, const json_t *document)
{
    char *text = json_dumps(document, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    const bool written = NULL != text && 0 == ftruncate(file, 0) &&
                         nicbarr_write_whole(file, text, strlen(text)) && 1 == write(file, "\n", 1);
    const int err = NULL == text ? ENOMEM : errno;
    free(text);
    errno = err;
    return written;
}

bool nicbarr_report_file_check(const char *path, struct myr_error *error)
{
    struct myr_error why = {.text = ""};
    const int file = nicbarr_open_regular(path, O_RDWR, 0, &why);
    if (file >= 0) {
        close(file);
        return true;
    }
    const char *end = strrchr(path, '/');
    char *dir = NULL == end ? strdup(".") : strndup(path, (size_t)(end - path) + 1);
    const bool missing = MYR_ERR_NOT_THERE == why.status;
    const bool can_be_made = missing && (NULL == dir || 0 == access(dir, W_OK | X_OK));
    if (missing && !can_be_made) {
        myr_write_error(&why, MYR_ERR_SYSTEM, errno, "it cannot be opened");
    }
    free(dir);
    if (!can_be_made) {
        (void)myr_fail(error, why.status, 0, "%s: %.180s", path, why.text);
    }
    return can_be_made;
}

bool nicbarr_report_file_write(const char *path, json_t *head, const char *process,
                               const json_t *entries, struct myr_error *error)
{
    struct myr_error why = {.text = ""};
    const int file = nicbarr_open_regular(path, O_RDWR | O_CREAT, 0666, &why);
    json_t *document = NULL;
    bool written = false;
    if (file >= 0 && nicbarr_lock(file, LOCK_MOST_MS, &why)) {
        document = read_other_entries(file, head, process, &why);
    }
    if (NULL != document) {
        size_t index;
        json_t *entry;
        json_array_foreach(entries, index, entry)
        {
            json_object_set_new(entry, "process", json_string(process));
            json_array_append(list_in(document, list_of(entry)), entry);
        }
        written = replace_content(file, document);
        if (!written) {
            myr_write_error(&why, MYR_ERR_SYSTEM, errno, "it cannot be written");
        }
        json_decref(document);
    }
    if (!written) {
        (void)myr_fail(error, why.status, 0, "%s: %.180s", path, why.text);
    }
    if (file >= 0) {
        close(file); /* this also unlocks the file */
    }
    return written;
}
