/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's shared segment; see segment.h for what it promises and sram.h for what lies where.
 *
 * Invariants: a record is in exactly one bucket or exactly one free list; memory beyond `committed`
 * is never touched; once `full`, no record is created, so that no two members of a group can get
 * different answers. Who dies while holding the lock leaves the lists in doubt: the segment is then
 * declared full and keeps serving the records that exist.
 */
#include "libmyr/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libmyr/process.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum {
    PAGE = 4096,                        /* bytes; larger pages do no harm */
    GROWTH = 1 << 16,                   /* bytes taken from the system at a time */
    LIMIT_MOST = 1 << 30,               /* address space a process sets aside at the most */
    USES = (1U << 31) / MYR_PROCESSES,  /* of an entry, before numbers return */
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW /* nobody can truncate it under our feet */
};

struct myr_segment {
    struct myr_sram *sram;
    size_t mapped;
    bool linked; /* it has made the link, which leads to its descriptor */
    int fd;
    uint32_t index, number;
};

/* ---- memory ---- */

/* Have the system give memory for the bytes from `offset` on. */
static bool commit(const struct myr_segment *segment, size_t offset, size_t bytes)
{
    int rc;
    do {
        rc = fallocate(segment->fd, 0, (off_t)offset, (off_t)bytes);
    } while (rc < 0 && EINTR == errno);
    return 0 == rc;
}

/*
 * In slices: when a process is killed as it hands the lock on, or just as it gets it, and a third
 * one takes it meanwhile, nobody wakes those who still sleep on it.
 */
static void lock(struct myr_segment *segment)
{
    struct timespec until;
    int rc;
    do {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        rc = pthread_mutex_timedlock(&segment->sram->lock, &until);
    } while (ETIMEDOUT == rc);
    if (EOWNERDEAD == rc) {
        segment->sram->full = 1;
        pthread_mutex_consistent(&segment->sram->lock);
    }
}

static void unlock(struct myr_segment *segment)
{
    pthread_mutex_unlock(&segment->sram->lock);
}

static struct myr_record *at(const struct myr_segment *segment, uint32_t offset)
{
    return (struct myr_record *)((uint8_t *)segment->sram + offset);
}

static uint32_t offset_of(const struct myr_segment *segment, const struct myr_record *record)
{
    return (uint32_t)((const uint8_t *)record - (const uint8_t *)segment->sram);
}

static size_t block_bytes(uint32_t block_class)
{
    return (size_t)MYR_LINE << block_class;
}

static void give_block(struct myr_segment *segment, uint32_t offset, uint32_t block_class)
{
    at(segment, offset)->next = segment->sram->free_block[block_class];
    segment->sram->free_block[block_class] = offset;
}

/* Have the system give memory up to `end`; false if it does not. */
static bool commit_up_to(struct myr_segment *segment, size_t end)
{
    struct myr_sram *sram = segment->sram;
    size_t target = (end + GROWTH - 1) / GROWTH * GROWTH;
    target = target < sram->limit ? target : sram->limit;
    if (end > sram->committed) {
        if (end > target || !commit(segment, sram->committed, target - sram->committed)) {
            return false;
        }
        sram->committed = (uint32_t)target;
    }
    return true;
}

/*
 * Take a block from the free list, else from memory that was never used. 0: there is none. Blocks
 * are aligned to their size, up to a page, so that a record touches no more pages than it must;
 * what lies before such a block becomes free blocks.
 */
static uint32_t take_block(struct myr_segment *segment, uint32_t block_class)
{
    struct myr_sram *sram = segment->sram;
    uint32_t offset = sram->free_block[block_class];
    if (0 != offset) {
        sram->free_block[block_class] = at(segment, offset)->next;
        return offset;
    }
    const size_t bytes = block_bytes(block_class);
    const size_t alignment = bytes < PAGE ? bytes : PAGE;
    const size_t aligned = (sram->end + alignment - 1) / alignment * alignment;
    if (!commit_up_to(segment, aligned + bytes)) {
        return 0;
    }
    while (sram->end < aligned) {
        const uint32_t gap_class = (uint32_t)__builtin_ctz(sram->end / MYR_LINE);
        give_block(segment, sram->end, gap_class);
        sram->end += (uint32_t)block_bytes(gap_class);
    }
    sram->end += (uint32_t)bytes;
    return (uint32_t)aligned;
}

