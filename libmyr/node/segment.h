/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's shared segment: joining it, records in it, who runs where.
 *
 * The memory is a memfd, so nothing is ever left behind, whoever is killed and when. Processes find
 * it by a sign: a file in the job's session folder that names the first process's descriptor under
 * /proc. It goes when that process leaves; else Open MPI removes the folder with the files in it.
 * (A symbolic link would stay: Open MPI looks where it leads, and by then it leads nowhere.) The
 * segment does not depend on the size of /dev/shm. It grows by fallocate(), so a node that is short
 * of memory gives an error there and never a SIGBUS later.
 *
 * Threads: all functions may be called by several threads at once, except join and leave.
 */
#ifndef MYR_SEGMENT_H
#define MYR_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/sram.h"
#include "libmyr/status.h"

struct myr_segment;

/*
 * Join the segment of the processes that give the same `folder`, or create it. `limit` is how large
 * it may grow (bytes, up to 1 GiB; the creator's counts). Without a folder (NULL) the segment is
 * this process's alone. A process may join several times, by several copies of this library or by
 * one: it is one process with one number.
 */
enum myr_status myr_segment_join(const char *folder, uint32_t limit, struct myr_segment **segment,
                                 struct myr_error *error);
void myr_segment_leave(struct myr_segment *segment);

/* Join the segment that `fd` leads to; another process has handed `fd` over (see myr_segment_fd()).
 * The segment then owns the descriptor, or it is closed. */
enum myr_status myr_segment_join_fd(int fd, struct myr_segment **segment, struct myr_error *error);

/*
 * Its lock is held for microseconds, but a process may be stopped just then (SIGSTOP, a debugger).
 * Nobody else comes to an end with what changes the segment then: joining it, records, memory. They
 * wait until it goes on. One process of those that wait has a line said about it, by any thread;
 * where this is NULL, nobody is told.
 */
extern void (*myr_segment_say)(const char *line);

/* The descriptor by which others can join; it stays the segment's. */
int myr_segment_fd(const struct myr_segment *segment);

/* Free the entry of a process that has died; for whoever oversees the segment's processes. */
void myr_segment_bury(struct myr_segment *segment, uint32_t pid);

/* Equal if and only if two processes are in the same segment. Never 0. */
uint64_t myr_segment_identity(const struct myr_segment *segment);

/* Where the segment lies in this process, and how many bytes of address space it has. */
uint8_t *myr_segment_base(const struct myr_segment *segment);
size_t myr_segment_size(const struct myr_segment *segment);

/* This process's number in the segment; valid until it leaves. */
uint32_t myr_segment_index(const struct myr_segment *segment);

/*
 * A process's number in words that processes share: 1 to 2^31 - 1. Unlike a pid, or an index, it is
 * never another process's in this segment (it returns after two million uses of one entry). 0 is
 * nobody's.
 */
uint32_t myr_segment_number(const struct myr_segment *segment);                  /* own */
uint32_t myr_segment_number_of(struct myr_segment *segment, uint32_t pid);       /* 0: none */
uint32_t myr_segment_pid_of(const struct myr_segment *segment, uint32_t number); /* 0: left */

/* Has the process with this number left or died? For `thoroughly` see myr_process_ended(). */
bool myr_segment_gone(const struct myr_segment *segment, uint32_t number, bool thoroughly);

/* The lowest processor that the process with this number might run on when it joined. */
uint32_t myr_segment_home(const struct myr_segment *segment, uint32_t number);

/* Bytes of memory the segment takes at present, of the whole node. */
size_t myr_segment_bytes(const struct myr_segment *segment);

/* The word that changes whenever the answer of myr_segment_oversubscribed() may. */
const myr_word *myr_segment_population(const struct myr_segment *segment);

/*
 * Are there more processes than processors, on the node or on the processors this process may run
 * on? Looks up again where this process may run, and tells the others.
 */
bool myr_segment_oversubscribed(struct myr_segment *segment);

/* How many processors the attached processes may run on, together. */
uint32_t myr_segment_processors(const struct myr_segment *segment);

/*
 * Memory for any use, aligned to 128, not cleared. Any process may free it. A piece takes the next
 * power of two that holds it and 128 bytes. NULL when there is none left. Even then small records
 * can still be created.
 */
void *myr_segment_alloc(struct myr_segment *segment, size_t bytes);

/* The same for what one can do without: the second half of the segment stays for others. */
void *myr_segment_alloc_if_plenty(struct myr_segment *segment, size_t bytes);

/* Would a record of so many bytes, which one can do without, leave the last quarter to others? */
bool myr_segment_has_plenty(struct myr_segment *segment, size_t bytes);

void myr_segment_free(struct myr_segment *segment, void *memory);

/* Two words of such memory that are its user's, beside it: for lists. */
struct myr_links {
    uint32_t next, before;
};
struct myr_links *myr_segment_links(void *memory);

/* What identifies a record: all members of a group come with equal keys, and nobody else does. */
struct myr_key {
    uint64_t scope, id; /* the communicator's name; `scope` says who named it */
    uint64_t members;   /* a digest of who is in it: disjoint groups may have the same name */
    uint64_t sequence;  /* 0, or a number for further records of the same group */
};

/*
 * Find the record with `key`, or create it with `bytes` of slots, all 0, for `members` processes,
 * carrying `note`. Each member joins once and leaves once. The last to leave frees it. NULL when
 * there is no memory: then every other member gets NULL as well, whenever it comes.
 */
struct myr_record *myr_record_join(struct myr_segment *segment, const struct myr_key *key,
                                   uint32_t members, size_t bytes, uint64_t note,
                                   struct myr_error *error);
void myr_record_leave(struct myr_segment *segment, struct myr_record *record);

/* Where records with this key are in the segment's table of buckets. */
uint32_t myr_record_bucket(const struct myr_key *key);

/* Call `each` for every record; the segment is locked meanwhile. */
typedef void (*myr_record_fn)(struct myr_record *record, void *context);
void myr_records_each(struct myr_segment *segment, myr_record_fn each, void *context);

/* Bytes of slots that the record really has (at least what its creator asked for). */
size_t myr_record_bytes(const struct myr_record *record);

/* Remember `value` (not 0) under `key` (not 0) for all processes, until the last one leaves. False:
 * there is no memory left for another note. */
bool myr_note_set(struct myr_segment *segment, uint64_t key, uint64_t value);

/* The same, unless the key is known already; true for the one process that does it first, and for
 * all where there is no memory: what is to be said once is rather said twice than never. */
bool myr_note_add(struct myr_segment *segment, uint64_t key, uint64_t value);
uint64_t myr_note_get(struct myr_segment *segment, uint64_t key); /* 0: nothing known */

#endif
