/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the segments in which processes of a node share memory. A failure means that they do not
 * find each other, corrupt each other's memory, or hang after another process was killed.
 *
 * Invariants:
 *
 * - All processes that use the same directory at the same time share one segment, and each has a
 *   unique number.
 * - A marker file that does not point to a segment of this directory is replaced. A segment of
 *   another version is rejected with an error message.
 * - A record is the same for all processes that use the same key; the last one that leaves it frees
 *   it, and it is reused.
 * - Once the creation of a record has failed, all later ones fail, too.
 * - A process killed at any time does not block the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/node/segment_inside.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { LIMIT = 1 << 20, SMALL = 0 /* the minimum */ };

static char the_sign[300];

static int make_dir(void **state)
{
    (void)crew_dir_begin(state);
    struct stat numbers, clock;
    if (0 != stat("/proc/self/ns/pid", &numbers) || 0 != stat("/proc/self/ns/time", &clock)) {
        return -1;
    }
    snprintf(the_sign, sizeof(the_sign), "%s/nicbarr.%u.%lu.%lu", crew_dir, (unsigned)getuid(),
             (unsigned long)numbers.st_ino, (unsigned long)clock.st_ino);
    return 0;
}

/* Join as this process, which has one entry in the table, however often it joins. */
static struct myr_segment *join_self(const char *where, uint32_t limit)
{
    struct myr_segment *segment = NULL;
    struct myr_error error = {0};
    if (MYR_OK != myr_segment_join(where, limit, &segment, &error)) {
        crew_pretend_no_more();
        fail_msg("%s", error.text);
    }
    return segment;
}

/* Join as if from another process. */
static struct myr_segment *join(const char *where, uint32_t limit)
{
    crew_pretend_another();
    struct myr_segment *segment = join_self(where, limit);
    crew_pretend_no_more();
    return segment;
}

static struct myr_segment *join_in_crew(uint32_t limit)
{
    struct myr_segment *segment = NULL;
    struct myr_error error = {0};
    CREW_CHECK(MYR_OK == myr_segment_join(crew_dir, limit, &segment, &error), "%s", error.text);
    return segment;
}

static struct myr_record *record_of(struct myr_segment *segment, uint64_t id, uint32_t members,
                                    size_t bytes)
{
    const struct myr_key key = {1, id, 3, 4};
    return myr_record_join(segment, &key, members, bytes, id, NULL);
}

/* ---- simulated system calls ----
 *
 * These functions replace system calls, so that tests can simulate lack of memory, and other
 * CPUs. */

static int64_t memory_left = -1;   /* bytes that fallocate() still grants; -1: unlimited */
static uint32_t interruptions;     /* number of calls of fallocate() to interrupt */
static const cpu_set_t *pretended; /* result of sched_getaffinity(); NULL: the real one */

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (interruptions > 0) {
        --interruptions;
        errno = EINTR;
        return -1;
    }
    if (memory_left >= 0 && bytes > memory_left) {
        errno = ENOSPC;
        return -1;
    }
    memory_left -= memory_left >= 0 ? bytes : 0;
#if 4 == __SIZEOF_LONG__ /* two words each */
    return (int)syscall(SYS_fallocate, fd, mode, (long)offset, (long)(offset >> 32), (long)bytes,
                        (long)(bytes >> 32));
#else
    return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
#endif
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    if (NULL != pretended) {
        memcpy(set, pretended, bytes);
        return 0;
    }
    memset(set, 0, bytes);
    return syscall(SYS_sched_getaffinity, pid, bytes, set) < 0 ? -1 : 0;
}

/* ---- joining ---- */

enum { MOST = 100 };

/* A record in which processes meet. */
struct meeting {
    myr_word came;
    myr_word taken[MOST]; /* by index: whether a process has it */
};

/* A process that has found another segment waits there until the watchdog ends it. */
static void join_and_meet(uint32_t rank, void *context)
{
    const uint32_t size = *(const uint32_t *)context;
    uint64_t random = crew_seed() + rank;
    usleep(crew_below(&random, 2000));
    struct myr_segment *segment = join_in_crew(LIMIT);
    const uint32_t index = myr_segment_index(segment);
    struct myr_record *record = record_of(segment, 7, size, sizeof(struct meeting));
    CREW_CHECK(NULL != record && 0 != myr_segment_identity(segment), "no record or identity");
    struct meeting *meeting = (struct meeting *)record->slots;
    CREW_CHECK(index < size && 0 == myr_fetch_add(&meeting->taken[index]),
               "a second process with index %u", index);
    myr_fetch_add(&meeting->came);
    while (size != myr_load_acquire(&meeting->came)) {
        usleep(200);
    }
    myr_record_leave(segment, record);
    myr_segment_leave(segment);
}

#define IN_A_DIR(name) TEST_IN(name, make_dir, crew_dir_end)

IN_A_DIR(many_processes)
{
    static const uint32_t sizes[] = {2, 8, 100};
    crew_seed();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        for (int round = 0; round < 3; ++round) { /* consecutive jobs in the same directory */
            pid_t pids[MOST];
            for (uint32_t r = 0; r < sizes[i]; ++r) {
                pids[r] = crew_fork(join_and_meet, r, (void *)&sizes[i]); /* never a thread */
            }
            for (uint32_t r = 0; r < sizes[i]; ++r) {
                assert_true(crew_join(pids[r]));
            }
        }
    }
}

/* Processes, each with up to three parts (copies of this library), join, leave and are bound to
 * other CPUs at random, and sometimes the marker file is deleted. Some join by a descriptor of
 * another process's segment, whether or not the marker file points to it. A model predicts the
 * segment, entry and number of each part, whether there is a marker file, and which processes are
 * oversubscribed. */

enum { ACTORS = 6, PARTS = 3, NUMBERS = 5000 };

struct entry { /* entry of a process in one segment */
    uint64_t identity;
    uint32_t index, number, home;
    bool shows;
    cpu_set_t published; /* CPUs of the process that the segment knows */
};

struct actor {
    pid_t pid; /* 0: this process; otherwise a PID without a process */
    cpu_set_t processors;
    uint32_t parts;
    struct myr_segment *part[PARTS];
    struct entry *entry[PARTS]; /* by part; parts in the same segment share it */
    struct entry entries[PARTS];
};

static struct {
    struct actor actors[ACTORS];
    uint64_t shown; /* the segment to which the marker file points; 0: no marker file */
    struct entry numbers[NUMBERS]; /* all that were ever assigned */
    uint32_t given;
} model;

static bool model_has(uint64_t identity, uint32_t index)
{
    for (uint32_t a = 0; a < ACTORS; ++a) {
        for (uint32_t p = 0; p < model.actors[a].parts; ++p) {
            const struct entry *entry = model.actors[a].entry[p];
            if (identity == entry->identity && index == entry->index) {
                return true;
            }
        }
    }
    return false;
}

