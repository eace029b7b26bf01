/* SPDX-License-Identifier: BSD-3-Clause */
/* Detection of processes that have ended; see process.h. The format of /proc/PID/stat is in
 * proc(5). */
#include "libmyr/node/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum {
    STATE = 3, /* field numbers */
    THREADS = 20,
    BEGAN = 22,
};

struct life {
    char state;
    uint64_t threads, began;
};

/* Parses /proc/NAME/stat. Returns false if that fails. */
static bool read_life(const char *name, struct life *life)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%s/stat", name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[bytes < 0 ? 0 : bytes] = '\0';
    /* Field 2 is the command in parentheses, which may contain any character. */
    const char *at = strrchr(text, ')');
    for (int field = 2; NULL != at && field < BEGAN; ++field) {
        at = strchr(at + 1, ' ');
        if (NULL != at && STATE == field + 1) {
            life->state = at[1];
        } else if (NULL != at && THREADS == field + 1) {
            life->threads = strtoull(at + 1, NULL, 10);
        } else if (NULL != at && BEGAN == field + 1) {
            life->began = strtoull(at + 1, NULL, 10);
        }
    }
    return NULL != at;
}

static bool life_of(uint32_t pid, struct life *life)
{
    char name[16];
    snprintf(name, sizeof(name), "%u", (unsigned)pid);
    return read_life(name, life);
}

uint64_t myr_process_began(void)
{
    struct life self, by_number;
    /* The start times differ if /proc belongs to another PID namespace. */
    return read_life("self", &self) && life_of((uint32_t)getpid(), &by_number) &&
                   self.began == by_number.began
               ? self.began
               : 0;
}

bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly)
{
    struct life life;
    if (kill((pid_t)pid, 0) < 0 && ESRCH == errno) {
        return true;
    }
    if (!thoroughly || 0 == began || !life_of(pid, &life)) {
        return false;
    }
    /* A main thread that ended before the other threads is also a zombie. */
    return life.began != began || (('Z' == life.state || 'X' == life.state) && life.threads <= 1);
}

bool myr_process_runs(uint32_t pid)
{
    struct life life;
    return life_of(pid, &life) && 'R' == life.state;
}
