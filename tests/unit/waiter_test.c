/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how processes wait for a word in shared memory. A failure means that they hang in a
 * barrier, leave it early, or waste CPU time while they wait.
 *
 * Invariants:
 *
 * - A wait ends when its word reaches the epoch, and not before, in each phase (poll, yield,
 *   sleep).
 * - The progress function is called in all phases, but not immediately.
 * - Publishing wakes sleeping processes, which use no CPU time.
 * - A process that shares its core does not poll, and detects when that changes.
 *
 * The test intercepts both ways to give up the core: it overrides syscall(), for the futex, and
 * traps sched_yield, which the waiter may call without the C library, with a seccomp filter. Both
 * count calls, and can change the word exactly when a process waits, so that nothing depends on
 * time.
 */
#include <dlfcn.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "libmyr/node/waits.h"
#include "os/futex.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* ---- interception of system calls ---- */

enum { MOST_SLEEPS = 64 };

/* Numbers of calls by thread. Only those of the main thread are checked. */
static _Thread_local struct calls {
    uint32_t yields, progress, wakes, sleeps;
    int woken_at_most;                /* argument of the last wake */
    uint32_t sleep_us[MOST_SLEEPS];   /* the timeout of each sleep */
    const void *slept_on, *woken_for; /* the words of the last calls */
} calls;

/* When to publish `epoch` in `word`: at the n-th call, counted from 1. */
static struct {
    myr_word *word;
    uint32_t epoch;
    uint32_t at_yield, at_progress, at_sleep;
} scenario;

static bool never_time_out; /* sleep without a timeout */

static long (*real_syscall)(long, ...);

static void publish_now(void)
{
    myr_store_release(scenario.word, scenario.epoch);
}

/* Replaces each sched_yield. */
static void on_yield(int signal, siginfo_t *about, void *opaque)
{
    (void)signal;
    (void)about;
#if defined(__x86_64__)
    ((ucontext_t *)opaque)->uc_mcontext.gregs[REG_RAX] = 0; /* the return value */
#else
    (void)opaque;
#endif
    ++calls.yields;
    if (calls.yields == scenario.at_yield) {
        publish_now();
    }
    const struct timespec moment = {0, 1};
    nanosleep(&moment, NULL);
}

static bool trapped; /* false: yields are not counted */

/* Valgrind and ThreadSanitizer themselves call sched_yield, the latter before a thread can handle
 * signals. */
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

