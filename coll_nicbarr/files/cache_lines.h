/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file of the tuning cache says, as JSON Lines (docs/tuning-cache.md): a first line that
 * names the format, then a line for each key. Called by cache_file.c, which knows files, locks and
 * keys. Pure.
 *
 * The line of a key is found by the bytes that it begins with, and it alone is parsed. What is not
 * as we write it counts for nothing. It is not complained of, and leaves the file with its age. So
 * a line that is damaged costs what it knew, and nothing else.
 *
 * Invariant: whatever the text is, the work is linear in its length, and recursion is no deeper
 * than NICBARR_CACHE_DEPTH. What is written is never larger than what is read. Parsing takes up to
 * 80 bytes of memory for a byte of a line that was made to cost as much as possible; all of it is
 * given back before the function returns.
 */
#ifndef NICBARR_CACHE_LINES_H
#define NICBARR_CACHE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "coll_nicbarr/choice/evidence.h"

enum {
    NICBARR_CACHE_KEPT = 8,         /* measurements of a key, the newest */
    NICBARR_CACHE_DEPTH = 16,       /* lists and objects within each other in a line; ours has 6 */
    NICBARR_CACHE_MOST = 512 << 10, /* bytes of a file; a larger one is not ours */
};

/* Is it a text of ours? An empty one is. */
bool nicbarr_cache_lines_are_ours(const char *text, size_t bytes);

/* Add to `evidence` the newest that is known under `key`, oldest first, as far as there is room. */
void nicbarr_cache_lines_read(const char *text, size_t bytes, const char *key,
                              struct nicbarr_evidence *evidence);

/*
 * A text of ours, with `measurement` added to what is known under `key`; to be freed. Its line
 * becomes the last one. Where the text would have more than NICBARR_CACHE_MOST bytes, lines leave
 * it at the front, those that were measured the longest ago, until half of that is left. NULL:
 * there is no memory.
 */
char *nicbarr_cache_lines_add(const char *text, size_t bytes, const char *key,
                              const struct nicbarr_measurement *measurement, size_t *new_bytes);

#endif
