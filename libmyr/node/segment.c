/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins and leaves the shared segment of the node. segment.h describes the interface, and sram.h
 * the layout.
 *
 * Invariant: an entry of the process table belongs to one process, even if several copies of this
 * library in the process have joined the segment. Other files manage the memory and the content of
 * the segment (segment_inside.h). */
#include "libmyr/node/segment_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmyr/node/process.h"
#include "os/lock.h"
#include "os/random.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum {
    LIMIT_MOST = 1 << 30,              /* maximum address space that a process reserves */
    SPACE_PARTS = 16,                  /* its maximum part of a limited address space */
    USES = (1U << 31) / MYR_PROCESSES, /* of an entry, before its numbers wrap around */
    SEALS = F_SEAL_SHRINK,             /* truncation would cause SIGBUS */
    /* Offset of the first block, and the size of the file until the blocks need more memory. */
    BEGIN = (sizeof(struct myr_sram) + MYR_GROWTH - 1) / MYR_GROWTH * MYR_GROWTH,
};

/* ---- joining ---- */

static enum myr_status initialise_header(struct myr_segment *segment, uint32_t limit,
                                         struct myr_error *error)
{
    /* Entries of the process table, which follows the header, are committed one at a time. */
    if (!myr_commit(segment, 0, offsetof(struct myr_sram, process))) {
        return myr_fail(error, MYR_ERR_FULL, errno, "cannot allocate the node's shared segment");
    }
    struct myr_sram *sram = segment->sram;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&sram->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (!os_draw_key(&sram->identity, sizeof(sram->identity))) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot get random numbers for the segment");
    }
    sram->limit = limit;
    sram->end = sram->committed = BEGIN;
    myr_kv_begin(segment);
    sram->layout = MYR_SRAM_LAYOUT;
    sram->magic = MYR_SRAM_MAGIC;
    return MYR_OK;
}

static enum myr_status map_segment(struct myr_segment *segment, size_t bytes,
                                   struct myr_error *error)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment->fd, 0);
    if (MAP_FAILED == memory) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot map %zu MiB of shared address space (see ulimit -v)", bytes >> 20);
    }
    segment->sram = memory;
    segment->mapped = bytes;
    return MYR_OK;
}

/* The minimum size of a segment. */
static const uint32_t least = (uint32_t)sizeof(struct myr_sram) + MYR_GROWTH + MYR_GROWTH;

uint64_t myr_resource_limit(int resource)
{
    struct rlimit limits;
    const bool limited = 0 == getrlimit(resource, &limits) && RLIM_INFINITY != limits.rlim_cur;
    return limited ? limits.rlim_cur : UINT64_MAX;
}

/* Returns the size that this process's limits permit, at most `limit`.
 *
 * The size of the file must not exceed RLIMIT_FSIZE (ulimit -f), because otherwise the call that
 * extends it would raise SIGXFSZ.
 *
 * RLIMIT_AS (ulimit -v): the program itself needs most of a limited address space, so the segment
 * takes only a small part of it. */
static uint32_t permitted_size(uint32_t limit)
{
    const uint64_t of_files = myr_resource_limit(RLIMIT_FSIZE),
                   of_space = myr_resource_limit(RLIMIT_AS) / SPACE_PARTS;
    const uint64_t permitted = of_files < of_space ? of_files : of_space;
    return permitted < limit ? (uint32_t)permitted / MYR_GROWTH * MYR_GROWTH : limit;
}

static enum myr_status create_segment(struct myr_segment *segment, uint32_t limit,
                                      struct myr_error *error)
{
    limit = permitted_size(limit);
    if (limit < least) {
        return myr_fail(
            error, MYR_ERR_SYSTEM, 0,
            "a limit of the system is too small for the shared memory (see ulimit -f and -v)");
    }
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    segment->fd = memfd_create("nicbarr", flags | MFD_NOEXEC_SEAL);
    if (segment->fd < 0 && EINVAL == errno) { /* a kernel before 6.3 */
        segment->fd = memfd_create("nicbarr", flags);
    }
    if (segment->fd < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot create shared memory (memfd)");
    }
    if (ftruncate(segment->fd, BEGIN) < 0 || fcntl(segment->fd, F_ADD_SEALS, SEALS) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot set the size of shared memory (memfd)");
    }
    const enum myr_status status = map_segment(segment, limit, error);
    return MYR_OK == status ? initialise_header(segment, limit, error) : status;
}