/* The smallest class of blocks with so many bytes; MYR_BLOCK_CLASSES if there is none. */
static uint32_t class_for(size_t bytes)
{
    uint32_t block_class = 0;
    while (block_class < MYR_BLOCK_CLASSES && block_bytes(block_class) < bytes) {
        ++block_class;
    }
    return block_class;
}

/* ---- joining ---- */

static enum myr_status initialise(struct myr_segment *segment, uint32_t limit,
                                  struct myr_error *error)
{
    /* The table of processes behind the header is committed entry by entry. */
    if (!commit(segment, 0, offsetof(struct myr_sram, process))) {
        return myr_fail(error, MYR_ERR_FULL, errno, "no memory for the node's shared segment");
    }
    struct myr_sram *sram = segment->sram;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&sram->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    do {
        if (sizeof(sram->identity) != getrandom(&sram->identity, sizeof(sram->identity), 0)) {
            return myr_fail(error, MYR_ERR_SYSTEM, errno, "no random number for the segment");
        }
    } while (0 == sram->identity);
    sram->limit = limit;
    sram->end = sram->committed = (sizeof(*sram) + GROWTH - 1) / GROWTH * GROWTH;
    sram->layout = MYR_SRAM_LAYOUT;
    sram->magic = MYR_SRAM_MAGIC;
    return MYR_OK;
}

static enum myr_status map(struct myr_segment *segment, size_t bytes, struct myr_error *error)
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

static enum myr_status create(struct myr_segment *segment, uint32_t limit, struct myr_error *error)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    segment->fd = memfd_create("nicbarr", flags | MFD_NOEXEC_SEAL);
    if (segment->fd < 0 && EINVAL == errno) { /* a kernel before 6.3 */
        segment->fd = memfd_create("nicbarr", flags);
    }
    if (segment->fd < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot create shared memory (memfd)");
    }
    if (ftruncate(segment->fd, limit) < 0 || fcntl(segment->fd, F_ADD_SEALS, SEALS) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot size shared memory (memfd)");
    }
    const enum myr_status status = map(segment, limit, error);
    return MYR_OK == status ? initialise(segment, limit, error) : status;
}

/* Map the descriptor, and make sure that it is one of our segments. */
static enum myr_status map_ours(struct myr_segment *segment, struct myr_error *error)
{
    struct stat about;
    const int seals = fcntl(segment->fd, F_GET_SEALS);
    if (seals < 0 || SEALS != (seals & SEALS) || fstat(segment->fd, &about) < 0 ||
        about.st_size < (off_t)sizeof(struct myr_sram) || about.st_size > LIMIT_MOST) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "that is no memory of nicbarr's");
    }
    const enum myr_status status = map(segment, (size_t)about.st_size, error);
    if (MYR_OK != status) {
        return status;
    }
    if (MYR_SRAM_MAGIC != segment->sram->magic || MYR_SRAM_LAYOUT != segment->sram->layout) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "the node's shared memory is of another version of nicbarr");
    }
    return MYR_OK;
}

/* What tells a link from any other that ever was: which it is, and when it was made. The segment
 * knows it of its own: a folder that an earlier job has left may have a link that leads to another
 * job's segment today, where process and descriptor happen to have the same numbers. */
struct mark {
    uint64_t word[2];
};

static bool mark_of(const char *link, struct mark *mark)
{
    struct stat about;
    if (lstat(link, &about) < 0) {
        return false;
    }
    const uint64_t seconds = (uint64_t)about.st_ctim.tv_sec;
    *mark = (struct mark){
        {about.st_ino, seconds * 1000000000 + (uint64_t)about.st_ctim.tv_nsec},
    };
    return true;
}

