/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file of the tuning cache says, as JSON (docs/tuning-cache.md). Called by cache_file.c,
 * which knows files, locks and keys. Pure.
 *
 * Invariant: whatever the text is, the work is linear in its length, which is at most
 * NICBARR_CACHE_MOST, and recursion is no deeper than NICBARR_CACHE_DEPTH. What is written is never
 * larger than what is read. Parsing takes up to 80 bytes of memory for a byte of text that was made
 * to cost as much as possible, and about 12 for a text of ours.
 *
 * Threads: one at a time for the same document.
 */
#ifndef NICBARR_CACHE_JSON_H
#define NICBARR_CACHE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "coll_nicbarr/choice/evidence.h"
#include "libmyr/status.h"

enum {
    NICBARR_CACHE_KEPT = 8,       /* measurements of a shape in a file, the newest */
    NICBARR_CACHE_LOOKED_AT = 32, /* entries of a list; what is behind is passed over */
    NICBARR_CACHE_DEPTH = 16,     /* lists and objects within each other; ours has 7 */
    NICBARR_CACHE_MOST = 4 << 20, /* bytes of a file; a larger one is not ours */
};

/* A document without measurements. */
json_t *nicbarr_cache_json_empty(void);

/* The document that `text` is, empty for an empty text or one of an earlier format. NULL, with a
 * line and MYR_ERR_FOREIGN, if it is none of ours. */
json_t *nicbarr_cache_json_parse(const char *text, size_t bytes, struct myr_error *error);

/* Add to `evidence` what is known under `key`, as far as there is room. */
void nicbarr_cache_json_read(const json_t *root, const char *key,
                             struct nicbarr_evidence *evidence);

/* Add `measurement` to what is known under `key`, of which the newest are kept. */
void nicbarr_cache_json_add(json_t *root, const char *key,
                            const struct nicbarr_measurement *measurement);

/*
 * The text of `root`; to be freed. Where it would be larger than NICBARR_CACHE_MOST, the keys that
 * were measured the longest ago are removed from `root` until half of that is left; but not `key`,
 * under which something has just been added. NULL: no memory.
 */
char *nicbarr_cache_json_text(json_t *root, const char *key);

#endif
