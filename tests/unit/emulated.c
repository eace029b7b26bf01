/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into unit tests, this library lets them run under qemu's user-mode emulation
 * (tests/processors.sh): it omits tests, and bypasses qemu's emulation of /proc.
 *
 * The variable NICBARR_LEAVE_OUT names the tests to omit, each followed by a space, because
 * features that the emulator does not support may hang, or end the whole program. qemu also
 * synthesizes a process's own /proc/PID/stat with another start time than other processes read
 * there, so that they would consider the process dead.
 */
#include <dlfcn.h>
#include <fcntl.h>

#include "tests/unit/test.h"

static bool is_named(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *found = list; NULL != (found = strstr(found, name)); found += length) {
        if ((found == list || ' ' == found[-1]) && ' ' == found[length]) {
            return true;
        }
    }
    return false;
}

/* Overrides cmocka's function. */
int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction begin, CMFixtureFunction end)
{
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction,
               CMFixtureFunction);
    const char *list = getenv("NICBARR_LEAVE_OUT");
    struct CMUnitTest *left = calloc(count, sizeof(*left));
    size_t nleft = 0;
    *(void **)&run = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    if (NULL == list || NULL == left || NULL == run) {
        abort();
    }
    for (size_t t = 0; t < count; ++t) {
        if (NULL == tests[t].name) { /* cmocka ignores these */
            continue;
        }
        if (is_named(list, tests[t].name)) {
            printf("[ LEFT OUT ] %s\n", tests[t].name);
        } else {
            left[nleft++] = tests[t];
        }
    }
    fflush(stdout);
    return run(group, left, nleft, begin, end);
}

/* Overrides the C library's function. qemu recognizes the files that it emulates by their literal
 * paths. */
int open(const char *path, int flags, ...)
{
    static const char proc[] = "/proc/";
    char rewritten[256];
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (0 == strncmp(path, proc, strlen(proc))) {
        snprintf(rewritten, sizeof(rewritten), "/proc/./%s", path + strlen(proc));
        path = rewritten;
    }
    return openat(AT_FDCWD, path, flags, mode);
}
