/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting. Invariants. A wait is over when its word has reached the epoch, and not before, in each
 * of its phases (poll, yield, sleep). Progress is called in all of them, but not at the first
 * looks. A publisher wakes sleepers. Sleepers burn no processor. A process that shares its
 * processor does not poll, and finds out when that changes.
 *
 * The two ways to give up the processor are caught on their way to the kernel: syscall(), for the
 * futex, is this file's own; sched_yield, which the waiter may call without the C library, is
 * trapped by a filter. Both take notes, and can make things happen at the very moment when somebody
 * waits. So nothing here depends on time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "libmyr/node/waits.h"
#include "os/futex.h"
#include "tests/unit/crew.h"

/* ---- what the waiter under test does, as seen from below ---- */

enum { MOST_SLEEPS = 64 };

/* Each thread has notes of its own; only the main thread's are looked at. */
static _Thread_local struct notes {
    uint32_t yields, progress, wakes, sleeps;
    int woken_at_most;                /* by the last wake */
    uint32_t sleep_us[MOST_SLEEPS];   /* how long each sleep was to be */
    const void *slept_on, *woken_for; /* the last word */
} notes;

/* What to do at the n-th of these, counted from 1: publish `epoch` in `word`. */
static struct {
    myr_word *word;
    uint32_t epoch;
    uint32_t at_yield, at_progress, at_sleep;
} plot;

static bool never_time_out; /* sleep until woken, however long */

static long (*real_syscall)(long, ...);

static void publish_now(void)
{
    myr_store_release(plot.word, plot.epoch);
}

/* In place of each sched_yield. */
static void on_yield(int signal, siginfo_t *about, void *opaque)
{
    (void)signal;
    (void)about;
#if defined(__x86_64__)
    ((ucontext_t *)opaque)->uc_mcontext.gregs[REG_RAX] = 0; /* what it returns */
#else
    (void)opaque;
#endif
    ++notes.yields;
    if (notes.yields == plot.at_yield) {
        publish_now();
    }
    const struct timespec moment = {0, 1};
    nanosleep(&moment, NULL);
}

static bool trapped; /* or else yields are not seen */

/* Valgrind and ThreadSanitizer yield for purposes of their own, the latter while a thread is not
 * yet ready for a signal. */
static bool under_a_yielding_tool(void)
{
#if defined(__SANITIZE_THREAD__)
    return true;
#else
    const char *preloaded = getenv("LD_PRELOAD");
    return NULL != preloaded && NULL != strstr(preloaded, "vgpreload");
#endif
}