static bool marked(const struct myr_segment *segment, const char *link)
{
    struct mark mark;
    return mark_of(link, &mark) &&
           0 == memcmp(mark.word, segment->sram->link, sizeof(segment->sram->link));
}

/* Open what the link leads to. */
static enum myr_status attach(struct myr_segment *segment, const char *link,
                              struct myr_error *error)
{
    segment->fd = open(link, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    /* A folder that an earlier job has left may have a link to a process that is another one today:
     * that number is a socket by now (ENXIO), or what nobody may open for writing (EACCES). Where
     * it is one of this job, but keeps others out, each makes a segment, and the modex tells. */
    if (segment->fd < 0 &&
        (ENOENT == errno || EISDIR == errno || ENXIO == errno || EACCES == errno)) {
        return MYR_ERR_NOT_THERE; /* nobody was here yet, or all who were have ended */
    }
    if (segment->fd < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot open the node's shared memory of another process (%s)", link);
    }
    /* It may be something else: who made the link has left or was killed, and that descriptor's
     * number is something else by now; or it is in another container: then each makes a segment,
     * and the modex tells. */
    const enum myr_status status = map_ours(segment, error);
    return MYR_OK == status && !marked(segment, link) ? MYR_ERR_NOT_THERE : status;
}

static void discard(struct myr_segment *segment)
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

/* Have the link lead to this process's descriptor, under the name that /proc has for it. */
static bool make_link(struct myr_segment *segment, const char *link)
{
    char self[32], target[64];
    const ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = '\0';
    snprintf(target, sizeof(target), "/proc/%s/fd/%d", self, segment->fd);
    struct mark mark;
    if ((unlink(link) < 0 && ENOENT != errno) || symlink(target, link) < 0 ||
        !mark_of(link, &mark)) {
        return false;
    }
    memcpy(segment->sram->link, mark.word, sizeof(segment->sram->link));
    segment->linked = true;
    return true;
}

/* Find or create the segment; the folder's lock makes one process at a time do this. */
static enum myr_status meet(struct myr_segment *segment, const char *folder, uint32_t limit,
                            struct myr_error *error)
{
    char link[PATH_MAX];
    if (snprintf(link, sizeof(link), "%s/nicbarr.%u", folder, (unsigned)getuid()) >=
        (int)sizeof(link)) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "session folder %s", folder);
    }
    const int door = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (door < 0 || flock(door, LOCK_EX) < 0) {
        const enum myr_status status =
            myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot lock the session folder %s", folder);
        if (door >= 0) {
            close(door);
        }
        return status;
    }
    enum myr_status status = attach(segment, link, error);
    if (MYR_ERR_NOT_THERE == status) {
        discard(segment);
        status = create(segment, limit, error);
        if (MYR_OK == status && !make_link(segment, link)) {
            status = myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot create %s", link);
        }
    }
    close(door); /* and unlock */
    return status;
}

static void read_processors(uint64_t processors[MYR_PROCESSORS / 64])
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        CPU_SET(0, &set);
    }
    memset(processors, 0, MYR_PROCESSORS / 8);
    for (int p = 0; p < MYR_PROCESSORS && p < CPU_SETSIZE; ++p) {
        if (CPU_ISSET(p, &set)) {
            processors[p / 64] |= UINT64_C(1) << (p % 64);
        }
    }
}

static uint32_t lowest(const uint64_t processors[MYR_PROCESSORS / 64])
{
    for (uint32_t i = 0; i < MYR_PROCESSORS / 64; ++i) {
        if (0 != processors[i]) {
            return 64 * i + (uint32_t)__builtin_ctzll(processors[i]);
        }
    }
    return 0;
}

/* Find the entry that this process has already, else a free one, else the first that was never
 * taken. Locked. */