_Static_assert(offsetof(struct myr_sram, layout) == sizeof(uint64_t) &&
                   offsetof(struct myr_sram, identity) == 2 * sizeof(uint64_t),
               "the fields that map_existing() reads");

/* Verifies that the file is a segment of nicbarr, and maps it. */
static enum myr_status map_existing(struct myr_segment *segment, struct myr_error *error)
{
    struct {
        uint64_t magic;
        uint32_t layout, limit;
    } head;
    struct stat about;
    const int seals = fcntl(segment->fd, F_GET_SEALS);
    if (seals < 0 || SEALS != (seals & SEALS) || fstat(segment->fd, &about) < 0 ||
        about.st_size < BEGIN || about.st_size > LIMIT_MOST ||
        sizeof(head) != pread(segment->fd, &head, sizeof(head), 0)) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "this is not shared memory of nicbarr");
    }
    if (MYR_SRAM_MAGIC != head.magic || MYR_SRAM_LAYOUT != head.layout || head.limit > LIMIT_MOST ||
        head.limit < about.st_size) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "the node's shared memory is of another version of nicbarr");
    }
    return map_segment(segment, head.limit, error);
}

/* The identity of a marker file, which consists of its inode and the time when it was written. The
 * segment contains a copy of it, by which a process verifies that the file belongs to the segment.
 * Otherwise the stale file of an earlier job could lead to the segment of another job in which the
 * same PID and descriptor are in use. */
struct mark {
    uint64_t word[2];
};

static bool mark_of(int sign, struct mark *mark)
{
    struct stat about;
    if (fstat(sign, &about) < 0 || !S_ISREG(about.st_mode) || geteuid() != about.st_uid) {
        return false;
    }
    const uint64_t seconds = (uint64_t)about.st_ctim.tv_sec;
    *mark = (struct mark){
        {about.st_ino, seconds * 1000000000 + (uint64_t)about.st_ctim.tv_nsec},
    };
    return true;
}

enum { TARGET_BYTES = 64 }; /* of a path /proc/PID/fd/N */

/* Reads the marker file at `path`. Returns false if there is none or it is malformed. */
static bool read_sign(const char *path, char target[TARGET_BYTES], struct mark *mark)
{
    const int sign = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (sign < 0) {
        return false;
    }
    const ssize_t length = mark_of(sign, mark) ? read(sign, target, TARGET_BYTES - 1) : -1;
    target[length < 0 ? 0 : length] = '\0';
    close(sign);
    return length > 0;
}

/* Attaches to the segment that the marker file refers to. */
static enum myr_status attach_by_sign(struct myr_segment *segment, const char *path,
                                      struct myr_error *error)
{
    char target[TARGET_BYTES];
    struct mark mark;
    if (!read_sign(path, target, &mark)) {
        return MYR_ERR_NOT_THERE; /* no process has joined yet */
    }
    segment->fd = open(target, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    /* If the marker file is stale, its PID may now belong to an unrelated process, whose descriptor
     * may be a socket (ENXIO) or not open for writing (EACCES). The error is the same if the
     * process does belong to this job, but is not accessible. Each of the two processes then has
     * its own segment, which is detected from the data in the modex. */
    if (segment->fd < 0 &&
        (ENOENT == errno || EISDIR == errno || ENXIO == errno || EACCES == errno)) {
        return MYR_ERR_NOT_THERE; /* all processes have ended */
    }
    if (segment->fd < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot open the shared memory of another process of this node (%s in %s)",
                        target, path);
    }
    /* The path in the marker file may lead to a wrong file, because the creator of the marker has
     * left and its descriptor was reused, or because the creator is in another container. In the
     * latter case each of the two processes has its own segment, which is detected from the data in
     * the modex. */
    const enum myr_status status = map_existing(segment, error);
    const bool marked =
        MYR_OK == status && 0 == memcmp(mark.word, segment->sram->sign, sizeof(mark.word));
    return MYR_OK == status && !marked ? MYR_ERR_NOT_THERE : status;
}

