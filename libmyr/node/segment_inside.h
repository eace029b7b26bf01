/* SPDX-License-Identifier: BSD-3-Clause */
/* The segment's internal interface; see segment.h for its users.
 *
 *   segment.c      attaching and leaving; the table of processes
 *   processors.c   the placement of processes
 *   blocks.c       the memory: growth, allocation of blocks, the lock
 *   records.c      the shared state of a group's processes, found by its key
 *   notes.c        words that the job's processes leave for each other */
#ifndef MYR_SEGMENT_INSIDE_H
#define MYR_SEGMENT_INSIDE_H

#include "libmyr/node/segment.h"

enum { MYR_GROWTH = 1 << 16 }; /* bytes taken from the system at a time */

struct myr_segment {
    struct myr_sram *sram;
    size_t mapped;
    bool shows; /* it has made the sign, which points to its descriptor */
    char *sign; /* the sign's path; NULL: none */
    int fd;
    uint32_t index, number;
};

/* Timeout for the session folder's lock (milliseconds); tests change it. */
extern unsigned myr_door_ms;

/* Naps of 50 us and more that a process waits for the segment's lock before it reports so; tests
 * change it. */
extern uint32_t myr_lock_naps;

/* Commit memory for the bytes from `offset` on. */
bool myr_commit(const struct myr_segment *segment, size_t offset, size_t bytes);

/* Write the calling process's affinity mask into its entry. */
void myr_publish_processors(struct myr_sram_process *process);

/* Initialise a new segment's first table of notes. */
void myr_notes_begin(struct myr_segment *segment);

/* The lock of everything that is not an atomic word. If a process dies with it, the segment counts
 * as full from then on. */
void myr_segment_lock(struct myr_segment *segment);
void myr_segment_unlock(struct myr_segment *segment);

/* Blocks by their offsets; all under the lock. myr_take_block() returns 0 if there is none. */
struct myr_record *myr_block_at(const struct myr_segment *segment, uint32_t offset);
uint32_t myr_block_offset(const struct myr_segment *segment, const struct myr_record *record);
size_t myr_block_bytes(uint32_t block_class);
uint32_t myr_block_class(size_t bytes); /* the smallest; MYR_BLOCK_CLASSES if none fits */
uint32_t myr_take_block(struct myr_segment *segment, uint32_t block_class);
void myr_give_block(struct myr_segment *segment, uint32_t offset, uint32_t block_class);

#endif
