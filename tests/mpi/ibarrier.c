/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking and persistent barriers: none is complete before everybody has entered it, starting
 * one never waits, and many may be outstanding in any mixture.
 *
 * Parts:
 *  - late: a request that is polled while one process verifiably has not entered;
 *  - nonblocking: programs that are correct only if MPI_Ibarrier returns at once, also as the
 *    first call on a communicator, when a lazily made group is tempted to wait for the others;
 *  - freed: the communicator is freed (and its context id given out again) under outstanding
 *    requests. Only with --freed: MPI allows it, but Open MPI's own barriers (coll/libnbc of 4.1.4
 *    and 5.0.7) crash in it;
 *  - many: so many on one communicator that no NIC begins all of them at once. Only with --many;
 *  - mixture: all processes follow one random plan of MPI_Ibarrier, MPI_Barrier, MPI_Start and
 *    MPI_Startall on a few communicators. Up to 64 are outstanding at once. Each process chooses
 *    for itself in which order it completes them, and by which of MPI's functions.
 *
 * Why the mixture cannot deadlock by itself: a process only waits for what it has started. The one
 * that is least advanced in the plan waits for operations that all others have started too.
 *
 * MPI matches persistent operations when they are made (MPI 4.0, 6.13): they may be started in
 * different orders on different processes, and each has a ledger of its own.
 */
#include "common.h"

#include <stdlib.h>

static long steps = 1500;
static long rounds = 10;
static long freed;
static long many;
static long blocking;

static const struct test_option options[] = {
    {"--steps", OPTION_LONG, &steps, "steps of the mixture (1500)"},
    {"--rounds", OPTION_LONG, &rounds, "rounds of each of the other parts (10)"},
    {"--blocking", OPTION_FLAG, &blocking,
     "an MPI_Barrier on the mixture's communicators first: across hosts theirs are the NICs' then"},
    {"--many", OPTION_LONG, &many,
     "also the part \"many\": so many are outstanding at once (0: leave it out)"},
    {"--freed", OPTION_FLAG, &freed,
     "also the part \"freed\" (Open MPI's own barriers crash in it)"},
};

enum {
    MAX_OUTSTANDING = 64,
    PERSISTENT_EACH = 4, /* per communicator */
    PERSISTENT = PERSISTENT_EACH * USUAL_COMMUNICATORS,
    SLOTS = 1 << 16,
    TAG = 3
};

static struct arena arena;
static unsigned next_slot = USUAL_COMMUNICATORS; /* counted alike by all processes */

/* ---- what I have started and not completed ---- */

struct persistent {
    struct ledger ledger;
    MPI_Request request;
    bool active;
};

/* The requests are an array of their own because MPI wants one. */
static struct {
    int n;
    MPI_Request requests[MAX_OUTSTANDING];
    struct {
        const struct ledger *ledger;
        uint32_t k;
        struct persistent *persistent; /* or NULL */
    } what[MAX_OUTSTANDING];
} outstanding;

static void remember(const struct ledger *ledger, uint32_t k, MPI_Request request,
                     struct persistent *persistent)
{
    int i = outstanding.n++;
    outstanding.requests[i] = request;
    outstanding.what[i].ledger = ledger;
    outstanding.what[i].k = k;
    outstanding.what[i].persistent = persistent;
}

/* Number i is complete, MPI says; the last one takes its place. */
static void completed(int i, const char *how)
{
    ledger_left(outstanding.what[i].ledger, outstanding.what[i].k, how);
    if (outstanding.what[i].persistent)
        outstanding.what[i].persistent->active = false;
    else
        TEST_CHECK(outstanding.requests[i] == MPI_REQUEST_NULL, outstanding.what[i].ledger->name,
                   "%s left a request of MPI_Ibarrier that is not MPI_REQUEST_NULL", how);
    outstanding.n--;
    outstanding.requests[i] = outstanding.requests[outstanding.n];
    outstanding.what[i] = outstanding.what[outstanding.n];
}

static void wait_for(int i)
{
    MPI_Wait(&outstanding.requests[i], MPI_STATUS_IGNORE);
    completed(i, "MPI_Wait");
}

static void wait_for_all(void)
{
    MPI_Waitall(outstanding.n, outstanding.requests, MPI_STATUSES_IGNORE);
    while (outstanding.n > 0)
        completed(outstanding.n - 1, "MPI_Waitall");
}