static void trap_yields(void)
{
    static struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
    if (under_a_yielding_tool()) {
        return;
    }
    trapped = 0 == prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
              0 == prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In each test, as cmocka sets a handler of its own before it. */
static void handle_yields(void)
{
    const struct sigaction action = {.sa_sigaction = on_yield, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
}

/* A thread's processor time as the waiter sees it. It may be real. It may stand still: then nothing
 * has moved in a call of progress, however slow the machine is. Or it may race: then something has
 * moved in each call but the first, and no time goes by between two of them. Or each look at it may
 * take long, though nothing moves. Or something has moved in the first call after each sleep. */
static enum { TIME_RUNS, TIME_STANDS, TIME_RACES, TIME_IS_DEAR, TIME_JUMPS } processor_time;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static _Thread_local long us;
    static _Thread_local uint32_t sleeps, looks; /* since the last of them */
    if (CLOCK_THREAD_CPUTIME_ID == clock) {
        looks = sleeps == notes.sleeps ? looks + 1 : 1;
        sleeps = notes.sleeps;
    }
    if (TIME_RUNS != processor_time && CLOCK_THREAD_CPUTIME_ID == clock) {
        us += TIME_IS_DEAR == processor_time                             ? 50
              : TIME_RACES == processor_time && notes.progress > 1       ? 1000
              : TIME_JUMPS == processor_time && sleeps > 0 && 2 == looks ? 1000
                                                                         : 0;
        *time = (struct timespec){us / 1000000, us % 1000000 * 1000};
        return 0;
    }
    if (TIME_RACES == processor_time) {
        *time = (struct timespec){0, 0};
        return 0;
    }
    return (int)real_syscall(SYS_clock_gettime, clock, time);
}

long syscall(long number, ...)
{
    va_list arguments;
    long a[6];
    va_start(arguments, number);
    for (int i = 0; i < 6; ++i) {
        a[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (OS_FUTEX == number && FUTEX_WAIT == (int)a[1]) {
        const struct timespec *timeout = (const struct timespec *)a[3];
        if (notes.sleeps < MOST_SLEEPS && NULL != timeout) {
            notes.sleep_us[notes.sleeps] =
                (uint32_t)(timeout->tv_sec * 1000000 + timeout->tv_nsec / 1000);
        }
        if (++notes.sleeps == plot.at_sleep) {
            publish_now();
        }
        notes.slept_on = (const void *)a[0];
        a[3] = never_time_out ? 0 : a[3];
    } else if (OS_FUTEX == number && FUTEX_WAKE == (int)a[1]) {
        ++notes.wakes;
        notes.woken_at_most = (int)a[2];
        notes.woken_for = (const void *)a[0];
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void progress(void)
{
    ++notes.progress;
    if (notes.progress == plot.at_progress) {
        publish_now();
    }
}

/* ---- a waiter to test ---- */

static struct bench {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct myr_watch watch;
    myr_word *word, *sleepers; /* shared with processes that are forked */
} bench;

enum { SHARED_BYTES = 4096 };

/* A segment of one's own if `folder` is NULL. */
static void bench_begin(const char *folder, int32_t spin, int32_t sleep_after, int32_t slice)
{
    const struct myr_wait_policy policy = {spin, sleep_after, slice};
    handle_yields();
    assert_int_equal(myr_segment_join(folder, 1 << 20, &bench.segment, NULL), MYR_OK);
    bench.word = crew_memory(SHARED_BYTES);
    bench.sleepers = bench.word + MYR_LINE;
    myr_waiter_init(&bench.waiter, bench.segment, progress, &policy);
    myr_watch_init(&bench.watch, &bench.waiter, bench.sleepers);
    memset(&notes, 0, sizeof(notes));
    memset(&plot, 0, sizeof(plot));
    plot.word = bench.word;
    plot.epoch = 1;
    never_time_out = false;
    processor_time = TIME_RUNS;
}

static void bench_end(void)
{
    assert_int_equal(myr_load_acquire(bench.sleepers), 0);
    crew_memory_free(bench.word, SHARED_BYTES);
    myr_segment_leave(bench.segment);
}

/* ---- epochs ---- */

static void epochs(void **state)
{
    (void)state;
    assert_true(myr_epoch_reached(0, 0));
    assert_true(myr_epoch_reached(1, 0));
    assert_false(myr_epoch_reached(0, 1));
    assert_true(myr_epoch_reached(0, UINT32_MAX));
    assert_true(myr_epoch_reached(5, UINT32_MAX - 5));
    assert_false(myr_epoch_reached(UINT32_MAX, 0));
    assert_false(myr_epoch_reached(UINT32_MAX - 5, 5));
    assert_true(myr_epoch_reached(0x80000000, 0x7fffffff));
    assert_false(myr_epoch_reached(0x7fffffff, 0x80000000));
}

/* ---- phases ---- */

static void reached_already(void **state)
{
    (void)state;
    static const uint32_t cases[][2] = {/* seen, wanted */
                                        {1, 1},
                                        {2, 1},
                                        {0, UINT32_MAX},
                                        {3, UINT32_MAX - 3}};
    bench_begin(NULL, -1, 0, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        myr_store_release(bench.word, cases[i][0]);
        myr_wait(&bench.watch, bench.word, cases[i][1]);
    }
    assert_int_equal(notes.yields + notes.progress + notes.sleeps, 0);
    assert_int_equal(bench.watch.waits, 0);
    bench_end();
}

/* Progress publishes: so it is called while polling, and nothing else happens. */
static void polls(void **state)
{
    (void)state;
    bench_begin(NULL, INT32_MAX, 0, 1000);
    plot.at_progress = 3;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_equal(notes.progress, 3);
    assert_int_equal(notes.yields + notes.sleeps, 0);
    bench_end();
}

/* Few polls, then yields; the first of them without progress. */
static void yields_quietly_at_first(void **state)
{
    (void)state;
    if (!trapped) {
        skip();
    }
    bench_begin(NULL, 10, -1, 1000);
    plot.at_yield = 2;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_equal(notes.yields, 2);
    assert_int_equal(notes.progress + notes.sleeps, 0);
    bench_end();
}

static void yields_and_makes_progress(void **state)
{
    (void)state;
    bench_begin(NULL, 0, -1, 1000);
    plot.at_progress = 1000;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_equal(notes.progress, 1000);
    assert_true(notes.yields >= 1000 || !trapped);
    assert_int_equal(notes.sleeps, 0); /* with -1 it never does */
    bench_end();
}

/* Each sleep is twice as long as the one before, up to the longest; progress in between. */
static void sleeps_in_slices(void **state)
{
    (void)state;
    static const struct {
        int32_t slice;
        uint32_t us[8];
    } cases[] = {{1000, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {1000, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {70, {50, 70, 70, 70, 70, 70, 70, 70}},
                 {20, {20, 20, 20, 20, 20, 20, 20, 20}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        bench_begin(NULL, 0, 0, cases[i].slice);
        processor_time = i % 2 ? TIME_IS_DEAR : TIME_STANDS;
        plot.at_sleep = 8;
        myr_wait(&bench.watch, bench.word, 1);
        assert_true(notes.progress >= 8); /* one while yielding, some after each sleep */
        assert_ptr_equal(notes.slept_on, bench.word);
        assert_int_equal(notes.sleeps, 8);
        for (int s = 0; s < 8; ++s) {
            assert_int_equal(notes.sleep_us[s], cases[i].us[s]);
        }
        bench_end();
    }
}

/* While something moves, sleeps stay short. */
static void sleeps_little_in_traffic(void **state)
{
    (void)state;
    bench_begin(NULL, 0, 0, 1000);
    processor_time = TIME_JUMPS;
    plot.at_sleep = 8;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_equal(notes.sleeps, 8);
    for (int s = 0; s < 8; ++s) {
        assert_int_equal(notes.sleep_us[s], 50);
    }
    bench_end();
}

/* Where traffic never ends, or the machine is so slow that it seems to, the word counts. */
static void hears_its_word_in_traffic(void **state)
{
    (void)state;
    bench_begin(NULL, 0, 0, 50);
    processor_time = TIME_RACES;
    plot.at_progress = 100;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_equal(notes.progress, 100);
    assert_int_equal(notes.sleeps, 1);
    bench_end();
}

/* A word that moves, but not far enough, ends no phase; across the wrap-around. */
static myr_word *creeping;

static void creep(void)
{
    ++notes.progress;
    myr_fetch_add(creeping);
}

static void waits_for_its_epoch(void **state)
{
    (void)state;
    static const struct myr_wait_policy policies[] = {
        {INT32_MAX, -1, 100}, {0, -1, 100}, {0, 0, 100}};
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); ++i) {
        bench_begin(NULL, policies[i].spin, policies[i].sleep_after, policies[i].slice);
        bench.waiter.progress = creep;
        creeping = bench.word;
        myr_store_release(bench.word, UINT32_MAX - 4);
        myr_wait(&bench.watch, bench.word, 5);
        if (policies[i].sleep_after < 0) {
            assert_int_equal(myr_load_acquire(bench.word), 5);
            assert_int_equal(notes.progress, 10);
        } else { /* after a sleep, other traffic is looked after for a moment */
            assert_true(myr_epoch_reached(myr_load_acquire(bench.word), 5));
            assert_true(notes.progress >= 10);
        }
        bench_end();
    }
}

/* ---- waking ---- */

static void nobody_to_wake(void **state)
{
    (void)state;
    bench_begin(NULL, 0, 0, 1000);
    myr_store_release(bench.word, 1);
    myr_wake(&bench.watch, bench.word);
    assert_int_equal(notes.wakes, 0);
    bench_end();
}

static void sleep_until_woken(uint32_t rank, void *context)
{
    (void)context;
    (void)rank;
    never_time_out = true;
    myr_wait(&bench.watch, bench.word, 1);
    CREW_CHECK(1 == notes.sleeps || (0 == notes.sleeps && 1 == myr_load_acquire(bench.word)),
               "slept %u times", notes.sleeps);
}

/* All sleepers of a word are woken by one publication: these here have no time-out to help them. */
static void wakes_all(void **state)
{
    (void)state;
    enum { SLEEPERS = 5 };
    for (int round = 0; round < 20; ++round) {
        pid_t pids[SLEEPERS];
        bench_begin(NULL, 0, 0, 1000);
        for (uint32_t r = 0; r < SLEEPERS; ++r) {
            pids[r] = crew_fork(sleep_until_woken, r, NULL);
        }
        while (SLEEPERS != myr_load_acquire(bench.sleepers)) {
            usleep(100);
        }
        myr_store_release(bench.word, 1);
        myr_wake(&bench.watch, bench.word);
        assert_int_equal(notes.wakes, 1);
        assert_int_equal(notes.woken_at_most, INT_MAX);
        assert_ptr_equal(notes.woken_for, bench.word);
        for (uint32_t r = 0; r < SLEEPERS; ++r) {
            assert_true(crew_join(pids[r]));
        }
        bench_end(); /* nobody is counted as asleep any more */
    }
}

/* ---- processor time ---- */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_and_account(uint32_t rank, void *context)
{
    (void)rank;
    (void)context;
    struct rusage before, after;
    const double start = seconds(CLOCK_MONOTONIC);
    getrusage(RUSAGE_SELF, &before);
    myr_wait(&bench.watch, bench.word, 1);
    getrusage(RUSAGE_SELF, &after);
    const double wall = seconds(CLOCK_MONOTONIC) - start;
    const double cpu = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                       (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                       1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
                       1e-6 * (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    CREW_CHECK(cpu < wall / 2, "used %g s of processor in %g s", cpu, wall);
}

/* Who waits for a second leaves the processor to others: a fraction of its own waiting time,
 * however busy the machine is. */
static void burns_no_processor(void **state)
{
    (void)state;
    bench_begin(NULL, -1, 500, 1000); /* the defaults */
    const pid_t pid = crew_fork(wait_and_account, 0, NULL);
    usleep(1000000);
    myr_store_release(bench.word, 1);
    myr_wake(&bench.watch, bench.word);
    assert_true(crew_join(pid));
    bench_end();
}

/* ---- whether to poll at all ---- */

static void wait_once(void)
{
    myr_store_release(bench.word, 0);
    plot.at_progress = notes.progress + 1;
    myr_wait(&bench.watch, bench.word, 1);
}

/* Another process joins, or so it seems. */
static struct myr_segment *join_neighbour(const char *folder)
{
    struct myr_segment *neighbour;
    crew_pretend_another();
    const enum myr_status status = myr_segment_join(folder, 1 << 20, &neighbour, NULL);
    crew_pretend_no_more();
    assert_int_equal(status, MYR_OK);
    return neighbour;
}

/* Two on one processor do not poll; when the other one has left, it does again, and so on. */
static void finds_out_about_neighbours(void **state)
{
    (void)state;
    char folder[200];
    cpu_set_t all, one;
    struct myr_segment *neighbour;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE && 0 == CPU_COUNT(&one); ++p) {
        if (CPU_ISSET(p, &all)) {
            CPU_SET(p, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    crew_folder_make(folder, sizeof(folder));

    bench_begin(folder, -1, -1, 1000);
    assert_false(myr_waiter_oversubscribed(&bench.waiter));
    assert_true(bench.watch.polls > 0);
    for (int round = 0; round < 3; ++round) {
        neighbour = join_neighbour(folder);
        struct myr_waiter newcomer; /* who comes late finds it so */
        myr_waiter_init(&newcomer, bench.segment, progress, &bench.waiter.policy);
        assert_true(myr_waiter_oversubscribed(&newcomer));
        assert_true(myr_waiter_oversubscribed(&bench.waiter));
        for (int i = 0; i < 1000; ++i) {
            wait_once();
        }
        assert_int_equal(bench.watch.polls, 0);
        myr_segment_leave(neighbour);
        assert_false(myr_waiter_oversubscribed(&bench.waiter));
        for (int i = 0; i < 1000; ++i) {
            wait_once();
        }
        assert_true(bench.watch.polls > 0);
    }
    bench_end();

    /* A number that the user gives holds, come who may. */
    bench_begin(folder, 7, -1, 1000);
    assert_int_equal(bench.watch.polls, 7);
    neighbour = join_neighbour(folder);
    for (int i = 0; i < 1000; ++i) {
        wait_once();
    }
    assert_int_equal(bench.watch.polls, 7);
    myr_segment_leave(neighbour);
    bench_end();

    crew_folder_remove(folder);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* Who was bound to other processors by somebody else tells the others when it goes to sleep. */
static void tells_where_it_runs(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE; ++p) {
        if (CPU_ISSET(p, &all)) {
            CPU_ZERO(&one);
            CPU_SET(p, &one);
        }
    }
    bench_begin(NULL, 0, 0, 100);
    const uint32_t before = myr_load_acquire(myr_segment_population(bench.segment));
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    plot.at_progress = 3;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_not_equal(myr_load_acquire(myr_segment_population(bench.segment)), before);
    assert_int_equal(myr_segment_processors(bench.segment), 1);
    bench_end();
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- several threads ---- */
/* ---- long waits ---- */

static void quiet(void) {}

static struct {
    int begun;
    struct myr_shown_wait shown;
} told;

/* The word comes as soon as it is known that the wait is a long one. */
static struct myr_shown_wait *long_wait(const struct myr_watch *watch)
{
    assert_ptr_equal(watch->owner, &told);
    ++told.begun;
    atomic_store(&told.shown.since_ms, 1);
    myr_store_release(bench.word, 1);
    return &told.shown;
}

static void tells_long_waits(void **state)
{
    (void)state;
    bench_begin(NULL, 0, 0, 1000);
    memset(&told, 0, sizeof(told));
    bench.waiter.progress = quiet;
    bench.waiter.long_wait = long_wait;
    bench.watch.owner = &told;
    const uint64_t start_us = os_now_us();
    myr_wait(&bench.watch, bench.word, 1);
    assert_true(os_now_us() - start_us >= MYR_LONG_WAIT_US);
    assert_int_equal(told.begun, 1);
    assert_int_equal(atomic_load(&told.shown.since_ms), 0); /* hidden, as it has ended */
    myr_wait(&bench.watch, bench.word, 1);                  /* short */
    assert_int_equal(told.begun, 1);
    bench_end();
}

/* ---- threads ---- */

enum { THREADS = 4, LAPS = 300 };

static myr_word ring[THREADS][MYR_LINE / sizeof(myr_word)];

static void *run_round(void *opaque)
{
    const uint32_t self = (uint32_t)(uintptr_t)opaque, left = (self + THREADS - 1) % THREADS;
    struct myr_watch watch;
    myr_watch_init(&watch, &bench.waiter, bench.sleepers);
    for (uint32_t lap = 1; lap <= LAPS; ++lap) {
        myr_wait(&watch, &ring[left][0], 0 == self ? lap - 1 : lap);
        myr_store_release(&ring[self][0], lap);
        myr_wake(&watch, &ring[self][0]);
        (void)myr_waiter_oversubscribed(&bench.waiter);
    }
    return NULL;
}

/* One waiter serves them all: a word goes round. */
static void threads_share_a_waiter(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    bench_begin(NULL, -1, 0, 1000);
    bench.waiter.progress = quiet;
    for (uintptr_t t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, run_round, (void *)t), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(myr_load_acquire(&ring[t][0]), LAPS);
    }
    bench_end();
}

int main(void)
{
    crew_watchdog();
    *(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
    trap_yields();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs),
        cmocka_unit_test(reached_already),
        cmocka_unit_test(polls),
        cmocka_unit_test(yields_quietly_at_first),
        cmocka_unit_test(yields_and_makes_progress),
        cmocka_unit_test(sleeps_in_slices),
        cmocka_unit_test(sleeps_little_in_traffic),
        cmocka_unit_test(hears_its_word_in_traffic),
        cmocka_unit_test(waits_for_its_epoch),
        cmocka_unit_test(nobody_to_wake),
        cmocka_unit_test(wakes_all),
        cmocka_unit_test(burns_no_processor),
        cmocka_unit_test(finds_out_about_neighbours),
        cmocka_unit_test(tells_where_it_runs),
        cmocka_unit_test(tells_long_waits),
        cmocka_unit_test(threads_share_a_waiter),
    };
    return cmocka_run_group_tests_name("waiter", tests, NULL, NULL);
}
