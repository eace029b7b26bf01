/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Utilities that the MPI tests share: start and end of a test program, options, a seeded random
 * generator, the watchdog, the ledger that checks the barrier property, and deliberately broken
 * barriers.
 *
 * All C programs in this directory use them. Nothing here depends on nicbarr: the same programs
 * pass with plain Open MPI, so that a failure is the component's.
 *
 * The ledger. Every communicator under test has a row in memory that all processes of the job map.
 * A process has one cell in the row, in which it counts the barriers that it has entered. After
 * barrier k it reads the cells of all members, each of which must be at least k. This needs no
 * clock and is exact: if a process is released too early and reads the cells before the late
 * process enters, the ledger always detects it.
 *
 * Broken barriers. They show that the tests can fail: with NICBARR_TEST_BREAK=N in the environment
 * every Nth barrier on average (1: every one) is omitted. All members agree on the omitted ones, so
 * that the ledger detects an early release and not a mismatch of calls. With a negative N broken
 * barriers wait as they should, but without calling MPI: an MPI_Barrier makes no progress, and an
 * MPI_Ibarrier blocks. The watchdog detects this (give --watchdog a few seconds).
 *
 * Options of all programs: --seed N, --watchdog SECONDS, --ledger PATH, --hold PATH, --help.
 */
#ifndef NICBARR_TESTS_MPI_COMMON_H
#define NICBARR_TESTS_MPI_COMMON_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expands to the name of the function that creates a persistent collective:
 * PERSISTENT(Barrier_init). Not defined if MPI has no such function. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT(name) MPI_##name
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(name) MPIX_##name
#endif
#endif

/* automake's exit status for a skipped test. */
enum { TEST_SKIPPED = 77 };

/* ---- options ---- */

enum test_option_kind { OPTION_FLAG, OPTION_LONG, OPTION_DOUBLE, OPTION_TEXT };

/* One option "--name VALUE"; value points to a long (FLAG, LONG), a double or a const char *. */
struct test_option {
    const char *name;
    enum test_option_kind kind;
    void *value;
    const char *help;
};

#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the program ---- */

/* Set by test_begin, and constant afterwards. */
struct test_state {
    const char *name;
    int rank; /* in MPI_COMM_WORLD */
    int size;
    int provided; /* thread level */
    uint64_t seed;
    long break_every; /* from NICBARR_TEST_BREAK; 0: no barrier is broken */
    bool break_waits; /* broken barriers wait, but without MPI */
};
extern struct test_state test;

/* Initialises MPI, reads the options (exits on a wrong one), agrees on the seed, and starts the
 * watchdog. */
void test_begin(int argc, char **argv, const char *name, const struct test_option *options,
                size_t n_options, int thread_level);

/* Sums up the checks, prints "ok NAME ..." on rank 0, and finalises MPI. Returns 0. `note` is
 * appended to the printed text; it may be empty. */
int test_end(const char *note);

/* Prints a message and exits with TEST_SKIPPED. All ranks must call it. */
_Noreturn void test_skip(const char *why);

/* Prints rank, `where` and the message, and aborts the job. `where` is the name of a
 * communicator or phase. */