static struct entry *entry_in(struct actor *actor, uint64_t identity)
{
    for (uint32_t p = 0; p < actor->parts; ++p) {
        if (identity == actor->entry[p]->identity) {
            return actor->entry[p];
        }
    }
    return NULL;
}

/* Bind a process to one or several of a few CPUs, which lie in several words of the mask. */
static void bind_to_some(struct actor *actor, uint64_t *random)
{
    static const int processors[] = {0, 1, 63, 64, 500, 1023};
    enum { COUNT = sizeof(processors) / sizeof(processors[0]) };
    const uint32_t several = 1 + crew_below(random, (1 << COUNT) - 1);
    const uint32_t set =
        0 == crew_below(random, 3) ? several : UINT32_C(1) << crew_below(random, COUNT);
    CPU_ZERO(&actor->processors);
    for (int p = 0; p < COUNT; ++p) {
        if (0 != (set >> p & 1)) {
            CPU_SET(processors[p], &actor->processors);
        }
    }
}

static uint32_t lowest(const cpu_set_t *set)
{
    uint32_t p = 0;
    while (!CPU_ISSET(p, set)) {
        ++p;
    }
    return p;
}

/* Returns a segment of another process that this one has not joined, or NULL. */
static struct myr_segment *segment_of_another(struct actor *actor, uint64_t *random)
{
    const struct actor *other = &model.actors[crew_below(random, ACTORS)];
    const uint32_t part = crew_below(random, PARTS);
    return part < other->parts && NULL == entry_in(actor, other->entry[part]->identity)
               ? other->part[part]
               : NULL;
}

/* Join by the directory, or by the descriptor of another process's segment if there is one. */
static void model_join(struct actor *actor, const struct myr_segment *another)
{
    if (actor != model.actors && 0 == actor->parts) {
        crew_pretend_another();
        actor->pid = getpid();
    }
    crew_pretend(actor->pid);
    pretended = &actor->processors;
    struct myr_segment *segment = NULL;
    if (NULL == another) {
        segment = join_self(crew_dir, LIMIT);
    } else {
        const int fd = fcntl(myr_segment_fd(another), F_DUPFD_CLOEXEC, 0);
        assert_int_equal(myr_segment_join_fd(fd, &segment, NULL), MYR_OK); /* it owns `fd` now */
        assert_int_equal(myr_segment_fd(segment), fd);
    }
    crew_pretend(0);
    const struct entry is = {.identity = myr_segment_identity(segment),
                             .index = myr_segment_index(segment),
                             .number = myr_segment_number(segment),
                             .home = lowest(&actor->processors),
                             .shows = NULL == another && 0 == model.shown,
                             .published = actor->processors};
    const uint64_t expected = NULL == another ? model.shown : myr_segment_identity(another);
    assert_int_not_equal(is.identity, 0);
    assert_true(0 == expected || expected == is.identity);
    struct entry *entry = entry_in(actor, is.identity);
    if (NULL == entry) {
        uint32_t least = 0;
        while (model_has(is.identity, least)) {
            ++least;
        }
        assert_int_equal(is.index, least);
        assert_int_not_equal(is.number, 0);
        for (uint32_t n = 0; n < model.given; ++n) { /* numbers are never reused */
            assert_true(is.identity != model.numbers[n].identity ||
                        is.number != model.numbers[n].number);
        }
        model.numbers[model.given++] = is;
        for (entry = actor->entries; 0 != entry->number; ++entry) {
        }
        *entry = is;
    }
    assert_int_equal(is.index, entry->index);
    assert_int_equal(is.number, entry->number);
    actor->part[actor->parts] = segment;
    actor->entry[actor->parts++] = entry;
    model.shown = NULL == another ? is.identity : model.shown;
}

static void model_leave(struct actor *actor, uint32_t p)
{
    struct entry *entry = actor->entry[p];
    crew_pretend(actor->pid);
    myr_segment_leave(actor->part[p]);
    crew_pretend(0);
    --actor->parts;
    actor->part[p] = actor->part[actor->parts];
    actor->entry[p] = actor->entry[actor->parts];
    /* its marker file is deleted, but no other one */
    if (NULL == entry_in(actor, entry->identity)) {
        model.shown = entry->shows && model.shown == entry->identity ? 0 : model.shown;
        *entry = (struct entry){0};
    }
}

/* Compare each process's view of the other processes with the model. */
static void compare_with_model(void)
{
    assert_int_equal(access(the_sign, F_OK), 0 != model.shown ? 0 : -1);
    for (uint32_t a = 0; a < ACTORS; ++a) {
        for (uint32_t p = 0; p < model.actors[a].parts; ++p) {
            struct myr_segment *segment = model.actors[a].part[p];
            const uint64_t identity = myr_segment_identity(segment);
            for (uint32_t b = 0; b < ACTORS; ++b) {
                struct actor *other = &model.actors[b];
                const struct entry *entry = entry_in(other, identity);
                const uint32_t pid = (uint32_t)(0 == other->pid ? getpid() : other->pid);
                assert_int_equal(myr_segment_number_of(segment, pid),
                                 NULL == entry ? 0 : entry->number);
                assert_int_equal(myr_segment_ended(segment, pid, false), 0 != other->pid);
                if (NULL != entry) {
                    assert_int_equal(myr_segment_ended(segment, pid, true), 0 != other->pid);
                    assert_int_equal(myr_segment_pid_of(segment, entry->number), pid);
                    assert_int_equal(myr_segment_gone(segment, entry->number, 0 == other->pid),
                                     0 != other->pid);
                    assert_int_equal(myr_segment_home(segment, entry->number), entry->home);
                }
            }
        }
    }
}

/* Check a process's view of the CPUs, which it may just have been bound to. */
static void compare_processors(struct actor *actor, struct myr_segment *segment)
{
    const uint64_t identity = myr_segment_identity(segment);
    struct entry *self = entry_in(actor, identity);
    const bool bound = !CPU_EQUAL(&actor->processors, &self->published);
    const uint32_t before = myr_load_acquire(myr_segment_population(segment));
    uint32_t processes = 0, rivals = 0;
    cpu_set_t all;
    CPU_ZERO(&all);
    self->published = actor->processors;
    for (uint32_t a = 0; a < ACTORS; ++a) {
        const struct entry *entry = entry_in(&model.actors[a], identity);
        if (NULL != entry) {
            cpu_set_t both;
            CPU_OR(&all, &all, &entry->published);
            CPU_AND(&both, &entry->published, &self->published);
            ++processes;
            rivals += 0 != CPU_EQUAL(&both, &entry->published);
        }
    }
    pretended = &actor->processors;
    assert_int_equal(myr_segment_oversubscribed(segment),
                     processes > (uint32_t)CPU_COUNT(&all) ||
                         rivals > (uint32_t)CPU_COUNT(&self->published));
    assert_int_equal(before != myr_load_acquire(myr_segment_population(segment)), bound);
    assert_int_equal(myr_segment_processors(segment), CPU_COUNT(&all));
}

