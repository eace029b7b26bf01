/* SPDX-License-Identifier: BSD-3-Clause */
/* The node's shared segment: attaching to it, its records, and the placement of its processes.
 *
 * The memory is a memfd, so nothing is left behind, whichever process is killed and when. Processes
 * find it by a sign: a file in the job's session folder that names the first process's descriptor
 * under /proc. That process removes it when it leaves; otherwise Open MPI removes the folder and
 * the files in it. (A symbolic link would remain: Open MPI follows it, and by then it dangles.) The
 * segment does not depend on the size of /dev/shm. It grows by fallocate(), so a node that is short
 * of memory fails there and never with a SIGBUS later.
 *
 * Threads: all functions may be called by several threads at once, except join and leave. */
#ifndef MYR_SEGMENT_H
#define MYR_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/sram.h"
#include "libmyr/status.h"

struct myr_segment;

/* Join the segment of the processes that give the same `folder`, or create it. `limit` is the size
 * that it may grow to (bytes, up to 1 GiB; the creator's counts). Without a folder (NULL) the
 * segment is private to this process. A process may join several times, through one copy of this
 * library or several: it remains one process with one number. */
enum myr_status myr_segment_join(const char *folder, uint32_t limit, struct myr_segment **segment,
                                 struct myr_error *error);
void myr_segment_leave(struct myr_segment *segment);

/* Join the segment behind `fd`, which another process has passed on (see myr_segment_fd()). The
 * segment then owns the descriptor; on failure it is closed. */
enum myr_status myr_segment_join_fd(int fd, struct myr_segment **segment, struct myr_error *error);

/* The segment's lock is held for microseconds, but a process may be stopped just then (SIGSTOP, a
 * debugger). Until it continues, other processes block in all that changes the segment: joins,
 * records, memory. One of them reports it with a line through this function, from any thread; NULL:
 * no report. */
extern void (*myr_segment_say)(const char *line);

/* The descriptor with which others can join; the segment keeps it. */
int myr_segment_fd(const struct myr_segment *segment);

/* Free the entry of a dead process; for the supervisor of the segment's processes. */
void myr_segment_reap(struct myr_segment *segment, uint32_t pid);

/* Equal if and only if two processes are in the same segment. Never 0. */
uint64_t myr_segment_identity(const struct myr_segment *segment);

/* The segment's address in this process, and its bytes of address space. */
uint8_t *myr_segment_base(const struct myr_segment *segment);
size_t myr_segment_size(const struct myr_segment *segment);

/* This process's index in the segment; valid until it leaves. */
uint32_t myr_segment_index(const struct myr_segment *segment);

/* A process's number for words that processes share: 1 to 2^31 - 1. Unlike a pid or an index, it is
 * not reused in this segment (only after two million uses of one entry). 0 is no process. */
uint32_t myr_segment_number(const struct myr_segment *segment);                  /* own */
uint32_t myr_segment_number_of(struct myr_segment *segment, uint32_t pid);       /* 0: none */
uint32_t myr_segment_pid_of(const struct myr_segment *segment, uint32_t number); /* 0: left */

/* Has the process with this number left or died? myr_process_ended() explains `thoroughly`. */
bool myr_segment_gone(const struct myr_segment *segment, uint32_t number, bool thoroughly);

/* The lowest processor in the affinity mask of the process with this number when it joined. */
uint32_t myr_segment_home(const struct myr_segment *segment, uint32_t number);

/* Bytes of memory that the segment uses at present, for the whole node. */
size_t myr_segment_bytes(const struct myr_segment *segment);

/* The word that changes whenever the result of myr_segment_oversubscribed() may change. */
const myr_word *myr_segment_population(const struct myr_segment *segment);

/* Are there more processes than processors, on the node or on the processors of this process's
 * affinity mask? Reads the mask again, and publishes it to the other processes. */
bool myr_segment_oversubscribed(struct myr_segment *segment);

/* How many processors are in the union of the attached processes' affinity masks. */
uint32_t myr_segment_processors(const struct myr_segment *segment);

/* Allocate memory for any use, aligned to 128, not cleared. Any process may free it. An allocation
 * takes the next power of two that holds it and 128 bytes. NULL if there is none left; even then
 * small records can still be created. */
void *myr_segment_alloc(struct myr_segment *segment, size_t bytes);

/* The same for optional memory, which is taken from the first half of the segment only. */
void *myr_segment_alloc_if_plenty(struct myr_segment *segment, size_t bytes);

/* Allocate memory that several processes share, each of which calls this. The first call sets the
 * shared word `at`, initially 0, to the memory's offset from myr_segment_base(), or to
 * MYR_NO_MEMORY. A process that is killed meanwhile does not delay the others. */
enum { MYR_NO_MEMORY = 1 };
void myr_segment_alloc_once(struct myr_segment *segment, myr_word *at, size_t bytes);

/* Would an optional record of this size leave the last quarter of the segment to others? */
bool myr_segment_has_plenty(struct myr_segment *segment, size_t bytes);

void myr_segment_free(struct myr_segment *segment, void *memory);

/* Two words next to such memory for its user, for lists. */
struct myr_links {
    uint32_t next, before;
};
struct myr_links *myr_segment_links(void *memory);

/* The key of a record: equal for all members of a group, and for no other process. */
struct myr_key {
    uint64_t scope, id; /* the communicator's name; `scope` identifies its source */
    uint64_t members;   /* a digest of the members: disjoint groups may have the same name */
    uint64_t sequence;  /* 0, or a number for further records of the same group */
};

/* Find the record with `key`, or create it with `bytes` of slots, all 0, for `members` processes,
 * with `note`. Each member joins once and leaves once. The last to leave frees it. NULL if there is
 * no memory: then every other member gets NULL as well, whenever it joins. */
struct myr_record *myr_record_join(struct myr_segment *segment, const struct myr_key *key,
                                   uint32_t members, size_t bytes, uint64_t note,
                                   struct myr_error *error);
void myr_record_leave(struct myr_segment *segment, struct myr_record *record);

/* The bucket of records with this key in the segment's hash table. */
uint32_t myr_record_bucket(const struct myr_key *key);

/* Call `each` for every record, with the segment locked. */
typedef void (*myr_record_fn)(struct myr_record *record, void *context);
void myr_records_each(struct myr_segment *segment, myr_record_fn each, void *context);

/* Bytes of slots that the record has (at least what its creator asked for). */
size_t myr_record_bytes(const struct myr_record *record);

/* Store `value` (not 0) under `key` (not 0) for all processes, until the last one leaves. False: no
 * memory left for another note. */
bool myr_note_set(struct myr_segment *segment, uint64_t key, uint64_t value);

/* Store it only if the key does not exist. Returns true to the one process that adds it, and to all
 * processes if there is no memory for it, because callers print a message then, and a repeated
 * message is better than none. */
bool myr_note_add(struct myr_segment *segment, uint64_t key, uint64_t value);
uint64_t myr_note_get(struct myr_segment *segment, uint64_t key); /* 0: not found */

#endif
