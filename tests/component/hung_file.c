/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library simulates a file system that does not respond: opening the
 * file $HUNG_FILE prints a message and then blocks until the file $HUNG_UNTIL exists, or for ever.
 * tuning.sh runs jobs with it to test that they do not hang.
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