static uint32_t find_entry(const struct myr_sram *sram, uint32_t pid, uint64_t began)
{
    uint32_t found = sram->processes;
    for (uint32_t i = sram->processes; i > 0; --i) {
        const struct myr_sram_process *process = &sram->process[i - 1];
        if (0 == myr_observe(&process->attached)) {
            found = i - 1;
        } else if (pid == myr_glance(&process->pid) && began == atomic_load(&process->began)) {
            return i - 1;
        }
    }
    return found;
}

/* One more use of the entry. */
static uint32_t next_number(uint32_t last, uint32_t index)
{
    const uint32_t use = last / MYR_PROCESSES + 1;
    return (use < USES ? use : 1) * MYR_PROCESSES + index;
}

/* Take an entry in the table of processes, or share the one that another copy of this library has
 * taken in the same process: each of our components has a copy of its own. */
static enum myr_status enter(struct myr_segment *segment, struct myr_error *error)
{
    struct myr_sram *sram = segment->sram;
    const uint32_t pid = (uint32_t)getpid();
    const uint64_t began = myr_process_began();
    lock(segment);
    const uint32_t index = find_entry(sram, pid, began);
    if (MYR_PROCESSES == index) {
        unlock(segment);
        return myr_fail(error, MYR_ERR_FULL, 0, "more than %d processes on this node",
                        (int)MYR_PROCESSES);
    }
    struct myr_sram_process *process = &sram->process[index];
    if (index == sram->processes) {
        if (!commit(segment, offsetof(struct myr_sram, process[index]), sizeof(*process))) {
            unlock(segment);
            return myr_fail(error, MYR_ERR_FULL, errno, "no memory for the node's shared segment");
        }
        ++sram->processes;
    }
    const bool first = 0 == myr_observe(&process->attached);
    if (first) {
        myr_publish(&process->pid, pid);
        atomic_store(&process->began, began);
        read_processors(process->processors);
        process->home = lowest(process->processors);
        process->linked = segment->linked ? (uint32_t)segment->fd + 1 : 0; /* by the maker: first */
        myr_publish(&process->number, next_number(myr_glance(&process->number), index));
    }
    myr_count(&process->attached);
    segment->index = index;
    segment->number = myr_glance(&process->number);
    unlock(segment);
    if (first) {
        myr_count(&sram->population);
    }
    return MYR_OK;
}

static struct myr_segment *begin(int fd, struct myr_error *error)
{
    struct myr_segment *joining = calloc(1, sizeof(*joining));
    if (NULL == joining) {
        (void)myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        return NULL;
    }
    joining->fd = fd;
    return joining;
}

/* The last step, or away with what there is. */
static enum myr_status finish(struct myr_segment *joining, enum myr_status status,
                              struct myr_segment **segment, struct myr_error *error)
{
    if (MYR_OK == status) {
        status = enter(joining, error);
    }
    if (MYR_OK != status) {
        discard(joining);
        free(joining);
        return status;
    }
    *segment = joining;
    return MYR_OK;
}

enum myr_status myr_segment_join(const char *folder, uint32_t limit, struct myr_segment **segment,
                                 struct myr_error *error)
{
    struct myr_segment *joining = begin(-1, error);
    if (NULL == joining) {
        return MYR_ERR_OUT_OF_MEMORY;
    }
    if (limit > LIMIT_MOST) {
        limit = LIMIT_MOST;
    }
    const uint32_t least = (uint32_t)sizeof(struct myr_sram) + GROWTH + GROWTH;
    if (limit < least) {
        limit = least;
    }
    const enum myr_status status =
        NULL == folder ? create(joining, limit, error) : meet(joining, folder, limit, error);
    return finish(joining, status, segment, error);
}

enum myr_status myr_segment_join_fd(int fd, struct myr_segment **segment, struct myr_error *error)
{
    struct myr_segment *joining = begin(fd, error);
    if (NULL == joining) {
        close(fd);
        return MYR_ERR_OUT_OF_MEMORY;
    }
    return finish(joining, map_ours(joining, error), segment, error);
}