static void test_one(int i)
{
    int seen, flag;
    MPI_Request_get_status(outstanding.requests[i], &seen, MPI_STATUS_IGNORE);
    if (seen)
        ledger_left(outstanding.what[i].ledger, outstanding.what[i].k, "MPI_Request_get_status");
    MPI_Test(&outstanding.requests[i], &flag, MPI_STATUS_IGNORE);
    TEST_CHECK(flag || !seen, outstanding.what[i].ledger->name,
               "MPI_Test finds a barrier incomplete that MPI_Request_get_status found complete");
    if (flag)
        completed(i, "MPI_Test");
}

/* MPI_Waitsome or MPI_Testsome. What is done is removed from the highest index down: the others'
 * indices stay valid. */
static void complete_some(bool wait)
{
    int n_done, done[MAX_OUTSTANDING];
    bool is_done[MAX_OUTSTANDING] = {false};
    if (wait)
        MPI_Waitsome(outstanding.n, outstanding.requests, &n_done, done, MPI_STATUSES_IGNORE);
    else
        MPI_Testsome(outstanding.n, outstanding.requests, &n_done, done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_done; i++)
        is_done[done[i]] = true;
    for (int i = outstanding.n - 1; i >= 0; i--)
        if (is_done[i])
            completed(i, wait ? "MPI_Waitsome" : "MPI_Testsome");
}

/* Completes none, some or all, as this process likes. */
static void complete_at_will(struct rng *mine)
{
    int i, flag;
    if (outstanding.n == 0)
        return;
    i = (int)rng_below(mine, (unsigned)outstanding.n);
    switch (rng_below(mine, 16)) {
    case 0:
        wait_for(i);
        break;
    case 1:
        MPI_Waitany(outstanding.n, outstanding.requests, &i, MPI_STATUS_IGNORE);
        completed(i, "MPI_Waitany");
        break;
    case 2:
        MPI_Testany(outstanding.n, outstanding.requests, &i, &flag, MPI_STATUS_IGNORE);
        if (flag)
            completed(i, "MPI_Testany");
        break;
    case 3:
        complete_some(true);
        break;
    case 4:
        complete_some(false);
        break;
    case 5:
        MPI_Testall(outstanding.n, outstanding.requests, &flag, MPI_STATUSES_IGNORE);
        while (flag && outstanding.n > 0)
            completed(outstanding.n - 1, "MPI_Testall");
        break;
    case 6:
        if (rng_below(mine, 4) == 0)
            wait_for_all();
        break;
    case 7:
    case 8:
        test_one(i);
        break;
    default:
        break;
    }
}

static void start_one(struct ledger *ledger)
{
    MPI_Request request;
    if (outstanding.n == MAX_OUTSTANDING)
        wait_for_all();
    uint32_t k = start_ibarrier(ledger, &request);
    remember(ledger, k, request, NULL);
}

/* ---- persistent ones ---- */

/* False where MPI has none. */
static bool make_persistent(struct persistent *persistent, const struct ledger *like)
{
    ledger_open(&persistent->ledger, &arena, next_slot++, like->comm, "persistent on %s",
                like->name);
    persistent->active = false;
    return persistent_barrier_init(&persistent->ledger, &persistent->request);
}

/* Until it is not active, and there is room for n more. */
static void make_startable(struct persistent *persistent, int n)
{
    for (int i = 0; persistent->active && i < outstanding.n; i++)
        if (outstanding.what[i].persistent == persistent)
            wait_for(i);
    if (outstanding.n + n > MAX_OUTSTANDING)
        wait_for_all();
}

static void free_persistent(struct persistent *persistent)
{
    make_startable(persistent, 0);
    MPI_Request_free(&persistent->request);
    ledger_close(&persistent->ledger);
}

/* Starts those of one communicator that the plan names, in my own order, with one call or several.
 * The entry is counted before: a barrier may be complete as soon as it is started. */
