/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory management of the segment; see segment_inside.h. segment.h declares what users may call.
 *
 * Invariants: a block is either in use or in exactly one free list. Memory beyond `committed` is
 * never touched. If a process dies while it holds the lock, the free lists may be inconsistent. In
 * this case the segment is declared full; existing records remain usable. */
#include "libmyr/node/segment_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "os/calls.h"

enum {
    PAGE = 4096, /* bytes; safe with larger pages */
    SPINS = 400, /* attempts before the first yield, about 20 us */
    YIELDS = 16, /* failed attempts between two sleeps while the lock is held */
    NAP_US = 50,
};

uint32_t myr_lock_naps = 10 * 1000 * 1000 / NAP_US; /* at least 10 s */
void (*myr_segment_print)(const char *line);

/* Commits `bytes` of memory from `offset` on. */
bool myr_commit(const struct myr_segment *segment, size_t offset, size_t bytes)
{
    int rc;
    do {
        rc = fallocate(segment->fd, 0, (off_t)offset, (off_t)bytes);
    } while (rc < 0 && EINTR == errno);
    return 0 == rc;
}

/* Reports the process that holds the lock. The caller measures its waiting time by counting its
 * sleeps rather than by the clock, so that time during which the job is suspended does not
 * count. */
static void report_owner(struct myr_sram *sram)
{
    char line[200];
    const uint32_t owner = myr_load_acquire(&sram->owner);
    if (NULL != myr_segment_print && owner != atomic_exchange(&sram->stuck, owner)) {
        snprintf(line, sizeof(line),
                 "process %u of this node holds the lock of the shared memory and does not "
                 "continue (is it stopped, or in a debugger?): others wait until it does",
                 (unsigned)owner);
        myr_segment_print(line);
    }
}

/* Takes the lock by repeated attempts, and never blocks in the mutex itself, for two reasons: glibc
 * aborts the process if the system denies futexes on shared memory, and if a process is killed
 * while it hands over the lock, the processes that are blocked in the mutex are never woken. The
 * lock is held for microseconds only, so a few yields or a short sleep suffice. */
void myr_segment_lock(struct myr_segment *segment)
{
    static const struct timespec nap = {0, NAP_US * 1000L};
    uint32_t tries = 0, naps = 0;
    int rc;
    while (EBUSY == (rc = pthread_mutex_trylock(&segment->sram->lock))) {
        if (++tries <= SPINS) {
            myr_cpu_relax();
        } else if ((tries - SPINS) % (YIELDS + 1)) {
            os_yield();
        } else {
            (void)nanosleep(&nap, NULL);
            if (++naps == myr_lock_naps) {
                report_owner(segment->sram);
            }
        }
    }
    myr_store_release(&segment->sram->owner, (uint32_t)getpid());
    if (EOWNERDEAD == rc) {
        segment->sram->full = 1;
        pthread_mutex_consistent(&segment->sram->lock);
    }
}

void myr_segment_unlock(struct myr_segment *segment)
{
    pthread_mutex_unlock(&segment->sram->lock);
}

struct myr_record *myr_block_at(const struct myr_segment *segment, uint32_t offset)
{
    return (struct myr_record *)((uint8_t *)segment->sram + offset);
}

uint32_t myr_block_offset(const struct myr_segment *segment, const struct myr_record *record)
{
    return (uint32_t)((const uint8_t *)record - (const uint8_t *)segment->sram);
}

size_t myr_block_bytes(uint32_t block_class)
{
    return (size_t)MYR_LINE << block_class;
}

void myr_give_block(struct myr_segment *segment, uint32_t offset, uint32_t block_class)
{
    myr_block_at(segment, offset)->next = segment->sram->free_block[block_class];
    segment->sram->free_block[block_class] = offset;
}

/* Commits memory up to `end`, which extends the file. Returns false on failure. If this process has
 * a lower RLIMIT_FSIZE than the creator of the segment, the file must not be extended beyond it,
 * because the kernel would raise SIGXFSZ. */
static bool commit_up_to(struct myr_segment *segment, size_t end)
{
    struct myr_sram *sram = segment->sram;
    size_t target = (end + MYR_GROWTH - 1) / MYR_GROWTH * MYR_GROWTH;
    target = target < sram->limit ? target : sram->limit;
    if (end > sram->committed) {
        if (end > target || target > myr_resource_limit(RLIMIT_FSIZE) ||
            !myr_commit(segment, sram->committed, target - sram->committed)) {
            return false;
        }
        sram->committed = (uint32_t)target;
    }
    return true;
}

/* Allocates a block from the free list or, if this is empty, from memory that was never used;
 * returns 0 if there is none. Blocks are aligned to their size, up to a page, so that a record
 * spans as few pages as possible. The gap in front of an aligned block is added to the free
 * lists. */
uint32_t myr_take_block(struct myr_segment *segment, uint32_t block_class)
{
    struct myr_sram *sram = segment->sram;
    uint32_t offset = sram->free_block[block_class];
    if (0 != offset) {
        sram->free_block[block_class] = myr_block_at(segment, offset)->next;
        return offset;
    }
    const size_t bytes = myr_block_bytes(block_class);
    const size_t alignment = bytes < PAGE ? bytes : PAGE;
    const size_t aligned = (sram->end + alignment - 1) / alignment * alignment;
    if (!commit_up_to(segment, aligned + bytes)) {
        return 0;
    }
    while (sram->end < aligned) {
        const uint32_t gap_class = (uint32_t)__builtin_ctz(sram->end / MYR_LINE);
        myr_give_block(segment, sram->end, gap_class);
        sram->end += (uint32_t)myr_block_bytes(gap_class);
    }
    sram->end += (uint32_t)bytes;
    return (uint32_t)aligned;
}

