/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Utilities shared by the unit tests: a crew of processes that run the same function, reproducible
 * random numbers, a watchdog, counts of a process's resources, and temporary directories and files.
 *
 * A crew consists of forked processes. Under ThreadSanitizer, which cannot analyze several
 * processes, and with NICBARR_THREADS=1 in the environment, it consists of threads instead. No
 * member outlives its test: the watchdog ends members that hang, and the kernel kills members whose
 * parent dies.
 */
#ifndef TESTS_UNIT_CREW_H
#define TESTS_UNIT_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether the crews of this run consist of threads. */
bool crew_of_threads(void);

/* End this process by SIGALRM if it still runs after ten minutes, which only happens if it
 * hangs. */
void crew_watchdog(void);

/* Returns the run's seed: NICBARR_SEED if it is set, else a random one. The first call prints
 * it. */
uint64_t crew_seed(void);

/* Return the next random number of the generator `state`: any 64-bit number, or one below `end`. */
uint64_t crew_random(uint64_t *state);
uint32_t crew_below(uint64_t *state, uint32_t end);

/* Allocate zeroed memory that is shared with forked processes. */
void *crew_memory(size_t bytes);
void crew_memory_free(void *memory, size_t bytes);

/* Returns `memory`, and aborts if it is NULL. */
void *crew_require(void *memory);

/* Return this process's use of resources: the number of open file descriptors; the bytes
 * allocated by malloc(), or 0 if unknown (musl, sanitizers); and the CPU time. */
uint32_t crew_descriptors(void);
size_t crew_allocated(void);
double crew_cpu_us(void);

/* Returns the value of a line of /proc/PID/status, read as hexadecimal. */
uint64_t crew_status_of(pid_t pid, const char *name);

/* Delay for a short random time: busy-wait, yield, or sleep. */
void crew_dawdle(uint64_t *state);

/* Assert in a member of a crew. cmocka's own assertions would jump into the parent's loop. */
#define CREW_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            crew_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                                \
        }                                                                                          \
    } while (0)
void crew_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));

typedef void (*crew_fn)(uint32_t rank, void *context);

/* Run `fn` in `size` members concurrently, and wait for all of them. Returns true if all
 * succeeded. */
bool crew_run(uint32_t size, crew_fn fn, void *context);

/* Run `fn` in a separate process, never a thread, and wait for it. crew_join() returns true if
 * it succeeded. */
pid_t crew_fork(crew_fn fn, uint32_t rank, void *context);
bool crew_join(pid_t pid);

/* Make getpid() return a PID that was never used before, so that libmyr acts on behalf of
 * another process, until crew_pretend_no_more() is called. crew_pretend() selects a previous one
 * of these PIDs, or with 0 the real one. */
void crew_pretend_another(void);
void crew_pretend(pid_t pid);
void crew_pretend_no_more(void);

/* Make a temporary directory; remove it and its files (not subdirectories). */
void crew_dir_make(char *dir, size_t bytes);
void crew_dir_remove(const char *dir);

/* cmocka's setup and teardown of tests that use such a directory, and its path. */
extern char crew_dir[200];
int crew_dir_begin(void **state);
int crew_dir_end(void **state);

void crew_file_write(const char *path, const void *bytes, size_t count);

#endif
