/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the format of a tuning cache's file, JSON Lines (docs/tuning-cache.md): a first
 * line with the format's name, then a line for each key. Called by cache_file.c, which handles
 * files, locks and keys. Pure.
 *
 * The line of a key is found by its first bytes, and only that line is parsed. Anything that
 * differs from the format as written here is ignored without an error, and is eventually dropped
 * like the oldest lines. Therefore a damaged line only loses its own measurements.
 *
 * Invariants: whatever the text, the run time is linear in its length, and recursion is no deeper
 * than NICBARR_CACHE_DEPTH. A file that is written never exceeds the limit for reading. Parsing
 * takes up to 80 bytes of memory for a byte of a maliciously crafted line; all of it is freed
 * before the function returns. */
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

/* Returns whether the text is in this format, which an empty text is. */
bool nicbarr_cache_lines_are_ours(const char *text, size_t bytes);

/* Add the newest measurements of `key` to `evidence`, oldest first, as far as there is space. */
void nicbarr_cache_lines_read(const char *text, size_t bytes, const char *key,
                              struct nicbarr_evidence *evidence);

/* Returns a copy of the text, which the caller frees, with `measurement` added to those of `key`.
 * The line of `key` becomes the last one. If the text would exceed NICBARR_CACHE_MOST bytes, the
 * lines at the front, which are the oldest, are dropped until half of this size is left. Returns
 * NULL if out of memory. */
char *nicbarr_cache_lines_add(const char *text, size_t bytes, const char *key,
                              const struct nicbarr_measurement *measurement, size_t *new_bytes);

#endif
