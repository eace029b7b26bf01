/* SPDX-License-Identifier: BSD-3-Clause */
/* See crew.h. */
#include "tests/unit/crew.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/random.h"

enum {
    /* only a hang takes longer: tests with sanitizers on a busy machine take minutes */
    WATCHDOG_SECONDS = 600,
    MOST_THREADS = 128,
    PID_MOST = 1 << 22, /* the maximum of Linux */
};

static pid_t pretended, pretended_last = PID_MOST;

void crew_pretend_another(void)
{
    pretended = ++pretended_last;
}

void crew_pretend(pid_t pid)
{
    pretended = pid;
}

void crew_pretend_no_more(void)
{
    crew_pretend(0);
}

/* Overrides the C library's function. */
pid_t getpid(void)
{
    return 0 != pretended ? pretended : (pid_t)syscall(SYS_getpid);
}

bool crew_of_threads(void)
{
#if defined(__SANITIZE_THREAD__)
    return true;
#else
    return NULL != getenv("NICBARR_THREADS");
#endif
}

void crew_watchdog(void)
{
    alarm(WATCHDOG_SECONDS); /* its signal ends the process */
}

uint64_t crew_seed(void)
{
    static uint64_t seed;
    if (0 == seed) {
        const char *given = getenv("NICBARR_SEED");
        if (NULL != given && '\0' != *given) {
            seed = strtoull(given, NULL, 0);
        } else if (!os_draw_key(&seed, sizeof(seed))) {
            seed = (uint64_t)getpid();
        }
        seed += 0 == seed;
        printf("NICBARR_SEED=0x%llx\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

/* splitmix64. Any state is valid, and adjacent ones are independent. */
uint64_t crew_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t crew_below(uint64_t *state, uint32_t end)
{
    return (uint32_t)((crew_random(state) >> 32) * end >> 32);
}

void *crew_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == memory) {
        perror("mmap");
        abort();
    }
    return memory;
}

void crew_memory_free(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

void crew_dawdle(uint64_t *state)
{
    const uint32_t kind = crew_below(state, 64);
    if (0 == kind) {
        usleep(crew_below(state, 300));
    } else if (kind < 8) {
        sched_yield();
    } else if (kind < 16) {
        for (volatile uint32_t i = crew_below(state, 2000); i > 0; --i) {
        }
    }
}

void crew_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, text);
    if (crew_of_threads()) {
        abort();
    }
    _exit(1);
}

/* ---- processes ---- */

pid_t crew_fork(crew_fn fn, uint32_t rank, void *context)
{
    const pid_t parent = getpid();
    fflush(NULL); /* else the child would write the parent's buffered output again */
    const pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        abort();
    }
    if (0 == pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        crew_watchdog(); /* not inherited */
        /* cmocka handles these by jumping to its next test, which must not happen in a child. */
        static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
        for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); ++i) {
            signal(crashes[i], SIG_DFL);
        }
        fn(rank, context);
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

bool crew_join(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid) {
        return false;
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "process %d was ended by signal %d%s\n", (int)pid, WTERMSIG(status),
                SIGALRM == WTERMSIG(status) ? " (it hung)" : "");
    }
    return WIFEXITED(status) && 0 == WEXITSTATUS(status);
}

/* ---- threads ---- */

struct thread {
    pthread_t id;
    crew_fn fn;
    uint32_t rank;
    void *context;
};

static void *run_thread(void *opaque)
{
    struct thread *thread = opaque;
    thread->fn(thread->rank, thread->context);
    return NULL;
}

bool crew_run(uint32_t size, crew_fn fn, void *context)
{
    bool succeeded = true;
    if (crew_of_threads()) {
        struct thread threads[MOST_THREADS];
        for (uint32_t r = 0; r < size; ++r) {
            threads[r] = (struct thread){.fn = fn, .rank = r, .context = context};
            if (0 != pthread_create(&threads[r].id, NULL, run_thread, &threads[r])) {
                perror("pthread_create");
                abort();
            }
        }
        for (uint32_t r = 0; r < size; ++r) {
            pthread_join(threads[r].id, NULL);
        }
        return succeeded;
    }
    pid_t *pids = calloc(size, sizeof(*pids));
    for (uint32_t r = 0; r < size; ++r) {
        pids[r] = crew_fork(fn, r, context);
    }
    /* When a member fails, the others may wait for it for ever, so they are killed. */
    for (uint32_t left = size; left > 0; --left) {
        int status;
        const pid_t pid = wait(&status);
        for (uint32_t r = 0; r < size; ++r) {
            if (pid == pids[r]) {
                pids[r] = 0;
            }
        }
        if (succeeded && !(WIFEXITED(status) && 0 == WEXITSTATUS(status))) {
            succeeded = false;
            if (WIFSIGNALED(status)) {
                fprintf(stderr, "a member was ended by signal %d%s\n", WTERMSIG(status),
                        SIGALRM == WTERMSIG(status) ? " (it hung)" : "");
            }
            for (uint32_t r = 0; r < size; ++r) {
                if (0 != pids[r]) {
                    kill(pids[r], SIGKILL);
                }
            }
        }
    }
    free(pids);
    return succeeded;
}

/* ---- resources of a process ---- */

void *crew_require(void *memory)
{
    if (NULL == memory) {
        perror("out of memory");
        abort();
    }
    return memory;
}

uint32_t crew_descriptors(void)
{
    uint32_t count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

size_t crew_allocated(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

double crew_cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

uint64_t crew_status_of(pid_t pid, const char *name)
{
    char path[40], line[200], format[40];
    unsigned long long value = ~0ULL;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    snprintf(format, sizeof(format), "%s: %%llx", name);
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        perror(path);
        abort();
    }
    while (NULL != fgets(line, sizeof(line), file) && 1 != sscanf(line, format, &value)) {
    }
    fclose(file);
    return value;
}

/* ---- directories and files ---- */

void crew_dir_make(char *dir, size_t bytes)
{
    const char *place = getenv("TMPDIR");
    if (snprintf(dir, bytes, "%s/nicbarr-test.XXXXXX", NULL == place ? "/tmp" : place) >=
            (int)bytes ||
        NULL == mkdtemp(dir)) {
        perror("mkdtemp");
        abort();
    }
}

void crew_dir_remove(const char *dir)
{
    char path[600];
    DIR *directory = opendir(dir);
    struct dirent *entry;
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        if (0 != strcmp(entry->d_name, ".") && 0 != strcmp(entry->d_name, "..")) {
            snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
            unlink(path);
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
    rmdir(dir);
}

char crew_dir[200];

int crew_dir_begin(void **state)
{
    (void)state;
    crew_dir_make(crew_dir, sizeof(crew_dir));
    return 0;
}

int crew_dir_end(void **state)
{
    (void)state;
    crew_dir_remove(crew_dir);
    return 0;
}

void crew_file_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "we");
    if (NULL == file || fwrite(bytes, 1, count, file) != count || 0 != fclose(file)) {
        perror(path);
        abort();
    }
}
