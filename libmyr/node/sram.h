/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The SRAM: what lies where in the memory that all processes of a job on one node share.
 *
 * There is one segment a job and node: a header, a table of the processes, and blocks. A block is a
 * record (what the processes of one group share) or free. Offsets are in bytes from the segment's
 * start; 0 is "none". Everything is read and written under the header's lock, but for atomic words
 * and where a comment says otherwise. Any change here changes MYR_SRAM_LAYOUT, so that two builds
 * never share a segment.
 */
#ifndef MYR_SRAM_H
#define MYR_SRAM_H

#include <pthread.h>
#include <stdint.h>

#include "firmware/atomics.h"

#define MYR_SRAM_MAGIC 0x6d61727372796dULL /* "myrsram" */
#define MYR_SRAM_LAYOUT 8

enum {
    MYR_PROCESSES = 1024,   /* processes of a job on a node */
    MYR_PROCESSORS = 1024,  /* as cpu_set_t */
    MYR_BUCKETS = 1024,     /* of the hash table that finds records */
    MYR_BLOCK_CLASSES = 20, /* blocks of MYR_LINE << class bytes: 128 bytes to 64 MiB */
    MYR_NOTES = 128,        /* that the first table of notes has room for; a power of two */
};

/* One process. It writes its own entry itself; the others read it. */
struct myr_sram_process {
    myr_word attached;      /* how often it has joined; 0 = free entry */
    myr_word number;        /* of this use of the entry: see myr_segment_number() */
    uint32_t shown;         /* its descriptor that the sign points to, + 1; 0: it has none */
    myr_word pid;           /* which may be given again ... */
    _Atomic uint64_t began; /* ... and when that process began: see process.h */
    uint32_t home;          /* lowest processor it might run on when it attached; never changes */
    uint64_t processors[MYR_PROCESSORS / 64]; /* the set it may run on now */
};

/* What the processes of one group share; its slots follow behind. */
struct myr_record {
    uint64_t key[4]; /* see struct myr_key */
    uint32_t next;   /* offset of the next record of the bucket, or of the next free block */
    uint32_t block_class;
    uint32_t members;  /* processes in the group */
    uint32_t left;     /* how many of them are done with it; the last one frees it */
    uint64_t note;     /* the creator's word to the others */
    myr_word sleepers; /* shared: how many processes sleep on a word of this record */
    _Alignas(MYR_LINE) uint8_t slots[];
};

/* Things worth knowing for the job's other processes, by their keys: a hash table, see notes.c. */
struct myr_notes {
    uint32_t capacity; /* a power of two */
    uint32_t used;
    uint32_t block_class; /* of the block that it is in */
    struct myr_note {
        uint64_t key, value; /* key 0: a free place */
    } note[];
};

struct myr_sram {
    uint64_t magic;
    uint32_t layout;
    uint32_t limit;       /* bytes the segment may grow to */
    uint64_t identity;    /* random: two processes share a segment if and only if this is equal */
    uint64_t sign[2];     /* by which sign it is found, see segment.c; 0, 0: by none */
    pthread_mutex_t lock; /* robust: its owner may be killed */
    myr_word owner;       /* the pid of who had the lock last, for people, */
    myr_word stuck;       /* ... and of who was said to keep it */
    uint32_t full;      /* once true nobody creates records any more: all ranks must see the same */
    uint32_t end;       /* where memory that was never used begins */
    uint32_t committed; /* up to here the system has given memory; beyond it nothing is touched */
    uint32_t processes; /* entries of the table of processes that were ever taken */
    uint32_t free_block[MYR_BLOCK_CLASSES];
    uint32_t bucket[MYR_BUCKETS];
    uint32_t notes; /* offset of the table of notes in use */
    _Alignas(uint64_t) uint8_t
        first_notes[sizeof(struct myr_notes) + MYR_NOTES * sizeof(struct myr_note)];
    _Alignas(MYR_LINE) myr_word population; /* shared: changes whenever a process comes, goes or is
                                               bound anew */
    _Alignas(MYR_LINE) struct myr_sram_process process[MYR_PROCESSES];
};

#endif
