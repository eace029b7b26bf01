/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the public interface of libmyr (myr/myr.h) in its shared library. A failure means that
 * programs that link it leave barriers early, hang when a node is missing, or get no error message.
 * Each member is a process, and the program's allgather uses shared memory.
 *
 * Invariants: no member leaves a barrier early; invalid arguments fail on all members alike; a
 * missing node is reported and can be given up.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "myr/myr.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { MOST = 6, EPOCHS = 200, BYTES = 512 };

/* Shared by the members of a test. */
struct table {
    uint32_t size;
    uint32_t node[MOST];          /* each member's node; 0: a node of its own */
    const char *algorithm[MOST];  /* each member's algorithm */
    char dir[MOST][64];           /* each node's directory */
    uint32_t failing;             /* the number of the exchange that fails; 0: none */
    _Atomic uint32_t begun[MOST]; /* exchanges that each member has begun */
    uint8_t bytes[2][MOST][BYTES];
    _Atomic uint32_t arrived[MOST]; /* epochs in which each member has arrived */
};

struct member {
    struct table *table;
    uint32_t rank, exchanges;
    struct myr_host *host;
    struct myr_barrier *barrier;
};

/* Two buffers suffice, because a member begins the next exchange but one only when all have read
 * the buffer of this one. */
static bool exchange(void *context, const void *mine, void *all, size_t bytes)
{
    struct member *member = context;
    struct table *table = member->table;
    uint8_t(*place)[BYTES] = table->bytes[member->exchanges++ % 2];
    CREW_CHECK(bytes <= BYTES, "%zu", bytes);
    if (table->failing == member->exchanges) {
        return false;
    }
    memcpy(place[member->rank], mine, bytes);
    atomic_store(&table->begun[member->rank], member->exchanges);
    for (uint32_t r = 0; r < table->size; ++r) {
        while (atomic_load(&table->begun[r]) < member->exchanges) {
            sched_yield();
        }
        memcpy((uint8_t *)all + r * bytes, place[r], bytes);
    }
    return true;
}

static void open_host(struct member *member)
{
    const struct table *table = member->table;
    const uint32_t node = table->node[member->rank];
    const struct myr_options options = {
        .settings = "network=lo",
        .dir = 0 == node ? NULL : table->dir[node],
        .memory = 8,
    };
    char why[MYR_WHY];
    CREW_CHECK(myr_host_open(&options, &member->host, why), "%s", why);
}

static bool create(struct member *member, char *why)
{
    const struct myr_members members = {
        .size = member->table->size,
        .rank = member->rank,
        .allgather = exchange,
        .context = member,
    };
    return myr_barrier_create(member->host, &members, member->table->algorithm[member->rank],
                              &member->barrier, why);
}

static struct table *new_table(uint32_t size, const char *algorithm)
{
    struct table *table = crew_memory(sizeof(*table));
    table->size = size;
    for (uint32_t r = 0; r < size; ++r) {
        table->algorithm[r] = algorithm;
    }
    return table;
}

/* ---- barriers ---- */

static void check_all_arrived(const struct member *member, uint32_t epoch)
{
    for (uint32_t r = 0; r < member->table->size; ++r) {
        CREW_CHECK(atomic_load(&member->table->arrived[r]) >= epoch,
                   "epoch %u is complete, but process %u has not arrived", epoch, r);
    }
}

static uint32_t arrive(struct member *member)
{
    atomic_fetch_add(&member->table->arrived[member->rank], 1);
    return myr_barrier_arrive(member->barrier);
}

