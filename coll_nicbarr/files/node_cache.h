/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the tuning cache say, for all processes of a node.
 *
 * The first process that asks has them read by a thread, into memory that all processes share. No
 * collective waits for that, as a file system may take seconds to answer: until then a job goes by
 * its defaults. Where no thread can be had, the files are read at once. What this job adds to them
 * is not read again; its notes have it.
 *
 * Called by cache.c and component.c. Any thread.
 */
#ifndef NICBARR_NODE_CACHE_H
#define NICBARR_NODE_CACHE_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"

/* Have the files been read? The first call begins it. */
bool nicbarr_node_cache_ready(void);

/* Add to `evidence` what is known under `key`, once they have been. */
void nicbarr_node_cache_find(const char *key, struct nicbarr_evidence *evidence);

/* The first file that this process could not read. */
extern struct nicbarr_cache_trouble nicbarr_node_cache_trouble;

/* The component closes: what has not been read by now will not be. */
void nicbarr_node_cache_close(void);

#endif