static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

IN_A_DIR(processes_join_and_leave)
{
    uint64_t random = crew_seed();
    const uint32_t before = crew_descriptors();
    const rlim_t mapped = address_space();
    memset(&model, 0, sizeof(model));
    for (uint32_t a = 0; a < ACTORS; ++a) {
        model.actors[a].pid = 0 == a ? 0 : INT_MAX; /* no process yet */
        bind_to_some(&model.actors[a], &random);
    }
    for (uint32_t step = 0; step < NUMBERS; ++step) {
        struct actor *actor = &model.actors[crew_below(&random, ACTORS)];
        const uint32_t parts = actor->parts, which = crew_below(&random, PARTS);
        struct myr_segment *stays = model.actors[0].parts > 0 ? model.actors[0].part[0] : NULL;
        const uint64_t identity = NULL == stays ? 0 : myr_segment_identity(stays);
        const uint32_t seen = NULL == stays ? 0 : myr_load_acquire(myr_segment_population(stays));
        const bool was = NULL != entry_in(actor, identity);
        if (0 == crew_below(&random, 20) && 0 != model.shown) {
            assert_int_equal(unlink(the_sign), 0);
            model.shown = 0;
        } else if (which < parts) {
            model_leave(actor, which);
        } else if (parts < PARTS) {
            model_join(actor, segment_of_another(actor, &random));
        }
        compare_with_model();
        if (NULL != stays && model.actors[0].parts > 0 && stays == model.actors[0].part[0]) {
            /* The word changes when a process joins, or has left with all its parts. */
            assert_int_equal(seen != myr_load_acquire(myr_segment_population(stays)),
                             was != (NULL != entry_in(actor, identity)));
        }
        if (0 == crew_below(&random, 4)) {
            bind_to_some(actor, &random);
        }
        for (uint32_t p = 0; p < actor->parts; ++p) {
            compare_processors(actor, actor->part[p]);
        }
    }
    struct actor *self = model.actors;
    if (0 == self->parts) {
        model_join(self, NULL);
    }
    for (uint32_t a = 1; a < ACTORS; ++a) {
        while (model.actors[a].parts > 0) {
            model_leave(&model.actors[a], 0);
        }
    }
    /* the others have left, which the segment has detected */
    for (uint32_t n = 0; n < model.given; ++n) {
        const struct entry *given = &model.numbers[n];
        for (uint32_t p = 0; p < self->parts; ++p) {
            if (given->identity == self->entry[p]->identity &&
                given->number != self->entry[p]->number) {
                assert_int_equal(myr_segment_pid_of(self->part[p], given->number), 0);
                assert_true(myr_segment_gone(self->part[p], given->number, false));
            }
        }
    }
    while (self->parts > 0) {
        model_leave(self, 0);
    }
    pretended = NULL;
    assert_int_equal(crew_descriptors(), before);
    assert_true(address_space() < mapped + (rlim_t)NUMBERS / 10 * LIMIT); /* all were unmapped */
    assert_true(0 == model.shown && access(the_sign, F_OK) < 0);
}

IN_A_DIR(by_a_bad_descriptor)
{
    struct myr_segment *none = NULL;
    struct myr_error error = {0};
    const int memory = memfd_create("other", MFD_CLOEXEC), file = open("/dev/null", O_RDWR);
    assert_int_equal(ftruncate(memory, 1 << 20), 0);
    assert_int_equal(myr_segment_join_fd(memory, &none, &error), MYR_ERR_NOT_THERE);
    assert_non_null(strstr(error.text, "not shared memory of nicbarr"));
    assert_int_equal(fcntl(memory, F_GETFD), -1); /* closed */
    assert_int_equal(myr_segment_join_fd(file, &none, &error), MYR_ERR_NOT_THERE);
    assert_null(none);
}

/* Reaping a dead process by PID frees its entry. */
IN_A_DIR(reaped)
{
    struct myr_segment *one = join(crew_dir, LIMIT), *dead = join_self(crew_dir, LIMIT);
    const uint32_t index = myr_segment_index(dead);
    const uint32_t before = myr_load_acquire(myr_segment_population(one));
    myr_segment_reap(one, (uint32_t)getpid() + 100000); /* no process */
    struct myr_segment *next = join(crew_dir, LIMIT);
    assert_int_not_equal(myr_segment_index(next), index);
    myr_segment_leave(next);
    myr_segment_reap(one, (uint32_t)getpid());
    assert_int_not_equal(myr_load_acquire(myr_segment_population(one)), before);
    next = join(crew_dir, LIMIT);
    assert_int_equal(myr_segment_index(next), index);
    myr_segment_leave(next);
    myr_segment_leave(one);
    (void)dead; /* its process counts as dead */
}

static rlim_t limit_of(int resource)
{
    struct rlimit limits;
    getrlimit(resource, &limits);
    return limits.rlim_cur;
}

/* Change a resource's soft limit. Returns false if that is not permitted. */
static bool limit(int resource, rlim_t most)
{
    struct rlimit limits;
    getrlimit(resource, &limits);
    limits.rlim_cur = most;
    return 0 == setrlimit(resource, &limits);
}

IN_A_DIR(too_many_processes)
{
    static struct myr_segment *segments[MYR_PROCESSES], *more;
    struct myr_error error = {0};
    if (limit_of(RLIMIT_NOFILE) < MYR_PROCESSES + 100 &&
        !limit(RLIMIT_NOFILE, MYR_PROCESSES + 100)) {
        skip();
    }
    for (int i = 0; i < MYR_PROCESSES; ++i) {
        segments[i] = join(crew_dir, SMALL);
    }
    assert_int_equal(myr_segment_join(crew_dir, SMALL, &more, &error), MYR_ERR_FULL);
    assert_non_null(strstr(error.text, "1024"));
    myr_segment_leave(segments[700]);
    segments[700] = join(crew_dir, SMALL);
    assert_int_equal(myr_segment_index(segments[700]), 700);
    for (int i = 0; i < MYR_PROCESSES; ++i) {
        myr_segment_leave(segments[i]);
    }
}

/* The limit is the creator's, and is clamped to sensible values. */
IN_A_DIR(limits)
{
    static const uint32_t asked[] = {0, 1, 4096, 1 << 20, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); ++i) {
        struct myr_segment *segment = join(crew_dir, asked[i]);
        struct stat about;
        assert_int_equal(fstat(myr_segment_fd(segment), &about), 0);
        assert_true(about.st_size <= 1 << 30);
        assert_true(about.st_size >= (off_t)sizeof(struct myr_sram));
        assert_non_null(record_of(segment, 1, 1, 1000)); /* a record fits */
        /* It uses memory only for what is allocated, not up to the limit. */
        assert_true(myr_segment_bytes(segment) > 0);
        assert_true(myr_segment_bytes(segment) <= 256 << 10);
        myr_segment_leave(segment);
    }
}

