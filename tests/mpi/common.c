/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the utilities that the MPI tests share (common.h).
 *
 * Invariants: a cell of the ledger has one writer, its process (threads of a process use different
 * slots). The values of cells only increase. Nothing here calls MPI_Barrier except the wrappers
 * under test, so that the tests' bookkeeping neither hides nor causes the errors that they must
 * detect.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct test_state test;

static atomic_ullong checks_made;
static _Atomic(const char *) current_phase = "start";
static long option_seed = -1;
static long option_watchdog = 300;
static const char *option_ledger, *option_hold;

static const struct test_option common_options[] = {
    {"--seed", OPTION_LONG, &option_seed, "seed of all random choices (default: from the clock)"},
    {"--watchdog", OPTION_LONG, &option_watchdog, "seconds after which a hang is a failure (300)"},
    {"--ledger", OPTION_TEXT, &option_ledger,
     "file for the shared ledger (default: an anonymous one, through /proc)"},
    {"--hold", OPTION_TEXT, &option_hold, "after MPI_Init, wait until this file exists"},
};

/* ---- options ---- */

static void print_options(const struct test_option *options, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("  %s%s\t%s\n", options[i].name, options[i].kind == OPTION_FLAG ? "" : " VALUE",
               options[i].help);
}

static const struct test_option *find_option(const struct test_option *options, size_t n,
                                             const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

/* Returns false if text is not a value of this kind. */
static bool set_option(const struct test_option *option, const char *text)
{
    char nothing[] = "", *end = nothing;
    if (option->kind == OPTION_TEXT)
        *(const char **)option->value = text;
    else if (option->kind == OPTION_LONG)
        *(long *)option->value = strtol(text, &end, 0);
    else
        *(double *)option->value = strtod(text, &end);
    return *text != '\0' && *end == '\0';
}

static void read_options(int argc, char **argv, const struct test_option *options, size_t n_options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            if (test.rank == 0) {
                printf("%s: options\n", test.name);
                print_options(options, n_options);
                print_options(common_options, TEST_COUNT(common_options));
            }
            MPI_Finalize();
            exit(0);
        }
        const struct test_option *option = find_option(options, n_options, argv[i]);
        if (!option)
            option = find_option(common_options, TEST_COUNT(common_options), argv[i]);
        if (!option)
            test_fail("options", "unknown option %s, see --help", argv[i]);
        if (option->kind == OPTION_FLAG)
            *(long *)option->value = 1;
        else if (i + 1 == argc || !set_option(option, argv[i + 1]))
            test_fail("options", "%s needs a value, see --help", argv[i]);
        else
            i++;
    }
}

/* ---- the program ---- */

/* The message is prepared beforehand, because the handler may only make async-signal-safe calls. It
 * is written by one call, so that messages of several processes do not mix. mpirun ends the job
 * because of the exit status. */
static char watchdog_text[256];

static void watchdog_expires(int signal_number)
{
    const char *phase = atomic_load(&current_phase);
    size_t length = strlen(watchdog_text), room = sizeof(watchdog_text) - length - 1;
    size_t phase_length = strlen(phase) < room ? strlen(phase) : room;
    (void)signal_number;
    memcpy(watchdog_text + length, phase, phase_length);
    watchdog_text[length + phase_length] = '\n';
    ssize_t ignored = write(STDERR_FILENO, watchdog_text, length + phase_length + 1);
    (void)ignored;
    _exit(1);
}