static void start_persistent(struct persistent *all, unsigned chosen, struct rng *mine)
{
    int order[PERSISTENT_EACH], n = 0;
    MPI_Request requests[PERSISTENT_EACH];
    struct persistent *starting[PERSISTENT_EACH];
    uint32_t k[PERSISTENT_EACH];
    bool one_call = rng_below(mine, 2);

    rng_permutation(mine, order, PERSISTENT_EACH);
    for (int i = 0; i < PERSISTENT_EACH; i++)
        if (chosen & 1u << order[i])
            make_startable(&all[order[i]], PERSISTENT_EACH);
    for (int i = 0; i < PERSISTENT_EACH; i++) {
        struct persistent *persistent = &all[order[i]];
        if (!(chosen & 1u << order[i]))
            continue;
        k[n] = ledger_enter(&persistent->ledger);
        if (!one_call)
            MPI_Start(&persistent->request);
        starting[n] = persistent;
        requests[n++] = persistent->request;
    }
    if (one_call)
        MPI_Startall(n, requests);
    for (int i = 0; i < n; i++) {
        starting[i]->active = true;
        remember(&starting[i]->ledger, k[i], requests[i], starting[i]);
    }
}

/* ---- the parts ---- */

static void part_mixture(struct ledger *ledgers)
{
    struct rng plan = rng_make(STREAM_PLAN);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    static struct persistent persistent[PERSISTENT];
    bool have_persistent = true;

    test_phase("mixture");
    for (int i = 0; i < PERSISTENT; i++)
        have_persistent = make_persistent(&persistent[i], &ledgers[i / PERSISTENT_EACH]);
    if (!have_persistent)
        test_report("ibarrier: this MPI has no persistent barrier, left out\n");

    for (long step = 0; step < steps; step++) {
        unsigned comm = rng_below(&plan, USUAL_COMMUNICATORS);
        struct persistent *own = &persistent[comm * PERSISTENT_EACH];
        unsigned kind = rng_below(&plan, 100);
        /* The last one of each communicator is never started. */
        unsigned chosen = rng_below(&plan, 1u << (PERSISTENT_EACH - 1));
        delay_random(&mine);
        if (kind < 50) {
            start_one(&ledgers[comm]);
        } else if (kind < 60) {
            checked_barrier(&ledgers[comm]);
        } else if (kind < 62) {
            /* As many as can be on one communicator, completed in any order. */
            for (int i = 0; i < MAX_OUTSTANDING; i++)
                start_one(&ledgers[comm]);
            while (outstanding.n > 0)
                wait_for((int)rng_below(&mine, (unsigned)outstanding.n));
        } else if (have_persistent && kind < 98) {
            start_persistent(own, chosen, &mine);
        } else if (have_persistent) {
            int i = (int)rng_below(&plan, PERSISTENT_EACH);
            free_persistent(&own[i]);
            make_persistent(&own[i], &ledgers[comm]);
        }
        complete_at_will(&mine);
    }
    wait_for_all();
    for (int i = 0; i < PERSISTENT; i++) {
        if (have_persistent)
            free_persistent(&persistent[i]);
        else
            ledger_close(&persistent[i].ledger);
    }
}

/* A fresh duplicate of WORLD with a ledger, sometimes already used once. */
static struct ledger fresh_communicator(bool used_before)
{
    struct ledger ledger;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ledger_open(&ledger, &arena, next_slot++, comm, "%s dup of WORLD",
                used_before ? "used" : "fresh");
    if (used_before)
        checked_barrier(&ledger);
    return ledger;
}

static void drop_communicator(struct ledger *ledger)
{
    MPI_Comm_free(&ledger->comm);
    ledger_close(ledger);
}

/* All start so many before they wait for any. */
static void part_many(void)
{
    struct ledger ledger = fresh_communicator(true);
    MPI_Request *requests = calloc((size_t)many, sizeof(*requests));
    uint32_t *k = calloc((size_t)many, sizeof(*k));
    test_phase("many");
    for (long i = 0; i < many; i++)
        k[i] = start_ibarrier(&ledger, &requests[i]);
    MPI_Wait(&requests[many / 2], MPI_STATUS_IGNORE);
    ledger_left(&ledger, k[many / 2], "MPI_Wait");
    MPI_Waitall((int)many, requests, MPI_STATUSES_IGNORE);
    for (long i = 0; i < many; i++)
        ledger_left(&ledger, k[i], "MPI_Waitall");
    free(requests);
    free(k);
    drop_communicator(&ledger);
}

/* Everybody but the late one polls a request, then tells the late one, which enters only then. The
 * check is in ledger_left: a request that is complete too early finds the late one missing. */