/* The kernel kills a process that exceeds RLIMIT_FSIZE (SIGXFSZ). Therefore a segment is as large
 * as that limit permits, or is not created. Processes with a lower limit can join it, but cannot
 * extend it. */
IN_A_DIR(larger_than_a_file_may_be)
{
    struct myr_segment *segment = join(crew_dir, SMALL), *other = NULL;
    const rlim_t least = myr_segment_size(segment), before = limit_of(RLIMIT_FSIZE);
    struct myr_error error = {0};
    myr_segment_leave(segment);
    limit(RLIMIT_FSIZE, least - 1);
    const enum myr_status refused = myr_segment_join(crew_dir, LIMIT, &segment, &error);
    limit(RLIMIT_FSIZE, LIMIT / 2 + 1);
    segment = join(crew_dir, LIMIT);
    const struct myr_record *record = record_of(segment, 1, 1, 1000);
    limit(RLIMIT_FSIZE, 0);
    other = join(crew_dir, LIMIT);
    const struct myr_record *more = record_of(other, 2, 1, LIMIT / 8);
    limit(RLIMIT_FSIZE, before);
    assert_int_equal(refused, MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "ulimit -f"));
    assert_int_equal(myr_segment_size(segment), LIMIT / 2);
    assert_non_null(record);
    assert_null(more);
    myr_segment_leave(other);
    myr_segment_leave(segment);
}

enum { WHOLE = 64 << 20, TAKEN_MOST = 512 << 10 /* in all, without any blocks */ };

/* The sizes of a segment that is mapped before and after mlockall(); 0 if that is not permitted. */
struct locked {
    size_t bytes[2];
};

static void lock_memory(uint32_t rank, void *context)
{
    struct locked *locked = context;
    (void)rank;
    for (int after = 0; after < 2; ++after) {
        struct myr_segment *segment = NULL;
        if (MYR_OK != myr_segment_join(NULL, WHOLE, &segment, NULL) ||
            (0 == after && mlockall(MCL_CURRENT | MCL_FUTURE) < 0)) {
            return;
        }
        locked->bytes[after] = myr_segment_bytes(segment);
        myr_segment_leave(segment);
    }
}

/* If a program locks its memory, this does not allocate the memory that the segment may take. */
IN_A_DIR(locked_memory)
{
    struct locked *locked = crew_memory(sizeof(*locked));
    assert_true(crew_join(crew_fork(lock_memory, 0, locked)));
    const struct locked found = *locked;
    crew_memory_free(locked, sizeof(*locked));
    assert_true(found.bytes[0] <= TAKEN_MOST);
    assert_true(found.bytes[1] <= TAKEN_MOST);
    if (0 == found.bytes[1]) {
        skip();
    }
}

/* A search for a process does not touch entries of the table that were never used. */
IN_A_DIR(looking_for_no_member)
{
    struct myr_segment *segment = join(crew_dir, LIMIT);
    const size_t before = myr_segment_bytes(segment);
    assert_true(myr_segment_ended(segment, 999999999, true));
    assert_int_equal(myr_segment_bytes(segment), before);
    myr_segment_leave(segment);
}

/* A segment takes a sixteenth of a limited address space, because the program needs the rest. (With
 * a sanitizer, a sixteenth is more than the segment's usual size.) */
IN_A_DIR(in_a_limited_address_space)
{
    enum { USUAL = 8 * LIMIT, ROUNDED = 64 << 10 };
    const rlim_t before = limit_of(RLIMIT_AS), space = address_space() + 4 * (rlim_t)USUAL;
    const rlim_t part = space / 16 / ROUNDED * ROUNDED;
    if (!limit(RLIMIT_AS, space)) {
        skip();
    }
    struct myr_segment *segment = join(crew_dir, USUAL);
    limit(RLIMIT_AS, before);
    assert_int_equal(myr_segment_size(segment), part < USUAL ? part : USUAL);
    myr_segment_leave(segment);
}

/* ---- invalid marker files ---- */

static void expect_refused(const char *where, enum myr_status status, const char *what)
{
    struct myr_segment *segment = NULL;
    struct myr_error error = {0};
    const enum myr_status is = myr_segment_join(where, LIMIT, &segment, &error);
    if (status != is || status != error.status || '\0' == error.text[0] || NULL != segment) {
        fail_msg("%s: status %d instead of %d, \"%s\"", what, (int)is, (int)status, error.text);
    }
    /* An error structure is not necessary. */
    assert_int_equal(myr_segment_join(where, LIMIT, &segment, NULL), status);
}

/* Create a marker file, as an earlier process would have done. */
static void make_sign(const char *target)
{
    assert_int_equal(access(the_sign, F_OK), -1);
    crew_file_write(the_sign, target, strlen(target));
}

static const char *read_sign(void)
{
    static char now[300];
    struct stat about;
    assert_int_equal(lstat(the_sign, &about), 0);
    assert_true(S_ISREG(about.st_mode));
    const int fd = open(the_sign, O_RDONLY);
    const ssize_t length = read(fd, now, sizeof(now) - 1);
    assert_true(length >= 0);
    close(fd);
    now[length] = '\0';
    return now;
}

static void expect_refused_sign(const char *target, enum myr_status status, const char *what)
{
    make_sign(target);
    expect_refused(crew_dir, status, what);
    assert_string_equal(read_sign(), target); /* a foreign marker file is not changed */
    assert_int_equal(unlink(the_sign), 0);
}

/* Check that a process that finds this marker file creates a segment, and a marker file that
 * points to it. */
static void expect_replaced_sign(const char *target, const char *what)
{
    if (NULL != target) {
        make_sign(target);
    }
    struct myr_segment *one = join(crew_dir, LIMIT), *other = join(crew_dir, LIMIT);
    if (myr_segment_identity(one) != myr_segment_identity(other) ||
        0 != strncmp(read_sign(), "/proc/", 6) ||
        (NULL != target && 0 == strcmp(read_sign(), target))) {
        fail_msg("%s: the marker file was not replaced", what);
    }
    myr_segment_leave(one);
    myr_segment_leave(other);
    assert_int_equal(access(the_sign, F_OK), -1); /* deleted when its creator leaves */
}

