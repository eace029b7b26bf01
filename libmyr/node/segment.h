/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared segment of the node: attaching to it, its records, and the placement of its processes.
 *
 * The memory of a segment is a memfd, so nothing is left behind, no matter which process is killed
 * and when. Processes find it by a marker file (the "sign") in the session directory of the job,
 * which contains the path of the first process's descriptor in /proc. The first process removes the
 * file when it leaves; otherwise Open MPI removes the directory with its files. (The marker is not
 * a symbolic link, because Open MPI follows links, and would not remove a dangling one.) The
 * segment does not depend on the size of /dev/shm. It grows by fallocate(), so if a node is short
 * of memory, this call fails, and there is no SIGBUS later. The size of the file grows as well, so
 * that mlockall(), which makes all pages of a mapped file resident, does not allocate the memory
 * that the segment may take later.
 *
 * All functions except join and leave may be called by several threads concurrently. */
#ifndef MYR_SEGMENT_H
#define MYR_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/sram.h"
#include "libmyr/status.h"

struct myr_segment;

/* Joins the segment of the processes that pass the same directory in `dir`, or creates it. `limit`
 * is the maximum size of the segment (bytes, up to 1 GiB); the value of the creator applies.
 * Without a directory (NULL) the segment is private to this process. A process may join several
 * times, through one or several copies of this library, and is still one process with a single
 * number. */
enum myr_status myr_segment_join(const char *dir, uint32_t limit, struct myr_segment **segment,
                                 struct myr_error *error);
void myr_segment_leave(struct myr_segment *segment);

/* Joins the segment behind `fd`, a descriptor that another process has passed on (see
 * myr_segment_fd()). The segment then owns the descriptor; on failure the descriptor is closed. */
enum myr_status myr_segment_join_fd(int fd, struct myr_segment **segment, struct myr_error *error);

/* Prints a message about a process that was stopped while it held the lock of the segment. NULL,
 * the default, suppresses the message. Normally the lock is held only for microseconds, but if
 * SIGSTOP or a debugger stops its holder, other processes block in all operations that change the
 * segment, such as joining it or allocating records and memory, until the holder continues. After a
 * while one of the blocked processes calls this function, in any thread. */
extern void (*myr_segment_print)(const char *line);

/* Returns the descriptor with which other processes can join. It is still owned by the segment. */
int myr_segment_fd(const struct myr_segment *segment);

/* Frees the entry of a dead process. To be called by the supervisor of the processes in the
 * segment. */
void myr_segment_reap(struct myr_segment *segment, uint32_t pid);

/* Returns a value, never 0, that is equal for two processes if and only if they are in the same
 * segment. */
uint64_t myr_segment_identity(const struct myr_segment *segment);

/* Return the segment's address in this process, and the size of its address space (bytes). */
uint8_t *myr_segment_base(const struct myr_segment *segment);
size_t myr_segment_size(const struct myr_segment *segment);

/* Returns this process's index in the segment, which is valid until it leaves. */
uint32_t myr_segment_index(const struct myr_segment *segment);

/* The number of a process, from 1 to 2^31 - 1, identifies the process in shared words; 0 means no
 * process. In contrast to a pid or an index, a number is not reused in this segment (or only after
 * two million uses of one entry). */
uint32_t myr_segment_number(const struct myr_segment *segment);            /* of this process */
uint32_t myr_segment_number_of(struct myr_segment *segment, uint32_t pid); /* 0 if there is none */
/* Returns the pid of the process with this number, or 0 if it has left. */
uint32_t myr_segment_pid_of(const struct myr_segment *segment, uint32_t number);

/* Returns whether the process with this number has left or died. See myr_process_ended() for
 * `thoroughly`. */
bool myr_segment_gone(const struct myr_segment *segment, uint32_t number, bool thoroughly);

/* Returns whether the process with this pid has ended, no matter whether it has left the
 * segment. */
bool myr_segment_ended(const struct myr_segment *segment, uint32_t pid, bool thoroughly);

/* Returns the lowest CPU in the affinity mask that the process with this number had when it
 * joined. */
