/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the tuning cache's files once for all processes of a node.
 *
 * The first lookup starts a thread that reads the files into memory shared by all processes. A file
 * system may take seconds, so no collective waits for this thread; until the files have been read,
 * the job uses its defaults. If no thread can be created, the files are read immediately. The files
 * are not read again for this job's own additions, because these are also stored in the segment's
 * key-value table.
 *
 * Called by cache.c, from any thread. */
#ifndef NICBARR_NODE_CACHE_H
#define NICBARR_NODE_CACHE_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"

/* Returns whether the files have been read. The first call starts to read them. */
bool nicbarr_node_cache_ready(void);

/* Add the measurements of `key` to `evidence`, once the files have been read. */
void nicbarr_node_cache_find(const char *key, struct nicbarr_evidence *evidence);

/* Contains the error of the first file that this process could not read. */
extern struct nicbarr_cache_trouble nicbarr_node_cache_trouble;

/* Called when the component closes: a thread that is still reading no longer publishes its
 * result. */
void nicbarr_node_cache_close(void);

#endif