IN_A_DIR(signs_of_other_files)
{
    char pipe_path[300], file_path[300], socket_path[100];
    const int other = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", crew_dir);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    snprintf(file_path, sizeof(file_path), "%s/file", crew_dir);
    int fd = open(file_path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, LIMIT), 0);
    close(fd);
    snprintf(socket_path, sizeof(socket_path), "/proc/self/fd/%d", other);
    const char *const targets[] = {pipe_path,
                                   file_path,
                                   "/dev/null",
                                   crew_dir,
                                   socket_path,
                                   the_sign,
                                   "/proc/999999999/fd/3",
                                   "/nowhere/at/all",
                                   "/sys/kernel/uevent_seqnum" /* not even by root */};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
        expect_replaced_sign(targets[i], targets[i]);
    }
    close(other);

    /* There are other files in place of the marker file. */
    assert_int_equal(symlink("/proc/self/fd/0", the_sign), 0);
    expect_replaced_sign(NULL, "a symbolic link instead of the marker file");
    assert_int_equal(mkfifo(the_sign, 0600), 0);
    expect_replaced_sign(NULL, "a pipe instead of the marker file");
    fd = open(the_sign, O_RDWR | O_CREAT, 0600);
    expect_replaced_sign(NULL, "an empty marker file of a killed process");
    close(fd);
    assert_int_equal(mkdir(the_sign, 0700), 0);
    expect_refused(crew_dir, MYR_ERR_SYSTEM, "a directory instead of the marker file");
    assert_int_equal(rmdir(the_sign), 0);
}

/* The beginning of a segment. */
struct header {
    uint64_t magic;
    uint32_t layout, limit;
};

/* Check that a memfd of this size, with these seals and this header, is replaced (MYR_OK) or
 * rejected. */
static void expect_of_memfd(size_t bytes, int seals, struct header header, enum myr_status status,
                            const char *what)
{
    char path[100];
    const int fd = memfd_create("nicbarr-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    if (MYR_OK == status) {
        expect_replaced_sign(path, what);
    } else {
        expect_refused_sign(path, status, what);
    }
    close(fd);
}

IN_A_DIR(signs_of_other_memfds)
{
    static const int seals = F_SEAL_SHRINK;
    static const struct header ours = {MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT, LIMIT},
                               another = {MYR_SRAM_MAGIC + 1, MYR_SRAM_LAYOUT, LIMIT},
                               next = {MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT + 1, LIMIT},
                               huge = {MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT, (1 << 30) + 1},
                               short_one = {MYR_SRAM_MAGIC, MYR_SRAM_LAYOUT, LIMIT - 1},
                               nothing = {0, 0, 0};
    expect_of_memfd(LIMIT, 0, ours, MYR_OK, "without seals");
    expect_of_memfd(LIMIT, F_SEAL_GROW, ours, MYR_OK, "may shrink");
    expect_of_memfd(LIMIT, seals | F_SEAL_WRITE, ours, MYR_ERR_SYSTEM, "read only");
    expect_of_memfd(sizeof(struct myr_sram) - 1, seals, ours, MYR_OK, "too short");
    expect_of_memfd((size_t)2 << 30, seals, ours, MYR_OK, "too long");
    expect_of_memfd(LIMIT, seals, nothing, MYR_ERR_FOREIGN, "all zeroes");
    expect_of_memfd(LIMIT, seals, huge, MYR_ERR_FOREIGN, "with a limit that no segment has");
    expect_of_memfd(LIMIT, seals, short_one, MYR_ERR_FOREIGN, "longer than its limit");
    expect_of_memfd(LIMIT, seals, another, MYR_ERR_FOREIGN, "another program's");
    expect_of_memfd(LIMIT, seals, next, MYR_ERR_FOREIGN, "another version's");
    myr_segment_leave(join(crew_dir, LIMIT)); /* works after all these cases */
}

IN_A_DIR(no_dir)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/none", crew_dir);
    expect_refused(path, MYR_ERR_SYSTEM, "no such directory");
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    close(fd);
    expect_refused(path, MYR_ERR_SYSTEM, "a file instead of the directory");
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    expect_refused(path, MYR_ERR_SYSTEM, "a long name");
}

static _Atomic uint32_t *reported; /* the PID in the last report */

/* A waiter that gets the lock later, and is then preempted for long, may be reported as well. */
static void receive_stuck(const char *line)
{
    unsigned pid = 0;
    CREW_CHECK(1 == sscanf(line, "process %u of this node holds the lock", &pid), "%s", line);
    CREW_CHECK(pid != atomic_exchange(reported, pid), "reported twice: %s", line);
}

static void wait_for_lock(uint32_t rank, void *context)
{
    (void)context;
    struct myr_segment *segment = join_in_crew(LIMIT);
    CREW_CHECK(myr_kv_add(segment, 77 + (uint64_t)rank, 1), "no entry");
    myr_segment_leave(segment);
}

/* If a process keeps the segment's lock for long, the others wait, and one reports the holder. */
IN_A_DIR(a_stuck_holder_is_reported)
{
    enum { WAITING = 3 };
    pid_t pids[WAITING];
    const uint32_t usual = myr_lock_naps;
    struct myr_segment *segment = join(crew_dir, LIMIT);
    reported = crew_memory(sizeof(*reported));
    myr_lock_naps = 20;
    myr_segment_print = receive_stuck;
    myr_segment_lock(segment);
    for (uint32_t r = 0; r < WAITING; ++r) {
        pids[r] = crew_fork(wait_for_lock, r, NULL);
    }
    while (0 == atomic_load(reported)) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(reported), getpid());
    myr_segment_unlock(segment);
    for (uint32_t r = 0; r < WAITING; ++r) {
        assert_true(crew_join(pids[r]));
    }
    myr_lock_naps = usual;
    myr_segment_print = NULL;
    myr_segment_leave(segment);
    crew_memory_free(reported, sizeof(*reported));
}

/* Lock the directory, as a process that is stopped may do. */
IN_A_DIR(dir_kept_locked)
{
    struct myr_segment *segment = NULL;
    struct myr_error error = {0};
    const unsigned usual = myr_dir_lock_ms;
    const int door = open(crew_dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(door, LOCK_EX), 0);
    myr_dir_lock_ms = 10;
    assert_int_equal(myr_segment_join(crew_dir, LIMIT, &segment, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "another process keeps it locked"));
    myr_dir_lock_ms = usual;
    close(door);
    segment = join(crew_dir, LIMIT);
    myr_segment_leave(segment);
}

/* An old marker file may point to another job's segment, which does not belong to this
 * directory. */
IN_A_DIR(another_jobs)
{
    char elsewhere[200], path[100];
    crew_dir_make(elsewhere, sizeof(elsewhere));
    struct myr_segment *const theirs[] = {join(elsewhere, LIMIT), join(NULL, LIMIT)};
    for (size_t i = 0; i < 2; ++i) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), myr_segment_fd(theirs[i]));
        expect_replaced_sign(path, "another job's segment");
        /* The other job's processes still find that segment, unless it has no directory. */
        struct myr_segment *more = join(0 == i ? elsewhere : NULL, LIMIT);
        assert_int_equal(myr_segment_identity(more) == myr_segment_identity(theirs[i]), 0 == i);
        myr_segment_leave(more);
    }
    myr_segment_leave(theirs[0]);
    myr_segment_leave(theirs[1]);
    crew_dir_remove(elsewhere);
}

/* Processes in different PID namespaces share no segment, and do not affect each other, even if
 * both have PID 1. */
