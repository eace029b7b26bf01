/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the segments of nicbarr that processes of this machine have open, in /proc.
 *
 * Called by status.c. It finds what the user may inspect: the user's own processes, or for root
 * those of all users. Processes may start and end meanwhile; each is recorded as it was when it
 * was read.
 */
#ifndef TOOLS_SEGMENTS_H
#define TOOLS_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, inner; /* in this program's pid namespace, and in the process's own */
    char *name;       /* of the program; printable */
    char *job;        /* in Open MPI's launcher; "" if it was not started by one */
    char *rank;       /* in that job; "" if it was not started by a launcher */
};

struct segment {
    int fd; /* for reading */
    dev_t device;
    ino_t file;
    size_t count, capacity;
    struct process *processes;
};

struct segments {
    size_t count, capacity;
    struct segment *segment;
};

/* `proc` is the kernel's file system: "/proc". */
void segments_find(struct segments *segments, const char *proc);
/* Keep only segments of processes of `job`. */
void segments_keep_job(struct segments *segments, const char *job);
/* The process of `segment` with this pid in its own namespace; NULL: unknown. */
const struct process *segments_process(const struct segment *segment, uint32_t inner);
void segments_free(struct segments *segments);

#endif