/* Execute pairs of outstanding barriers: poll for the first one, and wait for the second one. */
static void run_barriers(uint32_t rank, void *context)
{
    struct member member = {.table = context, .rank = rank};
    char why[MYR_WHY];
    uint64_t random = crew_seed() + rank;
    uint32_t failed;
    open_host(&member);
    CREW_CHECK(create(&member, why), "%s", why);
    for (uint32_t e = 1; e <= EPOCHS; e += 2) {
        const uint32_t first = arrive(&member), second = arrive(&member);
        CREW_CHECK(e == first && e + 1 == second, "epochs %u and %u", first, second);
        if (0 == crew_below(&random, 10)) {
            crew_dawdle(&random);
        }
        while (MYR_DONE != myr_barrier_test(member.barrier, first)) {
            sched_yield();
        }
        check_all_arrived(&member, first);
        CREW_CHECK(MYR_DONE == myr_barrier_wait(member.barrier, second, 0),
                   "the second epoch is not complete");
        check_all_arrived(&member, second);
    }
    CREW_CHECK(!myr_barrier_failed(member.barrier, &failed), "the barrier has failed");
    myr_barrier_free(member.barrier);
    CREW_CHECK(create(&member, why), "the second barrier: %s", why);
    CREW_CHECK(1 == myr_barrier_arrive(member.barrier), "its epochs do not begin at 1");
    myr_barrier_free(member.barrier); /* which waits until all have arrived */
    myr_host_close(member.host);
}

TEST(waits_for_all)
{
    static const char *const algorithms[] = {NULL, "dissemination:2", "tree:2", "pairwise"};
    static const uint32_t nodes[][MOST] = {{0}, {1, 2, 1, 2, 1}, {1, 0, 1, 0, 1}, {1, 1, 1, 1, 1}};
    static const uint32_t sizes[] = {1, 2, 5};
    for (uint32_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
        for (uint32_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); ++n) {
            struct table *table = new_table(sizes[(a + n) % 3], algorithms[a]);
            memcpy(table->node, nodes[n], sizeof(table->node));
            crew_dir_make(table->dir[1], sizeof(table->dir[1]));
            crew_dir_make(table->dir[2], sizeof(table->dir[2]));
            assert_true(crew_run(table->size, run_barriers, table));
            crew_dir_remove(table->dir[1]);
            crew_dir_remove(table->dir[2]);
            crew_memory_free(table, sizeof(*table));
        }
    }
}

/* ---- errors ---- */

static void expect_failure(uint32_t rank, void *context)
{
    struct member member = {.table = context, .rank = rank};
    char why[MYR_WHY] = "";
    open_host(&member);
    CREW_CHECK(!create(&member, why) && NULL == member.barrier, "the barrier was created");
    CREW_CHECK(NULL != strstr(why, 0 == member.table->failing
                                       ? "process 1 has another size, algorithm or NIC"
                                       : "the program's allgather function has failed"),
               "%s", why);
    myr_host_close(member.host);
}

TEST(members_disagree)
{
    struct table *table = new_table(3, "tree:2");
    table->algorithm[1] = "tree:3";
    assert_true(crew_run(table->size, expect_failure, table));
    crew_memory_free(table, sizeof(*table));
}

TEST(exchange_fails)
{
    for (uint32_t failing = 1; failing <= 3; ++failing) {
        struct table *table = new_table(2, NULL);
        table->failing = failing;
        assert_true(crew_run(table->size, expect_failure, table));
        crew_memory_free(table, sizeof(*table));
    }
}

TEST(no_such_host)
{
    static const struct {
        struct myr_options options;
        const char *why;
    } cases[] = {
        {{.nic = "myrinet"}, "\"myrinet\" is not a NIC: those are soft, daemon, kernel and verbs"},
        {{.nic = "auto"}, "\"auto\" is not a NIC"},
        {{.nic = "none"}, "\"none\" is not a NIC"},
        {{.nic = "soft,kernel"}, "\"soft,kernel\" is not a NIC"},
        {{.settings = "speed=2"}, "the soft NIC has no setting \"speed\""},
        {{.settings = "port"}, "the soft NIC has no setting \"port\" (a setting is NAME=VALUE)"},
        {{.settings = "network=lo port=65536"}, "port=65536: must be a number from 0 to 65535"},
        {{.settings = "port=7k"}, "port=7k"},
        {{.settings = "thread=2"}, "thread=2: must be a number from 0 to 1"},
        {{.settings = "network=203.0.113.0/24"}, "203.0.113.0/24"},
        {{.dir = "/nowhere/at/all"}, "/nowhere/at/all"},
        {{.memory = 1025}, "memory must be from 1 to 1024 MiB, and is 1025"},
    };
    for (uint32_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        struct myr_host *host = (struct myr_host *)&cases;
        char why[MYR_WHY] = "";
        assert_false(myr_host_open(&cases[c].options, &host, why));
        assert_null(host);
        if (NULL == strstr(why, cases[c].why)) {
            fail_msg("\"%s\" does not say \"%s\"", why, cases[c].why);
        }
    }
}