void test_begin(int argc, char **argv, const char *name, const struct test_option *options,
                size_t n_options, int thread_level)
{
    test.name = name;
    MPI_Init_thread(&argc, &argv, thread_level, &test.provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_options(argc, argv, options, n_options);

    snprintf(watchdog_text, sizeof(watchdog_text),
             "FAIL %s: rank %d of %d: hangs for %ld seconds (--watchdog), in: ", name, test.rank,
             test.size, option_watchdog);
    signal(SIGALRM, watchdog_expires);
    alarm((unsigned)option_watchdog);

    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* The seed is short enough to be typed. */
    uint64_t seed = option_seed >= 0 ? (uint64_t)option_seed
                                     : (uint64_t)(now.tv_nsec ^ now.tv_sec) % 1000000000u;
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    test.seed = seed;

    const char *broken = getenv("NICBARR_TEST_BREAK");
    long every = broken ? strtol(broken, NULL, 10) : 0;
    test.break_every = labs(every);
    test.break_waits = every < 0;
    if (test.rank == 0)
        printf("%s: np %d, --seed %llu%s\n", name, test.size, (unsigned long long)seed,
               test.break_every > 0 ? ", with barriers broken on purpose" : "");
    while (option_hold && access(option_hold, F_OK) < 0)
        usleep(10000);
}

int test_end(const char *note)
{
    unsigned long long mine = atomic_load(&checks_made), all = 0;
    test_phase("end of the test");
    MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (test.rank == 0)
        printf("ok %s np=%d checks=%llu seed=%llu%s%s\n", test.name, test.size, all,
               (unsigned long long)test.seed, *note ? " " : "", note);
    MPI_Finalize();
    return 0;
}

void test_skip(const char *why)
{
    if (test.rank == 0)
        printf("skip %s: %s\n", test.name, why);
    MPI_Finalize();
    exit(TEST_SKIPPED);
}

void test_fail(const char *where, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL %s: rank %d of %d, %s: %s (seed %llu)\n", test.name, test.rank, test.size,
            where, message, (unsigned long long)test.seed);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1); /* MPI_Abort does not return, which the compiler does not know */
}

void test_count_check(void)
{
    atomic_fetch_add_explicit(&checks_made, 1, memory_order_relaxed);
}

void test_phase(const char *text)
{
    atomic_store(&current_phase, text);
}

