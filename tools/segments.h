/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The segments of nicbarr that processes of this machine have open, found in /proc.
 *
 * Called by status.c. It finds what the user may look into: their own processes, or everybody's
 * for root. Processes come and go meanwhile. Each is taken as it was when it was looked at.
 */
#ifndef TOOLS_SEGMENTS_H
#define TOOLS_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, inner; /* in this program's pid namespace, and in the process's own */
    char *name;       /* of its program; printable */
    char *job;        /* as Open MPI's launcher calls it; "" if it was not started by one */
    char *rank;       /* in that job; "" likewise */
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

/* `proc` is where the kernel tells of processes: "/proc". */
void segments_find(struct segments *segments, const char *proc);
/* Keep those alone that a process of `job` has. */
void segments_keep_job(struct segments *segments, const char *job);
/* The process of `segment` that has this pid in its own namespace; NULL: none is known. */
const struct process *segments_process(const struct segment *segment, uint32_t inner);
void segments_free(struct segments *segments);

#endif
