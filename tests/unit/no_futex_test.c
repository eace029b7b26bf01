/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the node's shared memory on systems that refuse futexes on such memory, for example by a
 * seccomp filter. There the C library aborts a process that has to block on a mutex. A failure
 * means that jobs crash or hang on such systems.
 *
 * Invariants: the processes of a node still share a segment and its lock; a wait for a word falls
 * back to short sleeps, and ends.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libmyr/node/segment_inside.h"
#include "libmyr/node/waiter.h"
#include "os/futex.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { LIMIT = 1 << 20, ROUNDS = 200, SLEEPS = 3 };

/* ---- the system ---- */

static bool refuse_shared_futexes(void)
{
    enum {
        OPERATION = offsetof(struct seccomp_data, args[1]) +
                    (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0)
    };
    static struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OS_FUTEX, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OPERATION),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FUTEX_PRIVATE_FLAG, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
    return 0 == prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           0 == prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static struct {
    uint32_t sleeps, publish_at; /* number of the sleep at which `word` becomes 1 */
    myr_word *word;
} scenario;

static _Atomic uint32_t *shared_sleeps; /* shared by all processes; NULL: not counted */

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (NULL != scenario.word && ++scenario.sleeps == scenario.publish_at) {
        myr_store_release(scenario.word, 1);
    }
    if (NULL != shared_sleeps) {
        atomic_fetch_add(shared_sleeps, 1);
    }
#if 4 == __SIZEOF_LONG__ && defined(SYS_clock_nanosleep_time64)
    return (int)syscall(SYS_clock_nanosleep_time64, CLOCK_MONOTONIC, 0, time, left);
#else
    return (int)syscall(SYS_nanosleep, time, left);
#endif
}

#define IN_A_DIR(name) TEST_IN(name, crew_dir_begin, crew_dir_end)

/* ---- tests ---- */

TEST(is_refused)
{
    static const uint32_t word;
    const struct timespec moment = {0, 1000};
    errno = 0;
    assert_int_equal(syscall(OS_FUTEX, &word, FUTEX_WAIT, 0, &moment, NULL, 0), -1);
    assert_int_equal(errno, EPERM);
}

static void read_a_value(uint32_t rank, void *context)
{
    (void)rank;
    struct myr_segment *segment = context;
    CREW_CHECK(7 == myr_kv_get(segment, 5), "wrong value");
}

/* The parent holds the lock until the child has slept while it waits for it. The child must not
 * have ended meanwhile. */
IN_A_DIR(contended_lock)
{
    struct myr_segment *segment = NULL;
    int status = 0;
    shared_sleeps = crew_memory(sizeof(*shared_sleeps));
    assert_int_equal(myr_segment_join(crew_dir, LIMIT, &segment, NULL), MYR_OK);
    assert_true(myr_kv_set(segment, 5, 7));
    myr_segment_lock(segment);
    const pid_t other = crew_fork(read_a_value, 0, segment);
    pid_t ended = 0;
    while (0 == ended && atomic_load(shared_sleeps) < SLEEPS) {
        usleep(100);
        ended = waitpid(other, &status, WNOHANG);
    }
    assert_int_equal(ended, 0);
    myr_segment_unlock(segment);
    assert_true(crew_join(other));
    myr_segment_leave(segment);
    crew_memory_free(shared_sleeps, sizeof(*shared_sleeps));
    shared_sleeps = NULL;
}

static void nothing(void) {}

static void wait_for(myr_word *word, struct myr_segment *segment, uint32_t epoch)
{
    static const struct myr_wait_policy at_once = {0, 0, 1000000};
    struct myr_waiter waiter;
    struct myr_watch watch;
    myr_waiter_init(&waiter, segment, nothing, &at_once);
    myr_watch_init(&watch, &waiter, word + 1);
    myr_wait(&watch, word, epoch);
}

/* The wait ends shortly after the word is published rather than at the end of the timeout, although
 * no process wakes the waiting one. */
IN_A_DIR(waits_by_sleeping)
{
    struct myr_segment *segment = NULL;
    myr_word *word = crew_memory(4096);
    assert_int_equal(myr_segment_join(crew_dir, LIMIT, &segment, NULL), MYR_OK);
    scenario.word = word;
    scenario.publish_at = SLEEPS;
    wait_for(word, segment, 1);
    assert_int_equal(scenario.sleeps, SLEEPS);
    scenario.word = NULL;
    myr_segment_leave(segment);
    crew_memory_free(word, 4096);
}

/* Reply to each message of a ping-pong between two processes. */
static void reply(uint32_t rank, void *context)
{
    myr_word *words = context;
    struct myr_segment *segment;
    CREW_CHECK(MYR_OK == myr_segment_join(crew_dir, LIMIT, &segment, NULL), "cannot join");
    for (uint32_t round = 1; round <= ROUNDS; ++round) {
        myr_word *own = words + (size_t)rank * MYR_LINE, *other = words + (1 - rank) * MYR_LINE;
        if (1 == rank) {
            wait_for(other, segment, round);
        }
        myr_store_release(own, round);
        myr_wake_slow(own);
        if (0 == rank) {
            wait_for(other, segment, round);
        }
    }
    myr_segment_leave(segment);
}

IN_A_DIR(ping_pong)
{
    myr_word *words = crew_memory(4096);
    assert_true(crew_run(2, reply, words));
    crew_memory_free(words, 4096);
}

int main(void)
{
    crew_watchdog();
    if (!refuse_shared_futexes()) {
        printf("skipped: seccomp filters are not available here\n");
        return 77;
    }
    return test_run(NULL);
}
