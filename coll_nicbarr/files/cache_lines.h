/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the format of the files of the tuning cache, JSON Lines (docs/tuning-cache.md).
 * The first line contains the name of the format, and there is one further line for each key. The
 * functions are pure. They are called by cache_file.c, which handles files, locks and keys, and by
 * node_cache.c.
 *
 * The line of a key is found by its first bytes, and only this line is parsed. Input in any other
 * form than that written by this file is ignored without an error, and is eventually dropped like
 * the oldest lines. Therefore damage to a line affects only the measurements in that line.
 *
 * Invariants: for any text, the run time is linear in the length of the text, and the depth of
 * recursion is at most NICBARR_CACHE_DEPTH. Files that are written never exceed the limit for
 * reading. Parsing a maliciously crafted line may take up to 80 bytes of memory for each byte of
 * the line; all of this memory is freed before the function returns. */
#ifndef NICBARR_CACHE_LINES_H
#define NICBARR_CACHE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "coll_nicbarr/choice/evidence.h"

enum {
    NICBARR_CACHE_KEPT = 8, /* number of measurements that are kept of a key, the newest */
    /* maximum nesting of lists and objects in a line; lines written here have 6 */
    NICBARR_CACHE_DEPTH = 16,
    NICBARR_CACHE_MOST = 512 << 10, /* maximum bytes of a file; a larger one is not a cache */
};

/* Returns whether the text is in this format, as is an empty text. */
bool nicbarr_cache_lines_are_ours(const char *text, size_t bytes);

/* Add the newest measurements of `key` to `evidence`, in order of time, as many as fit. */
void nicbarr_cache_lines_read(const char *text, size_t bytes, const char *key,
                              struct nicbarr_evidence *evidence);

/* Returns a copy of the text in which `measurement` has been added to the measurements of `key`;
 * the caller frees it. The line of `key` becomes the last line. If the text would exceed
 * NICBARR_CACHE_MOST bytes, lines at the front, which are the oldest, are dropped until half of
 * this size is left. Returns NULL if out of memory. */
char *nicbarr_cache_lines_add(const char *text, size_t bytes, const char *key,
                              const struct nicbarr_measurement *measurement, size_t *new_bytes);

#endif