void myr_segment_leave(struct myr_segment *segment)
{
    struct myr_sram_process *process = &segment->sram->process[segment->index];
    const int linked = (int)process->linked - 1;
    if (linked == segment->fd) {
        segment->fd = -1; /* the link leads there as long as any part of this process is in */
    }
    if (1 == atomic_fetch_sub(&process->attached, 1)) {
        myr_count(&segment->sram->population);
        if (linked >= 0) {
            close(linked);
        }
    }
    discard(segment);
    free(segment);
}

void myr_segment_bury(struct myr_segment *segment, uint32_t pid)
{
    struct myr_sram *sram = segment->sram;
    lock(segment);
    for (uint32_t i = 0; i < sram->processes; ++i) {
        if (pid == myr_glance(&sram->process[i].pid)) {
            myr_publish(&sram->process[i].attached, 0);
        }
    }
    unlock(segment);
    myr_count(&sram->population);
}

int myr_segment_fd(const struct myr_segment *segment)
{
    return segment->fd;
}

/* ---- who runs where ---- */

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

uint32_t myr_segment_index(const struct myr_segment *segment)
{
    return segment->index;
}

uint32_t myr_segment_number(const struct myr_segment *segment)
{
    return segment->number;
}

uint32_t myr_segment_number_of(struct myr_segment *segment, uint32_t pid)
{
    uint32_t number = 0;
    lock(segment);
    for (uint32_t i = 0; i < segment->sram->processes; ++i) {
        const struct myr_sram_process *process = &segment->sram->process[i];
        if (0 != myr_observe(&process->attached) && pid == myr_glance(&process->pid)) {
            number = myr_glance(&process->number);
        }
    }
    unlock(segment);
    return number;
}

/* The entry that has this number; NULL: none has it any more. */
static const struct myr_sram_process *entry_of(const struct myr_segment *segment, uint32_t number)
{
    const struct myr_sram_process *process = &segment->sram->process[number % MYR_PROCESSES];
    return number == myr_observe(&process->number) && 0 != myr_observe(&process->attached) ? process
                                                                                           : NULL;
}

uint32_t myr_segment_pid_of(const struct myr_segment *segment, uint32_t number)
{
    const struct myr_sram_process *process = entry_of(segment, number);
    return NULL == process ? 0 : myr_glance(&process->pid);
}

/* (An entry changes hands only when who had it is gone: who reads half of each process there is
 * wrong about a dead one, once.) */
bool myr_segment_gone(const struct myr_segment *segment, uint32_t number, bool thoroughly)
{
    const struct myr_sram_process *process = entry_of(segment, number);
    const struct myr_sram_process *self = &segment->sram->process[segment->index];
    /* Who cannot tell when it has begun itself cannot tell of others either. */
    return NULL == process ||
           myr_process_ended(myr_glance(&process->pid), atomic_load(&process->began),
                             thoroughly && 0 != atomic_load(&self->began));
}

uint32_t myr_segment_home(const struct myr_segment *segment, uint32_t index)
{
    return segment->sram->process[index].home;
}

size_t myr_segment_bytes(const struct myr_segment *segment)
{
    struct stat about;
    return fstat(segment->fd, &about) < 0 ? 0 : (size_t)about.st_blocks * 512;
}

const myr_word *myr_segment_population(const struct myr_segment *segment)
{
    return &segment->sram->population;
}

/*
 * Count the processes that may run nowhere else than on `within`, and all of them, with the
 * processors that these have. The others' sets are read as they are: who reads one that is being
 * changed decides by a mixture, once, and again when its owner has bumped the population.
 */
struct census {
    uint32_t processes, processors; /* of the whole node */
    uint32_t rivals, own;           /* of the processors in `within` */
};