_Noreturn void test_fail(const char *where, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Counts a check, and fails if it does not hold. */
#define TEST_CHECK(condition, where, ...)                                                          \
    do {                                                                                           \
        test_count_check();                                                                        \
        if (!(condition))                                                                          \
            test_fail(where, __VA_ARGS__);                                                         \
    } while (0)
void test_count_check(void);

/* Sets the current activity of this process for the watchdog's message. text must stay valid. */
void test_phase(const char *text);

/* Prints a line of a report on rank 0 (measurements that are not checked). */
void test_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Spawns processes of a program, round-robin on these hosts (the info key "host"; "": anywhere).
 * Collective over comm. */
MPI_Comm test_spawn(const char *program, const char *const arguments[], int processes,
                    const char *hosts, MPI_Comm comm);

/* Seconds of the monotonic clock, for reports only. */
double test_seconds(void);

/* ---- random numbers ---- */

/* splitmix64. A stream with the same seed on all ranks determines the plan, so that they agree
 * without communication; a stream whose seed depends on the rank is private. */
struct rng {
    uint64_t state;
};
enum { STREAM_PLAN = 1, STREAM_PRIVATE = 1000 };
struct rng rng_make(uint64_t stream);
uint64_t rng_next(struct rng *rng);
/* In [0, n); n >= 1. */
unsigned rng_below(struct rng *rng, unsigned n);
/* A random permutation of 0..n-1 (Fisher and Yates). */
void rng_permutation(struct rng *rng, int *order, int n);

/* Delays for a random time: mostly not at all, often by some computing, seldom by a sleep of up
 * to 2 ms. */
void delay_random(struct rng *rng);

/* Makes process_vm_readv() and process_vm_writev() fail in this process from now on. Skips the
 * test if that is impossible. */
void forbid_reading(void);

/* ---- the ledger ---- */

/* Memory that all processes of base map, divided into slots; every process has one cell in each
 * slot. A slot that is never used only occupies address space. */
struct arena {
    MPI_Group group; /* of base: a process's cell is its rank there */
    int size, rank;
    unsigned slots;
    size_t stride; /* distance between the cells of consecutive slots */
    size_t bytes;
    _Atomic uint32_t *cells;
};

/* Opens the arena. Collective over base (an intracommunicator), without a barrier. */
void arena_open(struct arena *arena, MPI_Comm base, unsigned slots);
void arena_close(struct arena *arena);

/* The barriers of one communicator, or of one persistent request: operations that are matched by
 * their order share a ledger. */
struct ledger {
    MPI_Comm comm; /* may be replaced by another one of the same members while no barrier is
                      outstanding */
    char name[48];
    _Atomic uint32_t *cells;
    unsigned slot;
    int self;         /* my cell */
    int n_members;    /* number of processes that must enter before this one may leave */
    int *members;     /* their cells */
    uint32_t entered; /* barriers that this process has entered */
};

/* Opens a ledger. slot: the same on all members, and not used by another ledger with a common
 * member. Local. */
void ledger_open(struct ledger *ledger, struct arena *arena, unsigned slot, MPI_Comm comm,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
void ledger_close(struct ledger *ledger);
/* Counts this process's entry. Returns this barrier's number, for ledger_left. */
uint32_t ledger_enter(struct ledger *ledger);
/* Fails unless all members have entered barrier number k. `how` names the call in the message. */
void ledger_left(const struct ledger *ledger, uint32_t k, const char *how);
/* Returns whether all members have entered barrier k. */
bool ledger_complete(const struct ledger *ledger, uint32_t k);

/* A few overlapping communicators, for tests whose subject is not their shape: WORLD, a dup,
 * reversed, halves, odd and even ranks, SELF. They use the slots 0 to USUAL_COMMUNICATORS - 1. */
enum { USUAL_COMMUNICATORS = 6 };
void usual_open(struct arena *arena, struct ledger ledgers[USUAL_COMMUNICATORS]);
void usual_close(struct ledger ledgers[USUAL_COMMUNICATORS]);

/* ---- barriers under test: the real ones, or broken ones with NICBARR_TEST_BREAK ---- */

/* Enter, MPI_Barrier, check. */
void checked_barrier(struct ledger *ledger);
/* Enter, MPI_Ibarrier. The caller checks with ledger_left(ledger, result, ...) after completion. */
uint32_t start_ibarrier(struct ledger *ledger, MPI_Request *request);
/* MPI_Ibarrier, MPI_Wait, check. */
void checked_ibarrier(struct ledger *ledger);
/* Creates a persistent barrier, under whichever name this MPI has; false if it has none. The ledger
 * belongs to the request: persistent operations are matched when they are created, and may be
 * started in any order. */
bool persistent_barrier_init(struct ledger *ledger, MPI_Request *request);

#endif