void test_report(const char *format, ...)
{
    if (test.rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

MPI_Comm test_spawn(const char *program, const char *const arguments[], int processes,
                    const char *hosts, MPI_Comm comm)
{
    MPI_Comm spawned;
    MPI_Info info;
    MPI_Info_create(&info);
    if (*hosts) {
        MPI_Info_set(info, "host", hosts);
        MPI_Info_set(info, "map_by", "node");
    }
    MPI_Comm_spawn(program, (char **)arguments, processes, info, 0, comm, &spawned,
                   MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    return spawned;
}

double test_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- random numbers ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

struct rng rng_make(uint64_t stream)
{
    return (struct rng){mix(test.seed + 1) ^ mix(stream * UINT64_C(0x9e3779b97f4a7c15))};
}

uint64_t rng_next(struct rng *rng)
{
    return mix(rng->state += UINT64_C(0x9e3779b97f4a7c15));
}

unsigned rng_below(struct rng *rng, unsigned n)
{
    return (unsigned)((rng_next(rng) >> 32) * n >> 32);
}

void rng_permutation(struct rng *rng, int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int j = (int)rng_below(rng, (unsigned)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

void delay_random(struct rng *rng)
{
    unsigned kind = rng_below(rng, 100);
    if (kind < 60)
        return;
    if (kind < 90) {
        /* `volatile` prevents that the loop is optimised away; it takes up to some microseconds. */
        for (volatile unsigned i = rng_below(rng, 3000); i > 0; i--)
            ;
    } else if (kind < 96) {
        sched_yield();
    } else {
        struct timespec pause = {0, (long)rng_below(rng, kind == 99 ? 2000000 : 200000)};
        nanosleep(&pause, NULL);
    }
}

void forbid_reading(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {TEST_COUNT(filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        test_skip("system calls cannot be forbidden here (seccomp)");
}

/* ---- the ledger ---- */

/* Rank 0 of base creates the memory, and all others open it by its path. */
static int open_arena_file(MPI_Comm base, int rank)
{
    char path[256] = "";
    int fd = -1;
    if (rank == 0) {
        if (option_ledger) {
            snprintf(path, sizeof(path), "%s", option_ledger);
            fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        } else {
            /* The memory has no name in any file system, so that nothing is left behind. */
            fd = memfd_create("nicbarr-test-ledger", MFD_CLOEXEC);
            snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), fd);
        }
        if (fd < 0)
            test_fail("ledger", "cannot create %s: %s", path, strerror(errno));
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, base);
    if (rank != 0) {
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            test_fail("ledger", "cannot open %s: %s; try --ledger PATH", path, strerror(errno));
    }
    return fd;
}

void arena_open(struct arena *arena, MPI_Comm base, unsigned slots)
{
    MPI_Comm_group(base, &arena->group);
    MPI_Comm_rank(base, &arena->rank);
    MPI_Comm_size(base, &arena->size);
    arena->slots = slots;
    /* A slot consists of whole cache lines. Processes of one row share lines, which only slows
     * them down. */
    arena->stride = ((size_t)arena->size + 15) / 16 * 16;
    arena->bytes = arena->stride * slots * sizeof(uint32_t);

    int fd = open_arena_file(base, arena->rank);
    /* Each process extends the file to the same length, so that none has to wait for rank 0. */
    if (ftruncate(fd, (off_t)arena->bytes) != 0)
        test_fail("ledger", "ftruncate: %s", strerror(errno));
    arena->cells = mmap(NULL, arena->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena->cells == MAP_FAILED)
        test_fail("ledger", "mmap: %s", strerror(errno));
    /* The others open the memory through rank 0's descriptor, which is closed only when all have
     * opened it. A reduction ensures that without a barrier. */
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, base);
    close(fd);
    if (option_ledger && arena->rank == 0)
        unlink(option_ledger);
}

void arena_close(struct arena *arena)
{
    MPI_Group_free(&arena->group);
    munmap((void *)arena->cells, arena->bytes);
}

void ledger_open(struct ledger *ledger, struct arena *arena, unsigned slot, MPI_Comm comm,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ledger->name, sizeof(ledger->name), format, arguments);
    va_end(arguments);
    if (slot >= arena->slots)
        test_fail(ledger->name, "the test uses ledger slot %u of %u", slot, arena->slots);

    /* On an intercommunicator MPI guarantees only that the other group has entered. */
    MPI_Group group;
    int inter;
    MPI_Comm_test_inter(comm, &inter);
    if (inter)
        MPI_Comm_remote_group(comm, &group);
    else
        MPI_Comm_group(comm, &group);
    MPI_Group_size(group, &ledger->n_members);
    int *ranks = malloc(sizeof(int) * (size_t)ledger->n_members);
    ledger->members = malloc(sizeof(int) * (size_t)ledger->n_members);
    for (int i = 0; i < ledger->n_members; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, ledger->n_members, ranks, arena->group, ledger->members);
    free(ranks);
    MPI_Group_free(&group);

    ledger->comm = comm;
    ledger->slot = slot;
    ledger->self = arena->rank;
    ledger->cells = arena->cells + arena->stride * slot;
    ledger->entered = 0;
    if (atomic_load_explicit(&ledger->cells[ledger->self], memory_order_relaxed) != 0)
        test_fail(ledger->name, "the test uses ledger slot %u twice", slot);
}

void ledger_close(struct ledger *ledger)
{
    free(ledger->members);
    ledger->members = NULL;
}

/* The store is a release and the loads are acquires, and nothing stronger: that other processes
 * see after a barrier the memory that a process wrote before it is the barrier's own work, which
 * is tested. */
uint32_t ledger_enter(struct ledger *ledger)
{
    uint32_t k = ++ledger->entered;
    atomic_store_explicit(&ledger->cells[ledger->self], k, memory_order_release);
    return k;
}

static uint32_t cell_of(const struct ledger *ledger, int member)
{
    return atomic_load_explicit(&ledger->cells[ledger->members[member]], memory_order_acquire);
}

bool ledger_complete(const struct ledger *ledger, uint32_t k)
{
    for (int i = 0; i < ledger->n_members; i++)
        if ((int32_t)(cell_of(ledger, i) - k) < 0)
            return false;
    return true;
}

void ledger_left(const struct ledger *ledger, uint32_t k, const char *how)
{
    for (int i = 0; i < ledger->n_members; i++) {
        uint32_t found = cell_of(ledger, i);
        TEST_CHECK((int32_t)(found - k) >= 0, ledger->name,
                   "left %s number %u, but member %d (world %d) has entered only %u, expected at "
                   "least %u",
                   how, k, i, ledger->members[i], found, k);
    }
}

void usual_open(struct arena *arena, struct ledger ledgers[USUAL_COMMUNICATORS])
{
    MPI_Comm comm;
    int rank = test.rank;

    ledger_open(&ledgers[0], arena, 0, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    ledger_open(&ledgers[1], arena, 1, MPI_COMM_SELF, "MPI_COMM_SELF");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ledger_open(&ledgers[2], arena, 2, comm, "dup of WORLD");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    ledger_open(&ledgers[3], arena, 3, comm, "WORLD in reverse order");
    MPI_Comm_split(MPI_COMM_WORLD, rank < test.size / 2, rank, &comm);
    ledger_open(&ledgers[4], arena, 4, comm, "half of WORLD");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    ledger_open(&ledgers[5], arena, 5, comm, "%s ranks", rank % 2 ? "odd" : "even");
}

void usual_close(struct ledger ledgers[USUAL_COMMUNICATORS])
{
    for (int i = 0; i < USUAL_COMMUNICATORS; i++) {
        if (i >= 2) /* the first two are MPI's own */
            MPI_Comm_free(&ledgers[i].comm);
        ledger_close(&ledgers[i]);
    }
}

/* ---- barriers under test ---- */

/* Returns whether a barrier is omitted: a function of values that all members know. */
static bool is_broken(const struct ledger *ledger, uint32_t k)
{
    if (test.break_every <= 0)
        return false;
    uint64_t lot = mix(test.seed ^ mix(((uint64_t)ledger->slot << 32) + k));
    return lot % (uint64_t)test.break_every == 0;
}

/* Replaces a barrier that is omitted; see common.h. */
static void broken_barrier(const struct ledger *ledger, uint32_t k)
{
    while (test.break_waits && !ledger_complete(ledger, k))
        sched_yield();
}

void checked_barrier(struct ledger *ledger)
{
    uint32_t k = ledger_enter(ledger);
    if (is_broken(ledger, k))
        broken_barrier(ledger, k);
    else
        MPI_Barrier(ledger->comm);
    ledger_left(ledger, k, "MPI_Barrier");
}

uint32_t start_ibarrier(struct ledger *ledger, MPI_Request *request)
{
    uint32_t k = ledger_enter(ledger);
    if (is_broken(ledger, k)) {
        broken_barrier(ledger, k);
        /* A request that is complete from the start. */
        MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
    } else {
        MPI_Ibarrier(ledger->comm, request);
    }
    return k;
}

void checked_ibarrier(struct ledger *ledger)
{
    MPI_Request request;
    uint32_t k = start_ibarrier(ledger, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ledger_left(ledger, k, "MPI_Ibarrier + MPI_Wait");
}

bool persistent_barrier_init(struct ledger *ledger, MPI_Request *request)
{
    /* There is no persistent request that waits without MPI. */
    if (is_broken(ledger, 1) && !test.break_waits) {
        MPI_Send_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
        return true;
    }
#ifdef PERSISTENT
    PERSISTENT(Barrier_init)(ledger->comm, MPI_INFO_NULL, request);
    return true;
#else
    *request = MPI_REQUEST_NULL;
    return false;
#endif
}