static struct census take_census(const struct myr_segment *segment,
                                 const uint64_t within[MYR_PROCESSORS / 64])
{
    struct census census = {0};
    uint64_t all[MYR_PROCESSORS / 64] = {0};
    for (uint32_t i = 0; i < segment->sram->processes; ++i) {
        const struct myr_sram_process *process = &segment->sram->process[i];
        if (0 == myr_observe(&process->attached)) {
            continue;
        }
        bool inside = true;
        for (int w = 0; w < MYR_PROCESSORS / 64; ++w) {
            all[w] |= process->processors[w];
            inside = inside && 0 == (process->processors[w] & ~within[w]);
        }
        ++census.processes;
        census.rivals += inside;
    }
    for (int w = 0; w < MYR_PROCESSORS / 64; ++w) {
        census.processors += (uint32_t)__builtin_popcountll(all[w]);
        census.own += (uint32_t)__builtin_popcountll(within[w]);
    }
    return census;
}

bool myr_segment_oversubscribed(struct myr_segment *segment)
{
    uint64_t processors[MYR_PROCESSORS / 64];
    struct myr_sram_process *self = &segment->sram->process[segment->index];
    read_processors(processors);
    if (0 != memcmp(processors, self->processors, sizeof(processors))) {
        memcpy(self->processors, processors, sizeof(processors));
        myr_count(&segment->sram->population);
    }
    const struct census census = take_census(segment, processors);
    return census.processes > census.processors || census.rivals > census.own;
}

uint32_t myr_segment_processors(const struct myr_segment *segment)
{
    return take_census(segment, segment->sram->process[segment->index].processors).processors;
}

/* ---- records ---- */

uint32_t myr_record_bucket(const struct myr_key *key)
{
    uint64_t h = key->scope;
    h = (h ^ key->id) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32) ^ key->members) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32) ^ key->sequence) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 40) % MYR_BUCKETS;
}

struct myr_record *myr_record_join(struct myr_segment *segment, const struct myr_key *key,
                                   uint32_t members, size_t bytes, uint64_t note,
                                   struct myr_error *error)
{
    struct myr_sram *sram = segment->sram;
    const uint64_t wanted[4] = {key->scope, key->id, key->members, key->sequence};
    const uint32_t bucket = myr_record_bucket(key);
    const char *trouble = NULL;
    struct myr_record *record = NULL;

    lock(segment);
    for (uint32_t o = sram->bucket[bucket]; 0 != o; o = at(segment, o)->next) {
        if (0 == memcmp(at(segment, o)->key, wanted, sizeof(wanted))) {
            record = at(segment, o);
            break;
        }
    }
    if (NULL == record && !sram->full) {
        const uint32_t block_class =
            bytes < sram->limit ? class_for(sizeof(*record) + bytes) : MYR_BLOCK_CLASSES;
        const uint32_t offset =
            block_class < MYR_BLOCK_CLASSES ? take_block(segment, block_class) : 0;
        if (0 != offset) {
            record = at(segment, offset);
            memset(record, 0, block_bytes(block_class));
            memcpy(record->key, wanted, sizeof(wanted));
            record->block_class = block_class;
            record->members = members;
            record->note = note;
            record->next = sram->bucket[bucket];
            sram->bucket[bucket] = offset;
        } else {
            sram->full = 1;
        }
    }
    if (NULL == record) {
        trouble = "the node's shared memory is used up (coll_nicbarr_memory, or the system's)";
    }
    unlock(segment);
    if (NULL != trouble) {
        (void)myr_fail(error, MYR_ERR_FULL, 0, "%s", trouble);
    }
    return record;
}

void myr_record_leave(struct myr_segment *segment, struct myr_record *record)
{
    struct myr_sram *sram = segment->sram;
    lock(segment);
    if (++record->left == record->members) {
        const struct myr_key key = {record->key[0], record->key[1], record->key[2], record->key[3]};
        uint32_t *link = &sram->bucket[myr_record_bucket(&key)];
        const uint32_t offset = offset_of(segment, record);
        while (0 != *link && offset != *link) {
            link = &at(segment, *link)->next;
        }
        if (offset == *link) {
            *link = record->next;
            give_block(segment, offset, record->block_class);
        }
    }
    unlock(segment);
}

