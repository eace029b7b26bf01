/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of the memory that all processes of a job on one node share, which is called SRAM
 * after the memory of a NIC.
 *
 * Each job has one segment on each of its nodes. The segment consists of a header, a table of
 * processes, and blocks. A block is either free or a record, which contains the shared state of a
 * group's processes. Offsets are in bytes from the start of the segment; 0 means none. Except for
 * atomic words, and unless a comment says otherwise, everything is protected by the lock in the
 * header. Any change in this file must change MYR_SRAM_LAYOUT, so that two builds with different
 * layouts never share a segment. */
#ifndef MYR_SRAM_H
#define MYR_SRAM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/atomics.h"

#define MYR_SRAM_MAGIC 0x6d61727372796dULL /* "myrsram" */
#define MYR_SRAM_LAYOUT 10

enum {
    MYR_PROCESSES = 1024,   /* maximum number of processes of a job on a node */
    MYR_PROCESSORS = 1024,  /* as in cpu_set_t */
    MYR_BUCKETS = 1024,     /* number of buckets of the hash table that finds records */
    MYR_BLOCK_CLASSES = 20, /* blocks of MYR_LINE << class bytes: 128 bytes to 64 MiB */
    MYR_KV_CAPACITY = 128,  /* capacity of the first key-value table; a power of two */
};

/* An entry of the table of processes. Only the process that owns the entry writes it. */
struct myr_sram_process {
    myr_word attached;      /* refcount: how often it has joined; 0 if the entry is free */
    myr_word number;        /* number of its process, see myr_segment_number() */
    uint32_t shown;         /* the descriptor that the marker file points to, + 1; 0 if none */
    myr_word pid;           /* the process's pid, which the system may reuse later */
    _Atomic uint64_t began; /* start time, which with the pid identifies it; see process.h */
    uint32_t home;          /* lowest CPU of its affinity mask when it attached; never changes */
    uint64_t processors[MYR_PROCESSORS / 64]; /* its present affinity mask */
};

/* The shared state of one group's processes; its slots follow. */
struct myr_record {
    uint64_t key[4]; /* see struct myr_key */
    uint32_t next;   /* offset of the next record of the bucket, or of the next free block */
    uint32_t block_class;
    uint32_t members;       /* number of processes in the group */
    uint32_t left;          /* number of processes that have left; the last one frees the record */
    uint64_t creator_value; /* a value from the creator for the other members */
    myr_word sleepers;      /* shared: number of processes that sleep on a word of this record */
    myr_word abandoned; /* a process has abandoned a wait here, so later values are not reliable */
    _Alignas(MYR_LINE) uint8_t slots[];
};

/* Returns the record that contains this word `sleepers`. */
static inline struct myr_record *myr_record_of(myr_word *sleepers)
{
    return (struct myr_record *)((uint8_t *)sleepers - offsetof(struct myr_record, sleepers));
}

/* A key-value table that the job's processes share, see kv.c. */
struct myr_kv_table {
    uint32_t capacity; /* a power of two */
    uint32_t used;
    uint32_t block_class; /* of the block that contains it */
    struct myr_kv_entry {
        uint64_t key, value; /* key 0 marks a free entry */
    } entry[];
};

struct myr_sram {
    uint64_t magic;
    uint32_t layout;
    uint32_t limit;       /* maximum size of the segment (bytes) */
    uint64_t identity;    /* random: equal for two processes if and only if they share a segment */
    uint64_t sign[2];     /* identifies its marker file, see segment.c; 0, 0 if there is none */
    pthread_mutex_t lock; /* robust, because its owner may be killed */
    myr_word owner;       /* pid of the last holder of the lock, for diagnosis */
    myr_word stuck;       /* pid of the holder that was last reported as stuck */
    /* if true, no more records are created, so that all ranks get the same result */
    uint32_t full;
    uint32_t end;       /* offset of the memory that was never used */
    uint32_t committed; /* memory is committed up to this offset, and never touched beyond it */
    uint32_t processes; /* high-water mark of entries in the table of processes */
    uint32_t free_block[MYR_BLOCK_CLASSES];
    uint32_t bucket[MYR_BUCKETS];
    uint32_t kv_table; /* offset of the key-value table in use */
    _Alignas(uint64_t) uint8_t
        first_kv_table[sizeof(struct myr_kv_table) + MYR_KV_CAPACITY * sizeof(struct myr_kv_entry)];
    _Alignas(MYR_LINE) myr_word population; /* shared: changes on attach, leave and rebinding */
    _Alignas(MYR_LINE) struct myr_sram_process process[MYR_PROCESSES];
};

#endif