TEST(no_such_barrier)
{
    static const struct {
        uint32_t size, rank;
        const char *algorithm, *why;
    } cases[] = {
        {0, 0, NULL, "a barrier has 1 to 4096 processes; process 0 of 0 is not possible"},
        {2, 2, NULL, "process 2 of 2 is not possible"},
        {4097, 0, NULL, "of 4097"},
        {1, 0, "bus", "\"bus\" is not an algorithm for NICs"},
        {1, 0, "tree:0", "\"tree:0\" is not an algorithm"},
        {1, 0, "counter", "\"counter\" is not an algorithm"}, /* only within a node */
        {1, 0, "openmpi", "\"openmpi\" is not an algorithm"},
        {1, 0, "rooted", "\"rooted\" is not an algorithm"}, /* only for reductions */
    };
    struct myr_host *host;
    char why[MYR_WHY];
    assert_true(myr_host_open(&(struct myr_options){.settings = "network=lo"}, &host, why));
    for (uint32_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        const struct myr_members members = {.size = cases[c].size, .rank = cases[c].rank};
        struct myr_barrier *barrier;
        assert_false(myr_barrier_create(host, &members, cases[c].algorithm, &barrier, why));
        assert_null(barrier);
        if (NULL == strstr(why, cases[c].why)) {
            fail_msg("\"%s\" does not say \"%s\"", why, cases[c].why);
        }
    }
    myr_host_close(host);
}

/* ---- a process dies ---- */

enum { VICTIM = 2, JUDGE = 0 };

/* The victim exits after the first barrier. Rank JUDGE waits until it is reported missing, and
 * gives it up. Then all others get a failure. */
static void lose_one(uint32_t rank, void *context)
{
    struct member member = {.table = context, .rank = rank};
    struct myr_missing missing[MOST];
    char why[MYR_WHY];
    uint32_t failed = 0;
    open_host(&member);
    CREW_CHECK(create(&member, why), "%s", why);
    CREW_CHECK(MYR_DONE == myr_barrier_wait(member.barrier, arrive(&member), 0),
               "the first epoch is not complete");
    if (VICTIM == rank) {
        _exit(0);
    }
    const uint32_t epoch = arrive(&member);
    while (JUDGE == rank && !(1 == myr_barrier_missing(member.barrier, missing, MOST) &&
                              VICTIM == missing[0].rank)) {
        CREW_CHECK(MYR_LATE == myr_barrier_wait(member.barrier, epoch, 10000), "no timeout");
    }
    if (JUDGE == rank) {
        CREW_CHECK(MYR_LATE == myr_barrier_test(member.barrier, epoch), "no timeout");
        myr_barrier_give_up(member.barrier, VICTIM);
    }
    CREW_CHECK(MYR_OVER == myr_barrier_wait(member.barrier, epoch, 0), "the barrier did not fail");
    CREW_CHECK(MYR_OVER == myr_barrier_test(member.barrier, epoch), "the barrier did not fail");
    CREW_CHECK(MYR_DONE == myr_barrier_test(member.barrier, 1),
               "a completed epoch is not complete any more");
    CREW_CHECK(myr_barrier_failed(member.barrier, &failed) && VICTIM == failed, "%u", failed);
    myr_barrier_free(member.barrier);
    myr_host_close(member.host);
}

/* In a star, the root waits for the victim, and the others wait for the root. */
TEST(missing_node_is_given_up)
{
    struct table *table = new_table(4, "tree:4");
    assert_true(crew_run(table->size, lose_one, table));
    crew_memory_free(table, sizeof(*table));
}

int main(void)
{
    crew_watchdog();
    (void)crew_seed(); /* shared by the members */
    return test_run(NULL);
}