size_t myr_record_bytes(const struct myr_record *record)
{
    return block_bytes(record->block_class) - sizeof(*record);
}

/* ---- other memory ---- */

/* In front of memory that is no record; `next` is where a free block has it. */
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

/* Take a block, if need be from a larger free one, whose rest becomes free blocks. */
static uint32_t take_or_split(struct myr_segment *segment, uint32_t block_class)
{
    uint32_t offset = take_block(segment, block_class), larger = block_class;
    while (0 == offset && ++larger < MYR_BLOCK_CLASSES) {
        offset = segment->sram->free_block[larger];
    }
    if (larger != block_class && 0 != offset) {
        segment->sram->free_block[larger] = at(segment, offset)->next;
        while (larger-- > block_class) {
            give_block(segment, offset + (uint32_t)block_bytes(larger), larger);
        }
    }
    return offset;
}

void *myr_segment_alloc(struct myr_segment *segment, size_t bytes)
{
    if (bytes >= segment->sram->limit) {
        return NULL;
    }
    const uint32_t block_class = class_for(sizeof(struct front) + bytes);
    uint32_t offset = 0;
    lock(segment);
    if (!segment->sram->full && block_class < MYR_BLOCK_CLASSES) {
        offset = take_or_split(segment, block_class);
    }
    unlock(segment);
    if (0 == offset) {
        return NULL;
    }
    struct front *front = (struct front *)at(segment, offset);
    front->block_class = block_class;
    front->links = (struct myr_links){0, 0};
    return front->memory;
}

void myr_segment_free(struct myr_segment *segment, void *memory)
{
    if (NULL != memory) {
        const struct front *front = front_of(memory);
        lock(segment);
        give_block(segment, offset_of(segment, (const struct myr_record *)front),
                   front->block_class);
        unlock(segment);
    }
}

struct myr_links *myr_segment_links(void *memory)
{
    return &front_of(memory)->links;
}

/* ---- for who looks at all ---- */

void myr_records_each(struct myr_segment *segment, myr_record_fn each, void *context)
{
    lock(segment);
    for (uint32_t b = 0; b < MYR_BUCKETS; ++b) {
        for (uint32_t o = segment->sram->bucket[b]; 0 != o; o = at(segment, o)->next) {
            each(at(segment, o), context);
        }
    }
    unlock(segment);
}

/* ---- notes ---- */

/* Where the note with `key` is, else where one can be put; MYR_NOTES when there is no room. Locked.
 */
static uint32_t find_note(const struct myr_sram *sram, uint64_t key)
{
    uint32_t i = 0;
    while (i < MYR_NOTES && 0 != sram->note[i].key && key != sram->note[i].key) {
        ++i;
    }
    return i;
}

static void set_note(struct myr_sram *sram, uint32_t place, uint64_t key, uint64_t value)
{
    if (place < MYR_NOTES) {
        sram->note[place].key = key;
        sram->note[place].value = value;
    }
}

void myr_note_set(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    lock(segment);
    set_note(segment->sram, find_note(segment->sram, key), key, value);
    unlock(segment);
}

bool myr_note_add(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    lock(segment);
    const uint32_t place = find_note(segment->sram, key);
    const bool first = place < MYR_NOTES && 0 == segment->sram->note[place].key;
    if (first) {
        set_note(segment->sram, place, key, value);
    }
    unlock(segment);
    return first;
}

uint64_t myr_note_get(struct myr_segment *segment, uint64_t key)
{
    lock(segment);
    const uint32_t place = find_note(segment->sram, key);
    const uint64_t value = place < MYR_NOTES ? segment->sram->note[place].value : 0;
    unlock(segment);
    return value;
}
