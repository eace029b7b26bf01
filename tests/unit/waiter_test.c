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
static enum clock { TIME_RUNS, TIME_STANDS, TIME_RACES, TIME_IS_DEAR, TIME_JUMPS } processor_time;

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

/* ---- phases ---- */

/* A word that has reached the epoch ends a wait before it begins; across the wrap-around. */
static void epochs(void **state)
{
    (void)state;
    static const struct {
        uint32_t seen, wanted;
        bool reached;
    } cases[] = {
        {0, 0, true},
        {1, 0, true},
        {0, 1, false},
        {0, UINT32_MAX, true},
        {5, UINT32_MAX - 5, true},
        {UINT32_MAX, 0, false},
        {UINT32_MAX - 5, 5, false},
        {0x80000000, 0x7fffffff, true},
        {0x7fffffff, 0x80000000, false},
    };
    bench_begin(NULL, -1, 0, 1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        assert_int_equal(myr_epoch_reached(cases[i].seen, cases[i].wanted), cases[i].reached);
        if (cases[i].reached) {
            myr_store_release(bench.word, cases[i].seen);
            myr_wait(&bench.watch, bench.word, cases[i].wanted);
        }
    }
    assert_int_equal(notes.yields + notes.progress + notes.sleeps, 0);
    assert_int_equal(bench.watch.waits, 0);
    bench_end();
}

/* What is done while waiting, until the word comes at the n-th of these. */
static void phases(void **state)
{
    (void)state;
    static const struct {
        struct myr_wait_policy policy;
        enum clock time;
        uint32_t at_yield, at_progress, progress, yields_least, yields_most, sleeps;
    } cases[] = {
        {{INT32_MAX, 0, 1000}, TIME_RUNS, 0, 3, 3, 0, 0, 0}, /* progress while polling */
        {{10, -1, 1000}, TIME_RUNS, 2, 0, 0, 2, 2, 0},       /* first yields are without */
        {{0, -1, 1000}, TIME_RUNS, 0, 1000, 1000, 1000, UINT32_MAX, 0}, /* -1: it never sleeps */
        {{-1, -1, 1000}, TIME_RUNS, 0, 1000, 1000, 0, 0, 0}, /* its processor is its own: kept */
        /* Where traffic never ends, or the machine is so slow that it seems to, the word counts. */
        {{0, 0, 50}, TIME_RACES, 0, 100, 100, 0, UINT32_MAX, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (0 != cases[i].at_yield && !trapped) {
            continue;
        }
        bench_begin(NULL, cases[i].policy.spin, cases[i].policy.sleep_after, cases[i].policy.slice);
        processor_time = cases[i].time;
        plot.at_yield = cases[i].at_yield;
        plot.at_progress = cases[i].at_progress;
        myr_wait(&bench.watch, bench.word, 1);
        assert_int_equal(notes.progress, cases[i].progress);
        assert_int_equal(notes.sleeps, cases[i].sleeps);
        assert_true(notes.yields >= cases[i].yields_least || !trapped);
        assert_true(notes.yields <= cases[i].yields_most);
        bench_end();
    }
}

/* Each sleep is twice as long as the one before, up to the longest; progress in between. While
 * something moves, sleeps stay short. */
static void sleeps_in_slices(void **state)
{
    (void)state;
    static const struct {
        int32_t slice;
        enum clock time;
        uint32_t us[8];
    } cases[] = {{1000, TIME_STANDS, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {1000, TIME_IS_DEAR, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {1000, TIME_JUMPS, {50, 50, 50, 50, 50, 50, 50, 50}},
                 {70, TIME_STANDS, {50, 70, 70, 70, 70, 70, 70, 70}},
                 {20, TIME_IS_DEAR, {20, 20, 20, 20, 20, 20, 20, 20}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        bench_begin(NULL, 0, 0, cases[i].slice);
        processor_time = cases[i].time;
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
        myr_wake(&bench.watch, bench.word);
        assert_int_equal(notes.wakes, 0); /* there is nobody to wake */
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

/* Have this process run on one processor only; `all` is where it may run. */
static void bind_to_one(cpu_set_t *all)
{
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof(*all), all), 0);
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE && 0 == CPU_COUNT(&one); ++p) {
        if (CPU_ISSET(p, all)) {
            CPU_SET(p, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Two on one processor do not poll; when the other one has left, it does again, and so on. */
static void finds_out_about_neighbours(void **state)
{
    (void)state;
    char folder[200];
    cpu_set_t all;
    struct myr_segment *neighbour;
    bind_to_one(&all);
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
    cpu_set_t all;
    bench_begin(NULL, 0, 0, 100);
    const uint32_t before = myr_load_acquire(myr_segment_population(bench.segment));
    bind_to_one(&all);
    if (CPU_COUNT(&all) < 2) {
        bench_end();
        skip();
    }
    plot.at_progress = 3;
    myr_wait(&bench.watch, bench.word, 1);
    assert_int_not_equal(myr_load_acquire(myr_segment_population(bench.segment)), before);
    assert_int_equal(myr_segment_processors(bench.segment), 1);
    bench_end();
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- long waits ---- */

static void quiet(void) {}

static struct {
    int begun;
    struct myr_shown_wait shown;
} told;

/* The word comes as soon as it is known that the wait is a long one. */
static struct myr_shown_wait *long_wait(const struct myr_watch *watch, uint32_t times)
{
    assert_ptr_equal(watch->owner, &told);
    assert_int_equal(times, 1);
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

/* ---- abandoned waits ---- */

static uint32_t looks; /* of abandons(), until it says so */

static bool abandons(const struct myr_watch *watch)
{
    assert_ptr_equal(watch->owner, &looks);
    return 0 == looks || 0 == --looks;
}

/* In each phase: the word never comes, and the wait ends all the same; so do later ones, at once.
 */
static void abandons_waits(void **state)
{
    static const struct {
        int32_t spin, sleep_after;
        uint32_t looks;
    } phases[] = {{4 * MYR_WORD_PROGRESS, -1, 3}, {0, -1, 3}, {0, 0, 3}, {MYR_WORD_PROGRESS, 0, 5}};
    (void)state;
    for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]); ++p) {
        bench_begin(NULL, phases[p].spin, phases[p].sleep_after, 100);
        bench.waiter.progress = quiet;
        bench.waiter.abandons = abandons;
        bench.watch.owner = &looks;
        looks = phases[p].looks;
        myr_wait(&bench.watch, bench.word, 1);
        assert_true(bench.watch.abandoned);
        assert_int_equal(looks, 0);
        looks = UINT32_MAX;
        myr_wait(&bench.watch, bench.word, 1);
        assert_int_equal(looks, UINT32_MAX);
        bench_end();
    }
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
        cmocka_unit_test(phases),
        cmocka_unit_test(sleeps_in_slices),
        cmocka_unit_test(waits_for_its_epoch),
        cmocka_unit_test(wakes_all),
        cmocka_unit_test(finds_out_about_neighbours),
        cmocka_unit_test(tells_where_it_runs),
        cmocka_unit_test(tells_long_waits),
        cmocka_unit_test(abandons_waits),
        cmocka_unit_test(threads_share_a_waiter),
    };
    return cmocka_run_group_tests_name("waiter", tests, NULL, NULL);
}
