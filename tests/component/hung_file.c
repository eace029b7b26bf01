/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job must not hang with a file system that does not answer: preloaded into a program, this makes
 * the opening of the file $HUNG_FILE wait until there is a file $HUNG_UNTIL, or for ever, after a
 * line that says so. tuning.sh runs jobs with it.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int open(const char *path, int flags, ...)
{
    const char *hung = getenv("HUNG_FILE"), *until = getenv("HUNG_UNTIL");
    va_list arguments;
    va_start(arguments, flags);
    const unsigned mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (NULL != hung && 0 == strcmp(path, hung)) {
        fprintf(stderr, "%s does not answer\n", path);
        while (NULL == until || 0 != access(until, F_OK)) {
            usleep(10000);
        }
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