static void discard_segment(struct myr_segment *segment)
{
    if (NULL != segment->sram) {
        munmap(segment->sram, segment->mapped);
        segment->sram = NULL;
    }
    if (segment->fd >= 0) {
        close(segment->fd);
        segment->fd = -1;
    }
}

/* Creates the marker file, which refers to this process's descriptor by its path in /proc. */
static bool make_sign(struct myr_segment *segment, const char *path)
{
    char self[32], target[TARGET_BYTES];
    struct mark mark;
    const ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = '\0';
    const int bytes = snprintf(target, sizeof(target), "/proc/%s/fd/%d", self, segment->fd);
    if (unlink(path) < 0 && ENOENT != errno) {
        return false;
    }
    const int sign = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (sign < 0) {
        return false;
    }
    const bool made = bytes == write(sign, target, (size_t)bytes) && mark_of(sign, &mark);
    close(sign);
    if (made) {
        memcpy(segment->sram->sign, mark.word, sizeof(mark.word));
        segment->shows = true;
    }
    return made;
}

/* Removes the marker file, unless another process has replaced it. */
static void remove_sign(const struct myr_segment *segment)
{
    char target[TARGET_BYTES];
    struct mark mark;
    if (NULL != segment->sign && read_sign(segment->sign, target, &mark) &&
        0 == memcmp(mark.word, segment->sram->sign, sizeof(mark.word))) {
        (void)unlink(segment->sign);
    }
}

/* Returns the inode of a namespace, or 0 if it is unknown. The name of the marker file contains the
 * inodes of two namespaces, because the processes that share a segment must agree on PIDs and on
 * the clock. */
static unsigned long namespace_of(const char *name)
{
    char path[32];
    struct stat about;
    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    return stat(path, &about) < 0 ? 0 : (unsigned long)about.st_ino;
}

unsigned myr_dir_lock_ms = 30000;

/* Finds or creates the segment while holding the lock of the directory. Another process may be
 * stopped while it holds this lock, so there is a timeout. */
static enum myr_status find_or_create(struct myr_segment *segment, const char *dir, uint32_t limit,
                                      struct myr_error *error)
{
    if (asprintf(&segment->sign, "%s/nicbarr.%u.%lu.%lu", dir, (unsigned)getuid(),
                 namespace_of("pid"), namespace_of("time")) < 0) {
        segment->sign = NULL;
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || !os_lock(dir_fd, myr_dir_lock_ms)) {
        const bool kept = dir_fd >= 0 && EWOULDBLOCK == errno;
        const enum myr_status status = myr_fail(error, MYR_ERR_SYSTEM, kept ? 0 : errno,
                                                "cannot lock the session directory %s%s", dir,
                                                kept ? ": another process keeps it locked" : "");
        if (dir_fd >= 0) {
            close(dir_fd);
        }
        return status;
    }
    enum myr_status status = attach_by_sign(segment, segment->sign, error);
    if (MYR_ERR_NOT_THERE == status) {
        discard_segment(segment);
        status = create_segment(segment, limit, error);
        if (MYR_OK == status && !make_sign(segment, segment->sign)) {
            status = myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot create %s", segment->sign);
        }
    }
    close(dir_fd); /* releases the lock */
    return status;
}

/* Returns the entry of this process in the process table if it has one, otherwise a free entry, or
 * else the next entry that was never used. Called with the lock held. */
static uint32_t find_entry(const struct myr_sram *sram, uint32_t pid, uint64_t began)
{
    uint32_t found = sram->processes;
    for (uint32_t i = sram->processes; i > 0; --i) {
        const struct myr_sram_process *process = &sram->process[i - 1];
        if (0 == myr_load_acquire(&process->attached)) {
            found = i - 1;
        } else if (pid == myr_load_relaxed(&process->pid) &&
                   began == atomic_load(&process->began)) {
            return i - 1;
        }
    }
    return found;
}