struct elsewhere {
    uint64_t identity; /* of the segment in this process's namespace */
    bool unable;       /* not permitted to create a namespace */
};

static void join_elsewhere(uint32_t rank, void *context)
{
    struct elsewhere *elsewhere = context;
    (void)rank;
    if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0) {
        elsewhere->unable = true;
        return;
    }
    const pid_t pid = fork();
    if (0 == pid) {
        struct myr_segment *segment = join_in_crew(LIMIT);
        CREW_CHECK(elsewhere->identity != myr_segment_identity(segment), "it is the same segment");
        myr_segment_leave(segment);
        _exit(0);
    }
    int status;
    CREW_CHECK(pid == waitpid(pid, &status, 0) && 0 == status, "status %d", status);
}

IN_A_DIR(other_pid_namespace)
{
    struct elsewhere *elsewhere = crew_memory(sizeof(*elsewhere));
    struct myr_segment *segment = join(crew_dir, LIMIT);
    elsewhere->identity = myr_segment_identity(segment);
    assert_true(crew_join(crew_fork(join_elsewhere, 0, elsewhere)));
    const bool skipped = elsewhere->unable;
    struct myr_segment *late = join(crew_dir, LIMIT);
    assert_true(elsewhere->identity == myr_segment_identity(late));
    myr_segment_leave(late);
    myr_segment_leave(segment);
    crew_memory_free(elsewhere, sizeof(*elsewhere));
    if (skipped) {
        skip();
    }
}

/* ---- records and blocks ---- */

/* Returns the i-th key. The first ones share a bucket, and differ in a single number. */
static struct myr_key key_number(uint32_t i)
{
    const struct myr_key first = {1, 2, 3, 4};
    struct myr_key key = first;
    uint64_t *const numbers[] = {&key.scope, &key.id, &key.members, &key.sequence};
    if (i > 4) {
        return (struct myr_key){0, i, 0, 0};
    }
    do {
        *numbers[i % 4] += i < 4;
    } while (myr_record_bucket(&key) != myr_record_bucket(&first));
    return key;
}

static void add_value(struct myr_record *record, void *sum)
{
    *(uint64_t *)sum += 1 + record->creator_value;
}

static void expect_bytes(const struct myr_record *record, uint8_t value)
{
    const size_t bytes = myr_record_bytes(record);
    for (size_t b = 0; b < bytes; ++b) {
        assert_int_equal(record->slots[b], value);
    }
}

/* There are more records than buckets. Each is the same for all its members, initially zero, and
 * does not overlap others. Freed memory suffices for new ones. */
IN_A_DIR(many_records)
{
    enum { RECORDS = 3000 };
    static const size_t sizes[] = {0, 1, 100, 200, 1000, 3000, 60000};
    static struct myr_record *records[RECORDS];
    struct myr_segment *segment = join(NULL, 64 << 20);
    size_t before = 0;
    for (int round = 0; round < 3; ++round) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < RECORDS; ++i) {
            const struct myr_key key = key_number(i);
            const size_t bytes = sizes[0 == i % 100 ? 6 : i % 6];
            const uint32_t members = 1 + i % 3;
            struct myr_record *record = myr_record_join(segment, &key, members, bytes, i, NULL);
            assert_non_null(record);
            assert_int_equal((uintptr_t)record->slots % MYR_LINE, 0);
            assert_true(myr_record_bytes(record) >= bytes);
            expect_bytes(record, 0);
            assert_int_equal(myr_load_acquire(&record->sleepers), 0);
            memset(record->slots, 1 + (int)i % 255, myr_record_bytes(record));
            record->sleepers = 5;
            records[i] = record;
            for (uint32_t m = 1; m < members; ++m) {
                assert_ptr_equal(myr_record_join(segment, &key, members, bytes, 0, NULL), record);
            }
        }
        myr_records_each(segment, add_value, &sum);
        assert_int_equal(sum, RECORDS * (RECORDS + 1) / 2);
        before = 0 == round ? myr_segment_bytes(segment) : before;
        assert_int_equal(myr_segment_bytes(segment), before);
        for (uint32_t n = 0; n < RECORDS; ++n) {
            const uint32_t i = 7 * n % RECORDS; /* in another order */
            assert_int_equal(records[i]->creator_value, i);
            for (uint32_t m = 0; m < 1 + i % 3; ++m) {
                expect_bytes(records[i], (uint8_t)(1 + i % 255));
                myr_record_leave(segment, records[i]);
            }
        }
    }
    myr_segment_leave(segment);
}

static size_t free_bytes(const struct myr_segment *segment)
{
    size_t bytes = 0;
    for (uint32_t c = 0; c < MYR_BLOCK_CLASSES; ++c) {
        for (uint32_t o = segment->sram->free_block[c]; 0 != o;
             o = myr_block_at(segment, o)->next) {
            bytes += myr_block_bytes(c);
        }
    }
    return bytes;
}

/* Allocations of random size lie within the segment, do not overlap, and none is lost when blocks
 * are split. */
IN_A_DIR(blocks_in_any_order)
{
    enum { BLOCKS = 40, OPERATIONS = 2000 };
    uint64_t random = crew_seed();
    for (int times = 0; times < 10; ++times) {
        struct myr_segment *segment = join(NULL, (1 + crew_below(&random, 8)) * 200000);
        uint8_t *memory[BLOCKS] = {NULL};
        size_t bytes[BLOCKS];
        const size_t unused = segment->sram->end - free_bytes(segment);
        for (uint32_t operation = 0; operation < OPERATIONS; ++operation) {
            const uint32_t b = crew_below(&random, BLOCKS);
            if (NULL == memory[b]) {
                bytes[b] = 1 + crew_below(&random, segment->sram->limit >> crew_below(&random, 16));
                memory[b] = myr_segment_alloc(segment, bytes[b]);
                assert_true(segment->sram->end <= myr_segment_size(segment));
            }
            if (NULL != memory[b] && 0 == operation % 2) {
                memset(memory[b], (int)b + 1, bytes[b]);
            } else if (NULL != memory[b]) {
                memset(memory[b], 0, bytes[b]);
                myr_segment_free(segment, memory[b]);
                memory[b] = NULL;
            }
            for (uint32_t i = 0; i < BLOCKS; ++i) {
                if (NULL != memory[i]) {
                    assert_int_equal(memory[i][0], i + 1);
                    assert_int_equal(memory[i][bytes[i] / 2], i + 1);
                    assert_int_equal(memory[i][bytes[i] - 1], i + 1);
                }
            }
        }
        for (uint32_t b = 0; b < BLOCKS; ++b) {
            myr_segment_free(segment, memory[b]);
        }
        assert_int_equal(segment->sram->end - free_bytes(segment), unused);
        myr_segment_leave(segment);
    }
}

/* ---- lack of memory ---- */

