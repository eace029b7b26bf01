/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the scheduler of fibres (fibres.h). It is compiled without coverage calls.
 *
 * setcontext() starts a fibre; _setjmp() and _longjmp() suspend and resume it because they make no
 * system call. (The checked longjmp of _FORTIFY_SOURCE would reject the jump to another stack as an
 * error.)
 */
#include "tests/fibres/fibres.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/crew.h"

enum { STACK = 1 << 20, NOBODY = FIBRES_MOST };

static struct {
    ucontext_t first[FIBRES_MOST]; /* the context in which each fibre starts */
    jmp_buf scheduler, of[FIBRES_MOST];
    char *stacks;
    fibre_fn fn;
    void *context;
    uint64_t random;
    uint64_t blocks_left; /* basic blocks until the program counts as hanging */
    uint64_t switches;
    uint32_t count, running, live;
    uint32_t longest; /* most basic blocks of a time slice */
    uint32_t slice;   /* basic blocks left of the present time slice */
    bool started[FIBRES_MOST], ended[FIBRES_MOST];
    struct {
        uint32_t rank; /* NOBODY if no rank is running */
        uint64_t blocks;
        bool (*may_die)(uint32_t rank);
    } doomed;
} fibres = {.running = NOBODY};

void fibres_yield(void)
{
    const uint32_t rank = fibres.running;
    if (NOBODY != rank) {
        fibres.running = NOBODY;
        if (0 == _setjmp(fibres.of[rank])) {
            _longjmp(fibres.scheduler, 1);
        }
    }
}

/* Called by the compiler at each basic block. */
void __sanitizer_cov_trace_pc(void); /* NOLINT(bugprone-reserved-identifier) */
void __sanitizer_cov_trace_pc(void)
{
    if (NOBODY != fibres.running && 0 == --fibres.slice) {
        fibres_yield();
    }
}

static void begin(void)
{
    const uint32_t rank = fibres.running;
    fibres.fn(rank, fibres.context);
    fibres.running = NOBODY;
    fibres.ended[rank] = true;
    --fibres.live;
    _longjmp(fibres.scheduler, 1);
}

static void make_fibre(uint32_t rank)
{
    ucontext_t *fibre = &fibres.first[rank];
    getcontext(fibre);
    fibre->uc_stack.ss_sp = fibres.stacks + (size_t)rank * STACK;
    fibre->uc_stack.ss_size = STACK;
    fibre->uc_link = NULL;
    makecontext(fibre, begin, 0);
    fibres.started[rank] = fibres.ended[rank] = false;
}

static void resume(uint32_t rank)
{
    fibres.running = rank;
    if (0 != _setjmp(fibres.scheduler)) {
        return;
    }
    if (fibres.started[rank]) {
        _longjmp(fibres.of[rank], 1);
    }
    fibres.started[rank] = true;
    setcontext(&fibres.first[rank]);
}

/* End the rank if it is doomed. Called when the rank was preempted after `ran` basic blocks. */
static void die_if_doomed(uint32_t rank, uint64_t ran)
{
    if (rank != fibres.doomed.rank || fibres.ended[rank]) {
        return;
    }
    fibres.doomed.blocks -= ran < fibres.doomed.blocks ? ran : fibres.doomed.blocks;
    if (0 == fibres.doomed.blocks && fibres.doomed.may_die(rank)) {
        fibres.ended[rank] = true;
        --fibres.live;
    }
}

static void run_one(void)
{
    uint32_t rank;
    do {
        rank = crew_below(&fibres.random, fibres.count);
    } while (fibres.ended[rank]);
    const uint32_t slice = fibres.slice = 1 + crew_below(&fibres.random, fibres.longest);
    ++fibres.switches;
    resume(rank);
    const uint64_t ran = slice - fibres.slice + 1; /* a time slice may end early (fibres_yield()) */
    fibres.blocks_left -= ran < fibres.blocks_left ? ran : fibres.blocks_left;
    die_if_doomed(rank, ran);
}

void fibres_doom(uint32_t rank, uint64_t blocks, bool (*may_die)(uint32_t rank))
{
    fibres.doomed.rank = rank;
    fibres.doomed.blocks = blocks;
    fibres.doomed.may_die = may_die;
}

bool fibres_run(uint64_t seed, uint32_t count, uint32_t grain, uint64_t blocks, fibre_fn fn,
                void *context)
{
    static const uint32_t longest[] = {1, 2, 4, 16, 64, 256, 2048};
    if (NULL == fibres.stacks) {
        fibres.stacks = crew_memory((size_t)FIBRES_MOST * STACK);
    }
    fibres.random = seed;
    fibres.longest =
        grain * longest[crew_below(&fibres.random, sizeof(longest) / sizeof(longest[0]))];
    fibres.fn = fn;
    fibres.context = context;
    fibres.count = fibres.live = count;
    fibres.blocks_left = blocks;
    fibres.doomed.rank = NOBODY;
    for (uint32_t rank = 0; rank < count; ++rank) {
        make_fibre(rank);
    }
    while (0 != fibres.live && 0 != fibres.blocks_left) {
        run_one();
    }
    return 0 == fibres.live;
}

uint32_t fibres_rank(void)
{
    return fibres.running;
}

uint64_t fibres_switches(void)
{
    return fibres.switches;
}

uint64_t fibres_programs(uint64_t usual)
{
    const char *given = getenv("NICBARR_PROGRAMS");
    if (NULL == given) {
        return usual;
    }
    alarm(0);
    return strtoull(given, NULL, 0);
}
