/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of processes; see parts.h. */
#include "bench/parts_inside.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_nicbarr/schedule.h"

enum {
    SLOT_BYTES = 64 << 10, /* more than any plan of two processes needs */
    MOST_WAITS = 64,
};

struct parts_pair {
    struct parts_memory memory;
    cpu_set_t before; /* affinity of this process before the pair was opened */
    pid_t partner;
    bool barrier; /* true: a barrier; false: a ping-pong */
    bool asleep;  /* in a ping-pong, a word is only written while the other process sleeps */
    struct nicbarr_choice choice;
    struct myr_group group;
    myr_word *ball[2]; /* words of a ping-pong: written by this process, and by the partner */
    uint32_t epoch;
    uint32_t plays;
    myr_word *last; /* number of the last operation; 0: not known yet */
};

/* Returns the core for process `which` of the pair, or -1 if there are too few. */
static int processor_for(const cpu_set_t *allowed, enum parts_way way, int which)
{
    int nth = PARTS_YIELDING == way ? 0 : which;
    for (int p = 0; p < CPU_SETSIZE; ++p) {
        if (CPU_ISSET(p, allowed) && 0 == nth--) {
            return p;
        }
    }
    return -1;
}

static bool bind_to(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return 0 == sched_setaffinity(0, sizeof(set), &set);
}

static bool make_plan(struct parts_pair *pair, uint32_t rank)
{
    struct myr_group *group = &pair->group;
    void *slots = myr_group_slots(group);
    static const uint32_t leaf_of[2] = {0, 0};
    const struct nicbarr_among among = {pair->choice, 2};
    switch (pair->choice.algorithm) {
    case NICBARR_FLAGS:
        return myr_plan_flags(&group->plan, slots, 2, rank, pair->choice.parameter);
    case NICBARR_COUNTER:
        return myr_plan_counter(&group->plan, slots, 2, rank, 1, leaf_of);
    default:
        return myr_plan_messages(&group->plan, slots, rank, MOST_WAITS,
                                 NICBARR_TREE == pair->choice.algorithm, nicbarr_schedule_of,
                                 &among);
    }
}

/* Initialises the group of this process. The partner does so after the fork, so that each process
 * has its own state. */
static bool pair_begin(struct parts_pair *pair, uint32_t rank)
{
    myr_group_init(&pair->group, pair->memory.record, &pair->memory.waiter, 2, rank);
    return !pair->barrier || make_plan(pair, rank);
}

/* Writes the word for which the other process waits. With PARTS_SLEEPING it first waits until that
 * process sleeps, because otherwise the word could be written before the process falls asleep, and
 * no wake-up would be measured. */
static void throw_ball(const struct parts_pair *pair, myr_word *ball)
{
    while (pair->asleep && 0 == myr_load_acquire(pair->group.watch.sleepers)) {
        myr_cpu_relax();
    }
    myr_store_release(ball, pair->epoch);
    myr_wake(&pair->group.watch, ball);
}

static void play_first(struct parts_pair *pair)
{
    ++pair->epoch;
    throw_ball(pair, pair->ball[0]);
    myr_wait(&pair->group.watch, pair->ball[1], pair->epoch);
}

static void play_second(struct parts_pair *pair)
{
    ++pair->epoch;
    myr_wait(&pair->group.watch, pair->ball[0], pair->epoch);
    throw_ball(pair, pair->ball[1]);
}

void parts_pair_play(struct parts_pair *pair)
{
    ++pair->plays;
    if (pair->barrier) {
        myr_group_barrier(&pair->group);
    } else {
        play_first(pair);
    }
}

static void be_partner(struct parts_pair *pair, int processor)
{
    if (!bind_to(processor) || !pair_begin(pair, 1)) {
        _exit(1);
    }
    /* `last` is set before the last operation, whose synchronisation makes it visible here. */
    do {
        if (pair->barrier) {
            myr_group_barrier(&pair->group);
        } else {
            play_second(pair);
        }
    } while (++pair->plays != myr_load_acquire(pair->last));
    _exit(0);
}

static struct parts_pair *pair_open(enum parts_way way, struct parts_pair is)
{
    struct parts_pair *pair = malloc(sizeof(*pair));
    if (NULL == pair) {
        return NULL;
    }
    *pair = is;
    int processors[2] = {-1, -1};
    if (0 == sched_getaffinity(0, sizeof(pair->before), &pair->before)) {
        processors[0] = processor_for(&pair->before, way, 0);
        processors[1] = processor_for(&pair->before, way, 1);
    }
    if (processors[0] < 0 || processors[1] < 0 ||
        !parts_memory_open(&pair->memory, way, SLOT_BYTES)) {
        free(pair);
        return NULL;
    }
    uint8_t *slots = myr_group_slots(&(struct myr_group){.record = pair->memory.record,
                                                         .size = 2}); /* after the arrival words */
    uint8_t *end = slots + SLOT_BYTES - myr_group_arrival_bytes(2);
    pair->last = (myr_word *)(end - MYR_LINE);
    pair->ball[0] = (myr_word *)slots;
    pair->ball[1] = (myr_word *)(slots + MYR_LINE);

    fflush(NULL);
    const pid_t parent = getpid();
    pair->partner = fork();
    if (0 == pair->partner) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            be_partner(pair, processors[1]);
        }
        _exit(1);
    }
    if (pair->partner < 0 || !bind_to(processors[0]) || !pair_begin(pair, 0)) {
        if (pair->partner > 0) {
            kill(pair->partner, SIGKILL);
            waitpid(pair->partner, NULL, 0);
        }
        sched_setaffinity(0, sizeof(pair->before), &pair->before);
        parts_memory_close(&pair->memory);
        free(pair);
        return NULL;
    }
    return pair;
}

struct parts_pair *parts_pingpong_open(enum parts_way way)
{
    return pair_open(way, (struct parts_pair){.asleep = PARTS_SLEEPING == way});
}

struct parts_pair *parts_barrier_open(enum parts_way way, const char *layout)
{
    struct parts_pair pair = {.barrier = true};
    return nicbarr_choice_parse(layout, &pair.choice) ? pair_open(way, pair) : NULL;
}

void parts_pair_close(struct parts_pair *pair)
{
    myr_store_release(pair->last, pair->plays + 1);
    parts_pair_play(pair);
    waitpid(pair->partner, NULL, 0);
    sched_setaffinity(0, sizeof(pair->before), &pair->before);
    myr_plan_destroy(&pair->group.plan);
    parts_memory_close(&pair->memory);
    free(pair);
}