static void expect_none(struct myr_segment *segment, uint64_t id, size_t bytes)
{
    struct myr_error error = {0};
    const struct myr_key key = {1, id, 3, 4};
    assert_null(myr_record_join(segment, &key, 1, bytes, 0, &error));
    assert_int_equal(error.status, MYR_ERR_FULL);
    assert_true('\0' != error.text[0]);
}

/* myr_segment_has_plenty() reserves the last quarter, except for reused memory. */
IN_A_DIR(plenty)
{
    enum { BYTES_IN_ALL = 1 << 20, FIRST = BYTES_IN_ALL / 4 * 3, BYTES = 30000 };
    struct myr_segment *segment = join(NULL, BYTES_IN_ALL);
    struct myr_record *last = NULL;
    uint64_t id = 0;
    assert_false(myr_segment_has_plenty(segment, FIRST));
    assert_false(myr_segment_has_plenty(segment, BYTES_IN_ALL));
    while (myr_segment_has_plenty(segment, BYTES)) {
        last = record_of(segment, ++id, 1, BYTES);
        assert_non_null(last);
        assert_true(id < FIRST / BYTES);
    }
    assert_true(id > FIRST / BYTES / 2);
    assert_non_null(record_of(segment, ++id, 1, BYTES));
    assert_false(myr_segment_has_plenty(segment, BYTES));
    myr_record_leave(segment, last);
    assert_true(myr_segment_has_plenty(segment, BYTES));
    expect_none(segment, ++id, BYTES_IN_ALL);
    assert_false(myr_segment_has_plenty(segment, BYTES)); /* full */
    myr_segment_leave(segment);
}

IN_A_DIR(full)
{
    struct myr_segment *segment = join(crew_dir, SMALL), *other = join(crew_dir, SMALL);
    struct myr_record *records[200];
    uint32_t count = 0;
    assert_non_null(record_of(segment, 999, 1, 1)); /* so that the rest is not a whole block */
    while (count < 200 && NULL != (records[count] = record_of(segment, count, 2, 4000))) {
        memset(records[count]->slots, 0xff, 4000); /* the memory exists */
        ++count;
    }
    assert_in_range(count, 5, 199);
    expect_none(segment, 1000, 4000);
    /* not even a smaller one, because others may have failed already */
    expect_none(segment, 1000, 1);
    expect_none(other, 1001, 1);
    for (uint32_t i = 0; i < count; ++i) { /* existing ones remain valid */
        const struct myr_record *same = record_of(other, i, 2, 4000);
        assert_non_null(same);
        assert_int_equal(same->creator_value, i);
        assert_int_equal(same->slots[3999], 0xff);
    }
    for (uint32_t i = 0; i < count; ++i) {
        myr_record_leave(segment, records[i]);
        myr_record_leave(segment, records[i]);
    }
    expect_none(other, 5, 4000); /* it stays full, although all memory is free */
    struct myr_segment *late = join(crew_dir, SMALL);
    expect_none(late, 5, 1);
    myr_kv_set(late, 1, 2); /* the key-value table still works */
    assert_int_equal(myr_kv_get(other, 1), 2);
    myr_segment_leave(segment);
    myr_segment_leave(other);
    myr_segment_leave(late);
}

/* Sizes beyond any segment, up to those that would overflow. */
IN_A_DIR(too_large)
{
    static const size_t sizes[] = {
        LIMIT,
        (size_t)64 << 20,
        SIZE_MAX / 2,
        SIZE_MAX - 4096,
        SIZE_MAX,
#if SIZE_MAX > UINT32_MAX
        (size_t)1 << 32,
#endif
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        struct myr_segment *segment = join(NULL, LIMIT);
        expect_none(segment, 1, sizes[i]);
        myr_segment_leave(segment);
    }
}

/* If the system lacks memory, the allocation fails, and not a later access (SIGBUS). */
IN_A_DIR(system_out_of_memory)
{
    memory_left = 0;
    expect_refused(crew_dir, MYR_ERR_FULL, "no memory for the header");
    memory_left = offsetof(struct myr_sram, process);
    struct myr_segment *segment = NULL;
    struct myr_error error = {0};
    assert_int_equal(myr_segment_join(crew_dir, LIMIT, &segment, &error), MYR_ERR_FULL);
    assert_non_null(strstr(error.text, strerror(ENOSPC)));

    memory_left = -1;
    interruptions = 3;
    segment = join(crew_dir, LIMIT);
    assert_int_equal(interruptions, 0);
    struct myr_record *record = record_of(segment, 1, 1, 100);
    assert_non_null(record);
    memory_left = 0;
    expect_none(segment, 2, 100000);
    memory_left = -1;
    expect_none(segment, 3, 1); /* another member may have failed */
    assert_ptr_equal(record_of(segment, 1, 1, 100), record);
    myr_segment_leave(segment);
}

/* ---- key-value table, and concurrent use ---- */

static struct myr_segment *shared;

enum { MORE_KEYS = 40 * MYR_KV_CAPACITY, ADDED = 1000 };

static uint64_t value_of(uint64_t key)
{
    return UINT64_MAX - key;
}

/* Many keys have equal low bits, or equal high bits. */
static uint64_t key_of(uint64_t n)
{
    return (2 * n + 1) << n % 49;
}

enum { MEMBERS = 3 };

static void use_segment(uint32_t rank, void *context)
{
    _Atomic uint32_t *firsts = context;
    uint64_t random = crew_seed() + rank;
    /* All members add the first values; each of the others is set by one member. */
    for (uint64_t n = 1; n <= MORE_KEYS; ++n) {
        const uint64_t key = key_of(n);
        if (n <= ADDED) {
            atomic_fetch_add(&firsts[n], myr_kv_add(shared, key, value_of(key)));
        } else if (rank == n % MEMBERS) {
            CREW_CHECK(0 == myr_kv_get(shared, key), "the key already exists");
            CREW_CHECK(myr_kv_set(shared, key, 1) && myr_kv_set(shared, key, value_of(key)),
                       "no memory for the value");
        }
        CREW_CHECK((n > ADDED && rank != n % MEMBERS) || value_of(key) == myr_kv_get(shared, key),
                   "the value was lost");
        /* A record of this member alone. */
        const uint64_t id = 100 * (1 + rank) + crew_below(&random, 50);
        struct myr_record *record = record_of(shared, id, 1, 500);
        CREW_CHECK(NULL != record && id == record->key[1], "no record");
        CREW_CHECK(0 == record->slots[0], "the record is not zero");
        record->slots[0] = 1;
        myr_record_leave(shared, record);
    }
}

/* Records and values are created concurrently, by threads with NICBARR_THREADS=1 or
 * ThreadSanitizer, otherwise by processes forked after joining. Values outlive the process that
 * wrote them, and none is lost. If several processes add the same key, one is the first. */