/* Returns the smallest class whose blocks have at least `bytes` bytes, or MYR_BLOCK_CLASSES if
 * there is none. */
uint32_t myr_block_class(size_t bytes)
{
    uint32_t block_class = 0;
    while (block_class < MYR_BLOCK_CLASSES && myr_block_bytes(block_class) < bytes) {
        ++block_class;
    }
    return block_class;
}

/* ---- general-purpose memory ---- */

/* The header of a block that contains general-purpose memory instead of a record. Free blocks of
 * both sorts are in the same lists, linked by `next`, so this field must have the same offset as in
 * a record. */
struct front {
    uint64_t zero[4];
    uint32_t next;
    uint32_t block_class;
    struct myr_links links;
    _Alignas(MYR_LINE) uint8_t memory[];
};
_Static_assert(offsetof(struct front, next) == offsetof(struct myr_record, next) &&
                   offsetof(struct front, memory) == MYR_LINE,
               "blocks of either sort can become free blocks");

static struct front *front_of(void *memory)
{
    return (struct front *)((uint8_t *)memory - offsetof(struct front, memory));
}

/* Allocates a block. If necessary, it splits a larger free one and frees the rest. */
static uint32_t take_or_split(struct myr_segment *segment, uint32_t block_class)
{
    uint32_t offset = myr_take_block(segment, block_class), larger = block_class;
    while (0 == offset && ++larger < MYR_BLOCK_CLASSES) {
        offset = segment->sram->free_block[larger];
    }
    if (larger != block_class && 0 != offset) {
        segment->sram->free_block[larger] = myr_block_at(segment, offset)->next;
        while (larger-- > block_class) {
            myr_give_block(segment, offset + (uint32_t)myr_block_bytes(larger), larger);
        }
    }
    return offset;
}

/* Returns whether a block of this class is free, or can still be taken from the first `quarters`
 * quarters of the segment. */
static bool has_plenty(const struct myr_sram *sram, uint32_t block_class, uint32_t quarters)
{
    return 0 != sram->free_block[block_class] ||
           sram->end + myr_block_bytes(block_class) <= (size_t)sram->limit / 4 * quarters;
}

/* Allocates memory. Called with the lock held. */
static void *take_memory(struct myr_segment *segment, size_t bytes, bool if_plenty)
{
    const struct myr_sram *sram = segment->sram;
    if (sram->full || bytes >= sram->limit) {
        return NULL;
    }
    const uint32_t block_class = myr_block_class(sizeof(struct front) + bytes);
    uint32_t offset = 0;
    if (block_class < MYR_BLOCK_CLASSES && (!if_plenty || has_plenty(sram, block_class, 2))) {
        offset = take_or_split(segment, block_class);
    }
    if (0 == offset) {
        return NULL;
    }
    struct front *front = (struct front *)myr_block_at(segment, offset);
    front->block_class = block_class;
    front->links = (struct myr_links){0, 0};
    return front->memory;
}

static void *allocate_memory(struct myr_segment *segment, size_t bytes, bool if_plenty)
{
    myr_segment_lock(segment);
    void *memory = take_memory(segment, bytes, if_plenty);
    myr_segment_unlock(segment);
    return memory;
}

void *myr_segment_alloc(struct myr_segment *segment, size_t bytes)
{
    return allocate_memory(segment, bytes, false);
}

void *myr_segment_alloc_if_plenty(struct myr_segment *segment, size_t bytes)
{
    return allocate_memory(segment, bytes, true);
}

void myr_segment_alloc_once(struct myr_segment *segment, myr_word *at, size_t bytes)
{
    myr_segment_lock(segment);
    if (0 == myr_load_acquire(at)) {
        const uint8_t *memory = take_memory(segment, bytes, true);
        myr_store_release(at, NULL == memory ? MYR_NO_MEMORY
                                             : (uint32_t)(memory - myr_segment_base(segment)));
    }
    myr_segment_unlock(segment);
}

bool myr_segment_has_plenty(struct myr_segment *segment, size_t bytes)
{
    const struct myr_sram *sram = segment->sram;
    if (bytes >= sram->limit) {
        return false;
    }
    const uint32_t block_class = myr_block_class(sizeof(struct myr_record) + bytes);
    myr_segment_lock(segment);
    const bool has =
        !sram->full && block_class < MYR_BLOCK_CLASSES && has_plenty(sram, block_class, 3);
    myr_segment_unlock(segment);
    return has;
}

void myr_segment_free(struct myr_segment *segment, void *memory)
{
    if (NULL != memory) {
        const struct front *front = front_of(memory);
        myr_segment_lock(segment);
        myr_give_block(segment, myr_block_offset(segment, (const struct myr_record *)front),
                       front->block_class);
        myr_segment_unlock(segment);
    }
}

struct myr_links *myr_segment_links(void *memory)
{
    return &front_of(memory)->links;
}
