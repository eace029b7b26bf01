/* SPDX-License-Identifier: BSD-3-Clause */
/* The internal interface of the segment, shared by these files; see segment.h for the interface of
 * its users.
 *
 *   segment.c      attaching and leaving; the table of processes
 *   processors.c   the placement of processes
 *   blocks.c       the memory: growth, allocation of blocks, the lock
 *   records.c      the shared state of a group's processes, found by its key
 *   kv.c           words by key that the job's processes share */
#ifndef MYR_SEGMENT_INSIDE_H
#define MYR_SEGMENT_INSIDE_H

#include "libmyr/node/segment.h"

enum { MYR_GROWTH = 1 << 16 }; /* granularity in which memory is committed (bytes) */

struct myr_segment {
    struct myr_sram *sram;
    size_t mapped;
    bool shows; /* whether it has created the marker file, which points to its descriptor */
    char *sign; /* path of the marker file; NULL if there is none */
    int fd;
    uint32_t index, number;
};

/* Timeout for the lock of the session directory (milliseconds); tests change it. */
extern unsigned myr_dir_lock_ms;

/* A process that waits for the segment's lock reports the holder after this number of sleeps, each
 * of 50 us or more. Tests change it. */
extern uint32_t myr_lock_naps;

/* Returns the soft limit of a resource of this process, or UINT64_MAX if there is none. */
uint64_t myr_resource_limit(int resource);

/* Commits memory for the bytes from `offset` on. */
bool myr_commit(const struct myr_segment *segment, size_t offset, size_t bytes);

/* Writes the calling process's affinity mask into its entry. */
void myr_publish_processors(struct myr_sram_process *process);

/* Initialises a new segment's first key-value table. */
void myr_kv_begin(struct myr_segment *segment);

/* The lock that protects everything except atomic words. If a process dies while it holds the lock,
 * the segment is considered full from then on. */
void myr_segment_lock(struct myr_segment *segment);
void myr_segment_unlock(struct myr_segment *segment);

/* These functions identify blocks by their offsets, and require the lock. myr_take_block() returns
 * 0 if there is no block. */
struct myr_record *myr_block_at(const struct myr_segment *segment, uint32_t offset);
uint32_t myr_block_offset(const struct myr_segment *segment, const struct myr_record *record);
size_t myr_block_bytes(uint32_t block_class);
/* the smallest class that fits; MYR_BLOCK_CLASSES if none does */
uint32_t myr_block_class(size_t bytes);
uint32_t myr_take_block(struct myr_segment *segment, uint32_t block_class);
void myr_give_block(struct myr_segment *segment, uint32_t offset, uint32_t block_class);

#endif