IN_A_DIR(concurrent_use)
{
    shared = join(crew_dir, LIMIT);
    _Atomic uint32_t *firsts = crew_memory((1 + ADDED) * sizeof(*firsts));
    crew_seed();
    assert_true(crew_run(MEMBERS, use_segment, (void *)firsts));
    for (uint64_t n = 1; n <= MORE_KEYS; ++n) {
        assert_true(value_of(key_of(n)) == myr_kv_get(shared, key_of(n)));
        assert_int_equal(myr_kv_get(shared, key_of(n + MORE_KEYS)), 0); /* uses no memory */
        assert_true(n > ADDED || 1 == atomic_load(&firsts[n]));
    }
    crew_memory_free((void *)firsts, (1 + ADDED) * sizeof(*firsts));
    assert_true(myr_segment_bytes(shared) < LIMIT);
    myr_segment_leave(shared);
}

/* When the memory is used up, values remain and can be changed, but new keys are refused. */
IN_A_DIR(keys_without_memory)
{
    struct myr_segment *segment = join(NULL, LIMIT);
    uint64_t key = 1, first = 0;
    while (key <= MYR_KV_CAPACITY / 2) {
        assert_true(myr_kv_set(segment, key, value_of(key)));
        ++key;
    }
    for (size_t bytes = LIMIT / 2; bytes > 0; bytes /= 2) {
        while (NULL != myr_segment_alloc(segment, bytes)) {
            first += bytes;
        }
    }
    assert_true(first > LIMIT / 4);
    while (myr_kv_set(segment, key, value_of(key))) {
        ++key;
    }
    assert_int_equal(key, MYR_KV_CAPACITY + 1); /* the last quarter is used, too */
    assert_int_equal(myr_kv_get(segment, key), 0);
    for (int time = 0; time < 2; ++time) {
        assert_true(myr_kv_add(segment, key, 1)); /* returns true for a new key */
        assert_false(myr_kv_add(segment, 7, 1));
    }
    assert_true(myr_kv_set(segment, 7, value_of(7)));
    for (uint64_t k = 1; k < key; ++k) {
        assert_true(value_of(k) == myr_kv_get(segment, k));
    }
    myr_segment_leave(segment);
}

/* ---- killed processes ---- */

/* ThreadSanitizer does not support robust locks. */
static void skip_where_threads(void)
{
    if (crew_of_threads()) {
        skip();
    }
}

static void die_with_the_lock(uint32_t rank, void *segment)
{
    (void)rank;
    myr_segment_lock(segment);
    raise(SIGKILL);
}

static void expect_killed(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && SIGKILL == WTERMSIG(status)); /* not by another signal */
}

IN_A_DIR(killed_with_the_lock)
{
    skip_where_threads();
    struct myr_segment *segment = join(crew_dir, LIMIT), *other = join(crew_dir, LIMIT);
    struct myr_record *record = record_of(segment, 1, 2, 100);
    assert_non_null(record);
    for (int round = 0; round < 3; ++round) {
        expect_killed(crew_fork(die_with_the_lock, 0, segment));
        if (0 == round) {
            assert_ptr_not_equal(record_of(other, 1, 2, 100), NULL);
        }
        expect_none(segment, 2, 1); /* the lists may be inconsistent */
        myr_kv_set(segment, 5, 6 + (uint64_t)round);
        assert_int_equal(myr_kv_get(other, 5), 6 + round);
        struct myr_segment *late = join(crew_dir, LIMIT);
        assert_true(myr_segment_identity(late) == myr_segment_identity(segment));
        expect_none(late, 3, 1);
        myr_segment_leave(late);
    }
    myr_record_leave(segment, record);
    myr_record_leave(segment, record);
    myr_segment_leave(segment);
    myr_segment_leave(other);
}

enum { WORKERS = 4, KILLS = 60, JOBS = 6 };

struct arena {
    _Atomic bool over;
    /* number of completed rounds, including those of killed predecessors */
    _Atomic uint32_t beats[WORKERS];
};

/* Join, create records and leave, until the test is over. Errors are permitted, hanging is not. */
static void work(uint32_t rank, void *context)
{
    struct arena *arena = context;
    uint64_t random = (uint64_t)getpid() * 1000003 + rank;
    while (!atomic_load(&arena->over)) {
        struct myr_segment *segment;
        struct myr_error error = {0};
        if (MYR_OK != myr_segment_join(crew_dir, 4 << 20, &segment, &error)) {
            CREW_CHECK('\0' != error.text[0], "no error message");
            atomic_fetch_add(&arena->beats[rank], 1);
            continue;
        }
        for (int i = 0; i < 20; ++i) {
            /* Each worker has its own keys, which may exist if its predecessor died. */
            const uint32_t id = 16 * rank + crew_below(&random, 16);
            struct myr_record *record = record_of(segment, id, 1, (size_t)256 << id % 8);
            if (NULL != record) {
                CREW_CHECK(1 == record->key[0] && id == record->key[1], "another worker's record");
                myr_record_leave(segment, record);
            }
            /* Enough values for the table to grow, which fails after a process was killed. */
            const uint64_t key = 1 + 1000 * rank + crew_below(&random, 1000);
            const uint64_t value = myr_kv_get(segment, key);
            CREW_CHECK(0 == value || key == value, "another worker's value");
            if (myr_kv_set(segment, key, key) || 0 != value) {
                CREW_CHECK(key == myr_kv_get(segment, key), "the value was lost");
            }
        }
        (void)myr_segment_oversubscribed(segment);
        myr_segment_leave(segment);
        atomic_fetch_add(&arena->beats[rank], 1);
    }
}

IN_A_DIR(killed_at_random)
{
    skip_where_threads();
    uint64_t random = crew_seed();
    for (int job = 0; job < JOBS; ++job) {
        struct arena *arena = crew_memory(sizeof(*arena));
        pid_t pids[WORKERS];
        uint32_t beats[WORKERS];
        int status;
        for (uint32_t w = 0; w < WORKERS; ++w) {
            pids[w] = crew_fork(work, w, arena);
        }
        for (int k = 0; k < KILLS; ++k) {
            const uint32_t w = crew_below(&random, WORKERS);
            usleep(crew_below(&random, 2000));
            kill(pids[w], SIGKILL);
            expect_killed(pids[w]);
            pids[w] = crew_fork(work, w, arena);
        }
        for (uint32_t w = 0; w < WORKERS; ++w) {
            beats[w] = atomic_load(&arena->beats[w]);
        }
        for (uint32_t w = 0; w < WORKERS; ++w) { /* all continue */
            while (atomic_load(&arena->beats[w]) - beats[w] < 3) {
                assert_int_equal(waitpid(pids[w], &status, WNOHANG), 0);
                usleep(100);
            }
        }
        atomic_store(&arena->over, true);
        for (uint32_t w = 0; w < WORKERS; ++w) {
            assert_true(crew_join(pids[w]));
        }
        crew_memory_free(arena, sizeof(*arena));
        assert_true(0 == unlink(the_sign) || ENOENT == errno);
    }
}