/* Returns the number for the next use of the entry. */
static uint32_t next_number(uint32_t last, uint32_t index)
{
    const uint32_t use = last / MYR_PROCESSES + 1;
    return (use < USES ? use : 1) * MYR_PROCESSES + index;
}

/* Allocates an entry in the process table. Each component of nicbarr contains a copy of this
 * library, and all copies in a process share one entry. */
static enum myr_status take_process_entry(struct myr_segment *segment, struct myr_error *error)
{
    struct myr_sram *sram = segment->sram;
    const uint32_t pid = (uint32_t)getpid();
    const uint64_t began = myr_process_began();
    myr_segment_lock(segment);
    const uint32_t index = find_entry(sram, pid, began);
    if (MYR_PROCESSES == index) {
        myr_segment_unlock(segment);
        return myr_fail(error, MYR_ERR_FULL, 0, "more than %d processes on this node",
                        (int)MYR_PROCESSES);
    }
    struct myr_sram_process *process = &sram->process[index];
    if (index == sram->processes) {
        if (!myr_commit(segment, offsetof(struct myr_sram, process[index]), sizeof(*process))) {
            myr_segment_unlock(segment);
            return myr_fail(error, MYR_ERR_FULL, errno,
                            "cannot allocate the node's shared segment");
        }
        ++sram->processes;
    }
    const bool first = 0 == myr_load_acquire(&process->attached);
    if (first) {
        myr_store_release(&process->pid, pid);
        atomic_store(&process->began, began);
        myr_publish_processors(process);
        /* `shows` is set by the creator, which is the first process to execute this. */
        process->shown = segment->shows ? (uint32_t)segment->fd + 1 : 0;
        myr_store_release(&process->number, next_number(myr_load_relaxed(&process->number), index));
    }
    myr_fetch_add(&process->attached);
    segment->index = index;
    segment->number = myr_load_relaxed(&process->number);
    myr_segment_unlock(segment);
    if (first) {
        myr_fetch_add(&sram->population);
    }
    return MYR_OK;
}

static struct myr_segment *begin_joining(int fd, struct myr_error *error)
{
    struct myr_segment *joining = calloc(1, sizeof(*joining));
    if (NULL == joining) {
        (void)myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        return NULL;
    }
    joining->fd = fd;
    return joining;
}

/* Takes a process entry, or cleans up after a failure. */
static enum myr_status finish_joining(struct myr_segment *joining, enum myr_status status,
                                      struct myr_segment **segment, struct myr_error *error)
{
    if (MYR_OK == status) {
        status = take_process_entry(joining, error);
    }
    if (MYR_OK != status) {
        discard_segment(joining);
        free(joining->sign);
        free(joining);
        return status;
    }
    *segment = joining;
    return MYR_OK;
}

enum myr_status myr_segment_join(const char *dir, uint32_t limit, struct myr_segment **segment,
                                 struct myr_error *error)
{
    struct myr_segment *joining = begin_joining(-1, error);
    if (NULL == joining) {
        return MYR_ERR_OUT_OF_MEMORY;
    }
    if (limit > LIMIT_MOST) {
        limit = LIMIT_MOST;
    }
    if (limit < least) {
        limit = least;
    }
    const enum myr_status status = NULL == dir ? create_segment(joining, limit, error)
                                               : find_or_create(joining, dir, limit, error);
    return finish_joining(joining, status, segment, error);
}

enum myr_status myr_segment_join_fd(int fd, struct myr_segment **segment, struct myr_error *error)
{
    struct myr_segment *joining = begin_joining(fd, error);
    if (NULL == joining) {
        close(fd);
        return MYR_ERR_OUT_OF_MEMORY;
    }
    return finish_joining(joining, map_existing(joining, error), segment, error);
}

void myr_segment_leave(struct myr_segment *segment)
{
    struct myr_sram_process *process = &segment->sram->process[segment->index];
    const int shown = (int)process->shown - 1;
    if (shown == segment->fd) {
        /* The descriptor is kept open, because the marker file refers to it while any copy of this
         * library is attached. */
        segment->fd = -1;
    }
    if (1 == atomic_fetch_sub(&process->attached, 1)) {
        myr_fetch_add(&segment->sram->population);
        if (shown >= 0) {
            remove_sign(segment);
            close(shown);
        }
    }
    discard_segment(segment);
    free(segment->sign);
    free(segment);
}