uint32_t myr_segment_home(const struct myr_segment *segment, uint32_t number);

/* Returns the memory that the segment uses at present, for the whole node (bytes). */
size_t myr_segment_bytes(const struct myr_segment *segment);

/* Returns the word that changes whenever the result of myr_segment_oversubscribed() may change. */
const myr_word *myr_segment_population(const struct myr_segment *segment);

/* Returns whether there are more processes than CPUs, on the node or in the affinity mask of this
 * process. Each call reads the mask again, and publishes it to the other processes of the node. */
bool myr_segment_oversubscribed(struct myr_segment *segment);

/* Returns the number of CPUs in the union of the attached processes' affinity masks. */
uint32_t myr_segment_processors(const struct myr_segment *segment);

/* Allocates memory for any purpose, aligned to 128 bytes and not cleared. Any process may free it.
 * The size plus 128 bytes is rounded up to a power of two. Returns NULL if no memory is left; even
 * then small records can still be created. */
void *myr_segment_alloc(struct myr_segment *segment, size_t bytes);

/* Allocates optional memory in the same way, but only from the first half of the segment. */
void *myr_segment_alloc_if_plenty(struct myr_segment *segment, size_t bytes);

/* Allocates memory that several processes share. Each of them calls this function with the same
 * shared word `at`, which is initially 0. The first call allocates the memory in the first half of
 * the segment, and sets the word to the offset of the memory from myr_segment_base(), or to
 * MYR_NO_MEMORY. A process that is killed during the call does not delay the others. */
enum { MYR_NO_MEMORY = 1 };
void myr_segment_alloc_once(struct myr_segment *segment, myr_word *at, size_t bytes);

/* Returns whether an optional record of this size would leave the last quarter of the segment to
 * others. */
bool myr_segment_has_plenty(struct myr_segment *segment, size_t bytes);

void myr_segment_free(struct myr_segment *segment, void *memory);

/* Two words in front of memory from myr_segment_alloc(), by which its owner may link it into
 * lists. */
struct myr_links {
    uint32_t next, before;
};
struct myr_links *myr_segment_links(void *memory);

/* The key of a record: equal for all members of a group, and for no other process. */
struct myr_key {
    uint64_t scope, id; /* the communicator's name; `scope` identifies its source */
    uint64_t members;  /* a digest of the members, because disjoint groups may have the same name */
    uint64_t sequence; /* 0, or a number that distinguishes further records of the same group */
};

/* Finds the record with `key`. If there is none, creates it for `members` processes, with `bytes`
 * of slots, which are all 0, and with `creator_value`, which the other members can read. Each
 * member joins once and leaves once, and the last one to leave frees the record. Returns NULL if
 * there is no memory; in this case every other member also gets NULL, no matter when it joins. */
struct myr_record *myr_record_join(struct myr_segment *segment, const struct myr_key *key,
                                   uint32_t members, size_t bytes, uint64_t creator_value,
                                   struct myr_error *error);
void myr_record_leave(struct myr_segment *segment, struct myr_record *record);

/* Returns the bucket of records with this key in the segment's hash table. */
uint32_t myr_record_bucket(const struct myr_key *key);

/* Calls `each` for every record, with the segment locked. */
typedef void (*myr_record_fn)(struct myr_record *record, void *context);
void myr_records_each(struct myr_segment *segment, myr_record_fn each, void *context);

/* Returns the size of the record's slots (at least what its creator requested). */
size_t myr_record_bytes(const struct myr_record *record);

/* Stores `value` (not 0) under `key` (not 0) in the key-value table of the segment. All processes
 * can read it until the last one leaves. Returns false if there is no memory for another entry. */
bool myr_kv_set(struct myr_segment *segment, uint64_t key, uint64_t value);

/* Stores a value unless the key exists already. Returns true in the process that has added it. If
 * there is no memory for the entry, returns true in all processes. The typical use is a message
 * that only one process of the node should print, and a repeated message is better than none. */
bool myr_kv_add(struct myr_segment *segment, uint64_t key, uint64_t value);
uint64_t myr_kv_get(struct myr_segment *segment, uint64_t key); /* 0 if not found */

#endif