static void part_late(void)
{
    for (long round = 0; round < rounds; round++) {
        struct ledger ledger = fresh_communicator(round % 2);
        MPI_Request request;
        uint32_t k;
        int late = (int)(round % test.size), flag = 0;
        test_phase("late");
        if (test.rank == late) {
            for (int i = 0; i < test.size - 1; i++)
                MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            k = start_ibarrier(&ledger, &request);
        } else {
            k = start_ibarrier(&ledger, &request);
            for (int i = 0; i < 100; i++) {
                if (!flag)
                    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                if (flag)
                    ledger_left(&ledger, k, "MPI_Test, before the late process entered,");
            }
            MPI_Send(NULL, 0, MPI_BYTE, late, TAG, MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ledger_left(&ledger, k, "MPI_Wait");
        drop_communicator(&ledger);
    }
}

/* One process starts its barriers, and then receives what the others send before they start theirs.
 * In the second half of the rounds it is the other way round. There are messages of all protocols.
 * The large ones need the receiver's help to get going, so even a start that only waits "a little"
 * is a deadlock.
 */
static void part_nonblocking(void)
{
    static const int sizes[] = {0, 1000, 100000, 3000000};
    char *buffer = calloc(1, 3000000);
    for (long round = 0; round < rounds; round++) {
        struct ledger ledger = fresh_communicator(round % 3 == 2);
        int one = (int)(round % test.size), n_requests = 1 + (int)(round % 4);
        int size = sizes[round % (long)TEST_COUNT(sizes)];
        bool one_starts_first = round < (rounds + 1) / 2;
        bool start_first = (test.rank == one) == one_starts_first;
        uint32_t k[4];
        MPI_Request requests[4];

        test_phase("nonblocking");
        for (int i = 0; start_first && i < n_requests; i++)
            k[i] = start_ibarrier(&ledger, &requests[i]);
        for (int peer = 0; peer < test.size; peer++) {
            if (test.rank == peer || (test.rank != one && peer != one))
                continue;
            if (start_first)
                MPI_Recv(buffer, size, MPI_BYTE, peer, TAG, ledger.comm, MPI_STATUS_IGNORE);
            else
                MPI_Send(buffer, size, MPI_BYTE, peer, TAG, ledger.comm);
        }
        for (int i = 0; !start_first && i < n_requests; i++)
            k[i] = start_ibarrier(&ledger, &requests[i]);
        /* Completed from the last one on: that implies the earlier ones' entries, not their
         * requests. */
        for (int i = n_requests - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            ledger_left(&ledger, k[i], "MPI_Wait");
        }
        drop_communicator(&ledger);
    }
    free(buffer);
}

/* MPI_Comm_free with requests outstanding only marks the communicator. A new one is made and used
 * at once, to see whether it gets mixed up with the old one. */
static void part_freed(void)
{
    struct rng mine = rng_make(STREAM_PRIVATE + 300 + (uint64_t)test.rank);
    for (long round = 0; round < rounds; round++) {
        struct ledger old = fresh_communicator(round % 2);
        struct persistent inactive;
        bool with_persistent = make_persistent(&inactive, &old);
        test_phase("freed");
        for (int i = 0; i < 5; i++) {
            delay_random(&mine);
            start_one(&old);
        }
        MPI_Comm_free(&old.comm);
        struct ledger new = fresh_communicator(false);
        start_one(&new);
        checked_barrier(&new);
        delay_random(&mine);
        while (outstanding.n > 0)
            wait_for((int)rng_below(&mine, (unsigned)outstanding.n));
        if (with_persistent)
            free_persistent(&inactive);
        else
            ledger_close(&inactive.ledger);
        ledger_close(&old);
        drop_communicator(&new);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "ibarrier", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    arena_open(&arena, MPI_COMM_WORLD, SLOTS);
    /* Before anything else: the first collective of all is an MPI_Ibarrier on WORLD. */
    struct ledger usual[USUAL_COMMUNICATORS];
    usual_open(&arena, usual);
    checked_ibarrier(&usual[0]);
    for (int c = 0; blocking && c < USUAL_COMMUNICATORS; c++)
        checked_barrier(&usual[c]);

    part_nonblocking();
    part_late();
    if (many > 0)
        part_many();
    if (freed)
        part_freed();
    part_mixture(usual);

    usual_close(usual);
    arena_close(&arena);
    return test_end("");
}
