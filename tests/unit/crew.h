/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What unit tests have in common: a crew of processes that all do the same, random numbers that can
 * be had again, a watchdog, and a folder with files.
 *
 * Called by the tests only. A crew is made of forked processes; under ThreadSanitizer, or with
 * NICBARR_THREADS=1 in the environment, of threads instead, as that tool cannot look across
 * processes. Invariant: whoever waits for a crew learns how each member ended, and no member
 * outlives its test: not by hanging (watchdog), and not when the test itself is killed.
 */
#ifndef TESTS_UNIT_CREW_H
#define TESTS_UNIT_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Are the crews of this run made of threads? */
bool crew_of_threads(void);

/* Have this process killed if it still runs after a minute or two: nothing here takes that long. */
void crew_watchdog(void);

/* The run's seed: NICBARR_SEED if that is set, else a new one. Prints it at the first call. */
uint64_t crew_seed(void);

/* The next number of the sequence that `state` stands for; and one below `end`. */
uint64_t crew_random(uint64_t *state);
uint32_t crew_below(uint64_t *state, uint32_t end);

/* Memory, all 0, that a process shares with those it forks. */
void *crew_memory(size_t bytes);
void crew_memory_free(void *memory, size_t bytes);

/* Do nothing for a short while of random length and kind: poll, yield, or sleep. */
void crew_dawdle(uint64_t *state);

/* In a member: the member has failed. cmocka's own assertions would jump into the parent's loop. */
#define CREW_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            crew_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                                \
        }                                                                                          \
    } while (0)
void crew_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));

typedef void (*crew_fn)(uint32_t rank, void *context);

/* Have `size` members run `fn` at once, and wait for all of them. True when all ended well. */
bool crew_run(uint32_t size, crew_fn fn, void *context);

/* One more process that runs `fn`, never a thread; and how it ended (true: well). */
pid_t crew_fork(crew_fn fn, uint32_t rank, void *context);
bool crew_join(pid_t pid);

/* Between these two getpid() gives the number of a process that there never was before: what libmyr
 * is asked to do meanwhile, it does for another process. crew_pretend() gives one of these numbers
 * again; 0: no more. */
void crew_pretend_another(void);
void crew_pretend(pid_t pid);
void crew_pretend_no_more(void);

/* A new folder for the test's files, and away with it and what is in it (no folders). */
void crew_folder_make(char *folder, size_t bytes);
void crew_folder_remove(const char *folder);

/* Have the file at `path` hold these bytes and nothing else. */
void crew_file_write(const char *path, const void *bytes, size_t count);

#endif