void myr_segment_reap(struct myr_segment *segment, uint32_t pid)
{
    struct myr_sram *sram = segment->sram;
    myr_segment_lock(segment);
    for (uint32_t i = 0; i < sram->processes; ++i) {
        if (pid == myr_load_relaxed(&sram->process[i].pid)) {
            myr_store_release(&sram->process[i].attached, 0);
        }
    }
    myr_segment_unlock(segment);
    myr_fetch_add(&sram->population);
}

int myr_segment_fd(const struct myr_segment *segment)
{
    return segment->fd;
}

/* ---- the process table ---- */

uint64_t myr_segment_identity(const struct myr_segment *segment)
{
    return segment->sram->identity;
}

uint8_t *myr_segment_base(const struct myr_segment *segment)
{
    return (uint8_t *)segment->sram;
}

size_t myr_segment_size(const struct myr_segment *segment)
{
    return segment->mapped;
}

size_t myr_segment_bytes(const struct myr_segment *segment)
{
    struct stat about;
    return fstat(segment->fd, &about) < 0 ? 0 : (size_t)about.st_blocks * 512;
}

uint32_t myr_segment_index(const struct myr_segment *segment)
{
    return segment->index;
}

uint32_t myr_segment_number(const struct myr_segment *segment)
{
    return segment->number;
}

/* Returns whether this entry is in use, for the process with this pid. */
static bool belongs_to(const struct myr_sram_process *process, uint32_t pid)
{
    return 0 != myr_load_acquire(&process->attached) && pid == myr_load_relaxed(&process->pid);
}

uint32_t myr_segment_number_of(struct myr_segment *segment, uint32_t pid)
{
    uint32_t number = 0;
    myr_segment_lock(segment);
    for (uint32_t i = 0; i < segment->sram->processes; ++i) {
        const struct myr_sram_process *process = &segment->sram->process[i];
        if (belongs_to(process, pid)) {
            number = myr_load_relaxed(&process->number);
        }
    }
    myr_segment_unlock(segment);
    return number;
}

/* Returns the entry with this number, or NULL if its process has left. */
static const struct myr_sram_process *entry_of(const struct myr_segment *segment, uint32_t number)
{
    const struct myr_sram_process *process = &segment->sram->process[number % MYR_PROCESSES];
    return number == myr_load_acquire(&process->number) && 0 != myr_load_acquire(&process->attached)
               ? process
               : NULL;
}

uint32_t myr_segment_pid_of(const struct myr_segment *segment, uint32_t number)
{
    const struct myr_sram_process *process = entry_of(segment, number);
    return NULL == process ? 0 : myr_load_relaxed(&process->pid);
}

/* An entry of the process table is reused only after its owner has left or ended. If it is read
 * while the next owner is overwriting it, the result for the former owner may be wrong once. */
bool myr_segment_gone(const struct myr_segment *segment, uint32_t number, bool thoroughly)
{
    const struct myr_sram_process *process = entry_of(segment, number);
    const struct myr_sram_process *self = &segment->sram->process[segment->index];
    /* A process that does not know its own start time cannot compare the start times of others. */
    return NULL == process ||
           myr_process_ended(myr_load_relaxed(&process->pid), atomic_load(&process->began),
                             thoroughly && 0 != atomic_load(&self->began));
}

/* The table is read without the lock, because a stopped process may hold it. */
bool myr_segment_ended(const struct myr_segment *segment, uint32_t pid, bool thoroughly)
{
    for (uint32_t i = 0; thoroughly && i < segment->sram->processes; ++i) {
        const struct myr_sram_process *process = &segment->sram->process[i];
        if (belongs_to(process, pid)) {
            return myr_segment_gone(segment, myr_load_relaxed(&process->number), true);
        }
    }
    return myr_process_ended(pid, 0, false);
}
