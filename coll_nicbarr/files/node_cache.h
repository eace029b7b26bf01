/* SPDX-License-Identifier: BSD-3-Clause */
/* The content of the tuning cache's files, for all processes of a node.
 *
 * The first query starts a thread that reads them into memory that all processes share. No
 * collective waits for that, because a file system may take seconds: until then a job uses its
 * defaults. If no thread can be created, the files are read at once. This job's additions are not
 * read again, as its notes have them.
 *
 * Called by cache.c and component.c. Any thread. */
#ifndef NICBARR_NODE_CACHE_H
#define NICBARR_NODE_CACHE_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"

/* Have the files been read? The first call starts that. */
bool nicbarr_node_cache_ready(void);

/* Add the measurements of `key` to `evidence`, once the files have been read. */
void nicbarr_node_cache_find(const char *key, struct nicbarr_evidence *evidence);

/* The first file that this process could not read. */
extern struct nicbarr_cache_trouble nicbarr_node_cache_trouble;

/* The component closes: stop reading. */
void nicbarr_node_cache_close(void);

#endif