/* Install the handler; called in each test, because cmocka installs its own handler before it. */
static void handle_yields(void)
{
    const struct sigaction action = {.sa_sigaction = on_yield, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
}

/*
 * A simulation of the thread's CPU time, by which the waiter detects whether a progress call did
 * any work.
 *
 * - TIME_REAL: the real time.
 * - TIME_FROZEN: no progress call did any work, even on a slow machine.
 * - TIME_PER_PROGRESS: each progress call except the first did some work, and no real time passes.
 * - TIME_PER_READ: reading the clock takes long, but no work is done.
 * - TIME_AFTER_SLEEP: the first call after each sleep did some work.
 */
static enum clock {
    TIME_REAL,
    TIME_FROZEN,
    TIME_PER_PROGRESS,
    TIME_PER_READ,
    TIME_AFTER_SLEEP
} processor_time;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static _Thread_local long us;
    static _Thread_local uint32_t sleeps, checks; /* reads since the last sleep */
    if (CLOCK_THREAD_CPUTIME_ID == clock) {
        checks = sleeps == calls.sleeps ? checks + 1 : 1;
        sleeps = calls.sleeps;
    }
    if (TIME_REAL != processor_time && CLOCK_THREAD_CPUTIME_ID == clock) {
        us += TIME_PER_READ == processor_time                                   ? 50
              : TIME_PER_PROGRESS == processor_time && calls.progress > 1       ? 1000
              : TIME_AFTER_SLEEP == processor_time && sleeps > 0 && 2 == checks ? 1000
                                                                                : 0;
        *time = (struct timespec){us / 1000000, us % 1000000 * 1000};
        return 0;
    }
    if (TIME_PER_PROGRESS == processor_time) {
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
        if (calls.sleeps < MOST_SLEEPS && NULL != timeout) {
            calls.sleep_us[calls.sleeps] =
                (uint32_t)(timeout->tv_sec * 1000000 + timeout->tv_nsec / 1000);
        }
        if (++calls.sleeps == scenario.at_sleep) {
            publish_now();
        }
        calls.slept_on = (const void *)a[0];
        a[3] = never_time_out ? 0 : a[3];
    } else if (OS_FUTEX == number && FUTEX_WAKE == (int)a[1]) {
        ++calls.wakes;
        calls.woken_at_most = (int)a[2];
        calls.woken_for = (const void *)a[0];
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void progress(void)
{
    ++calls.progress;
    if (calls.progress == scenario.at_progress) {
        publish_now();
    }
}

/* ---- the waiter under test ---- */

static struct bench {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct myr_watch watch;
    myr_word *word, *sleepers; /* shared with forked processes */
} bench;

enum { SHARED_BYTES = 4096 };

/* Uses a private segment if `directory` is NULL. */
static void bench_begin(const char *dir, int32_t spin, int32_t sleep_after, int32_t slice)
{
    const struct myr_wait_policy policy = {spin, sleep_after, slice};
    handle_yields();
    assert_int_equal(myr_segment_join(dir, 1 << 20, &bench.segment, NULL), MYR_OK);
    bench.word = crew_memory(SHARED_BYTES);
    bench.sleepers = bench.word + MYR_LINE;
    myr_waiter_init(&bench.waiter, bench.segment, progress, &policy);
    myr_watch_init(&bench.watch, &bench.waiter, bench.sleepers);
    memset(&calls, 0, sizeof(calls));
    memset(&scenario, 0, sizeof(scenario));
    scenario.word = bench.word;
    scenario.epoch = 1;
    never_time_out = false;
    processor_time = TIME_REAL;
}

static void bench_end(void)
{
    assert_int_equal(myr_load_acquire(bench.sleepers), 0);
    crew_memory_free(bench.word, SHARED_BYTES);
    myr_segment_leave(bench.segment);
}

/* ---- phases ---- */

/* A word that has already reached the epoch ends a wait at once, also when epochs wrap around. */
TEST(epochs)
{
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
    assert_int_equal(calls.yields + calls.progress + calls.sleeps, 0);
    assert_int_equal(bench.watch.waits, 0);
    bench_end();
}

/* Check the phases of a wait until the word is published at the n-th call. */
TEST(phases)
{
    static const struct {
        struct myr_wait_policy policy;
        enum clock time;
        uint32_t at_yield, at_progress, progress, yields_least, yields_most, sleeps;
    } cases[] = {
        {{INT32_MAX, 0, 1000}, TIME_REAL, 0, 3, 3, 0, 0, 0}, /* progress while polling */
        {{10, -1, 1000}, TIME_REAL, 2, 0, 0, 2, 2, 0},       /* no progress at the first yields */
        {{0, -1, 1000}, TIME_REAL, 0, 1000, 1000, 1000, UINT32_MAX, 0}, /* -1: never sleeps */
        {{-1, -1, 1000}, TIME_REAL, 0, 1000, 1000, 0, 0, 0}, /* no yields on an own core */
        /* Endless traffic, or a machine so slow that it resembles that, does not delay the
         * detection of the word. */
        {{0, 0, 50}, TIME_PER_PROGRESS, 0, 100, 100, 0, UINT32_MAX, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (0 != cases[i].at_yield && !trapped) {
            continue;
        }
        bench_begin(NULL, cases[i].policy.spin, cases[i].policy.sleep_after, cases[i].policy.slice);
        processor_time = cases[i].time;
        scenario.at_yield = cases[i].at_yield;
        scenario.at_progress = cases[i].at_progress;
        myr_wait(&bench.watch, bench.word, 1);
        assert_int_equal(calls.progress, cases[i].progress);
        assert_int_equal(calls.sleeps, cases[i].sleeps);
        assert_true(calls.yields >= cases[i].yields_least || !trapped);
        assert_true(calls.yields <= cases[i].yields_most);
        bench_end();
    }
}

/* Each sleep is twice as long as the previous one, up to the limit, with progress in between.
 * While progress does some work, sleeps stay short. */
TEST(sleeps_in_slices)
{
    static const struct {
        int32_t slice;
        enum clock time;
        uint32_t us[8];
    } cases[] = {{1000, TIME_FROZEN, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {1000, TIME_PER_READ, {50, 100, 200, 400, 800, 1000, 1000, 1000}},
                 {1000, TIME_AFTER_SLEEP, {50, 50, 50, 50, 50, 50, 50, 50}},
                 {70, TIME_FROZEN, {50, 70, 70, 70, 70, 70, 70, 70}},
                 {20, TIME_PER_READ, {20, 20, 20, 20, 20, 20, 20, 20}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        bench_begin(NULL, 0, 0, cases[i].slice);
        processor_time = cases[i].time;
        scenario.at_sleep = 8;
        myr_wait(&bench.watch, bench.word, 1);
        assert_true(calls.progress >= 8); /* one while yielding, and some after each sleep */
        assert_ptr_equal(calls.slept_on, bench.word);
        assert_int_equal(calls.sleeps, 8);
        for (int s = 0; s < 8; ++s) {
            assert_int_equal(calls.sleep_us[s], cases[i].us[s]);
        }
        bench_end();
    }
}

/* A wait does not end while its word advances but has not reached the epoch, also when epochs wrap
 * around. */
static myr_word *slow_word;

static void advance_slow_word(void)
{
    ++calls.progress;
    myr_fetch_add(slow_word);
}

TEST(waits_for_its_epoch)
{
    static const struct myr_wait_policy policies[] = {
        {INT32_MAX, -1, 100}, {0, -1, 100}, {0, 0, 100}};
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); ++i) {
        bench_begin(NULL, policies[i].spin, policies[i].sleep_after, policies[i].slice);
        bench.waiter.progress = advance_slow_word;
        slow_word = bench.word;
        myr_store_release(bench.word, UINT32_MAX - 4);
        myr_wait(&bench.watch, bench.word, 5);
        if (policies[i].sleep_after < 0) {
            assert_int_equal(myr_load_acquire(bench.word), 5);
            assert_int_equal(calls.progress, 10);
        } else { /* after a sleep, progress is called several times */
            assert_true(myr_epoch_reached(myr_load_acquire(bench.word), 5));
            assert_true(calls.progress >= 10);
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
    CREW_CHECK(1 == calls.sleeps || (0 == calls.sleeps && 1 == myr_load_acquire(bench.word)),
               "slept %u times", calls.sleeps);
}

/* One wake-up wakes all processes that sleep on a word. They have no timeout here. */
TEST(wakes_all)
{
    enum { SLEEPERS = 5 };
    for (int round = 0; round < 20; ++round) {
        pid_t pids[SLEEPERS];
        bench_begin(NULL, 0, 0, 1000);
        myr_wake(&bench.watch, bench.word);
        assert_int_equal(calls.wakes, 0); /* no process sleeps */
        for (uint32_t r = 0; r < SLEEPERS; ++r) {
            pids[r] = crew_fork(sleep_until_woken, r, NULL);
        }
        while (SLEEPERS != myr_load_acquire(bench.sleepers)) {
            usleep(100);
        }
        myr_store_release(bench.word, 1);
        myr_wake(&bench.watch, bench.word);
        assert_int_equal(calls.wakes, 1);
        assert_int_equal(calls.woken_at_most, INT_MAX);
        assert_ptr_equal(calls.woken_for, bench.word);
        for (uint32_t r = 0; r < SLEEPERS; ++r) {
            assert_true(crew_join(pids[r]));
        }
        bench_end(); /* expects that no process is counted as asleep */
    }
}

/* ---- whether to poll at all ---- */

static void wait_once(void)
{
    myr_store_release(bench.word, 0);
    scenario.at_progress = calls.progress + 1;
    myr_wait(&bench.watch, bench.word, 1);
}

/* Join the segment as if from another process. */
static struct myr_segment *join_neighbour(const char *dir)
{
    struct myr_segment *neighbour;
    crew_pretend_another();
    const enum myr_status status = myr_segment_join(dir, 1 << 20, &neighbour, NULL);
    crew_pretend_no_more();
    assert_int_equal(status, MYR_OK);
    return neighbour;
}

/* Bind this process to one CPU; `all` returns its previous affinity. */
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

/* Two processes on one CPU do not poll. When one leaves, the other polls again, and so on. */
TEST(detects_neighbours)
{
    char dir[200];
    cpu_set_t all;
    struct myr_segment *neighbour;
    bind_to_one(&all);
    crew_dir_make(dir, sizeof(dir));

    bench_begin(dir, -1, -1, 1000);
    assert_false(myr_waiter_oversubscribed(&bench.waiter));
    assert_true(bench.watch.polls > 0);
    for (int round = 0; round < 3; ++round) {
        neighbour = join_neighbour(dir);
        struct myr_waiter second; /* oversubscribed from the start */
        myr_waiter_init(&second, bench.segment, progress, &bench.waiter.policy);
        assert_true(myr_waiter_oversubscribed(&second));
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

    /* A number given by the user always applies. */
    bench_begin(dir, 7, -1, 1000);
    assert_int_equal(bench.watch.polls, 7);
    neighbour = join_neighbour(dir);
    for (int i = 0; i < 1000; ++i) {
        wait_once();
    }
    assert_int_equal(bench.watch.polls, 7);
    myr_segment_leave(neighbour);
    bench_end();

    crew_dir_remove(dir);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* A process whose affinity was changed from outside publishes it when it sleeps. */
TEST(publishes_its_affinity)
{
    cpu_set_t all;
    bench_begin(NULL, 0, 0, 100);
    const uint32_t before = myr_load_acquire(myr_segment_population(bench.segment));
    bind_to_one(&all);
    if (CPU_COUNT(&all) < 2) {
        bench_end();
        skip();
    }
    scenario.at_progress = 3;
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
} reported;

/* Called when the wait has become a long one, and once again: then it publishes the word. */
static struct myr_shown_wait *long_wait(const struct myr_watch *watch, uint32_t times)
{
    assert_ptr_equal(watch->owner, &reported);
    assert_int_equal(times, ++reported.begun);
    if (times > 1) {
        myr_store_release(bench.word, 1);
        return NULL;
    }
    atomic_store(&reported.shown.since_ms, 1);
    return &reported.shown;
}

TEST(reports_long_waits)
{
    bench_begin(NULL, 0, 0, 1000);
    memset(&reported, 0, sizeof(reported));
    bench.waiter.progress = quiet;
    bench.waiter.long_wait = long_wait;
    bench.watch.owner = &reported;
    const uint64_t start_us = os_now_us();
    myr_wait(&bench.watch, bench.word, 1);
    assert_true(os_now_us() - start_us >= 2 * MYR_LONG_WAIT_US);
    assert_int_equal(reported.begun, 2);
    assert_int_equal(atomic_load(&reported.shown.since_ms), 0); /* hidden after the wait */
    myr_wait(&bench.watch, bench.word, 1);                      /* a short wait */
    assert_int_equal(reported.begun, 2);
    bench_end();
}

/* ---- abandoned waits ---- */

static uint32_t checks; /* number of calls of abandons() until it returns true */

static bool abandons(const struct myr_watch *watch)
{
    assert_ptr_equal(watch->owner, &checks);
    return 0 == checks || 0 == --checks;
}

/* In each phase, an abandoned wait ends although the word is never published. Later waits end at
 * once. */
TEST(abandons_waits)
{
    static const struct {
        int32_t spin, sleep_after;
        uint32_t checks;
    } phases[] = {{4 * MYR_WORD_PROGRESS, -1, 3}, {0, -1, 3}, {0, 0, 3}, {MYR_WORD_PROGRESS, 0, 5}};
    for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]); ++p) {
        bench_begin(NULL, phases[p].spin, phases[p].sleep_after, 100);
        bench.waiter.progress = quiet;
        bench.waiter.abandons = abandons;
        bench.watch.owner = &checks;
        checks = phases[p].checks;
        myr_wait(&bench.watch, bench.word, 1);
        assert_true(bench.watch.abandoned);
        assert_int_equal(checks, 0);
        checks = UINT32_MAX;
        myr_wait(&bench.watch, bench.word, 1);
        assert_int_equal(checks, UINT32_MAX);
        bench_end();
    }
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 300 };

static myr_word ring[THREADS][MYR_LINE / sizeof(myr_word)];

static void *run_round(void *opaque)
{
    const uint32_t self = (uint32_t)(uintptr_t)opaque, left = (self + THREADS - 1) % THREADS;
    struct myr_watch watch;
    myr_watch_init(&watch, &bench.waiter, bench.sleepers);
    for (uint32_t lap = 1; lap <= ROUNDS; ++lap) {
        myr_wait(&watch, &ring[left][0], 0 == self ? lap - 1 : lap);
        myr_store_release(&ring[self][0], lap);
        myr_wake(&watch, &ring[self][0]);
        (void)myr_waiter_oversubscribed(&bench.waiter);
    }
    return NULL;
}

/* A ring of threads that share one waiter. */
TEST(threads_share_a_waiter)
{
    pthread_t threads[THREADS];
    bench_begin(NULL, -1, 0, 1000);
    bench.waiter.progress = quiet;
    for (uintptr_t t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, run_round, (void *)t), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(myr_load_acquire(&ring[t][0]), ROUNDS);
    }
    bench_end();
}

int main(void)
{
    crew_watchdog();
    *(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
    trap_yields();
    return test_run(NULL);
}
