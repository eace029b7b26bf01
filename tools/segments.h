/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the segments of nicbarr that processes of this machine have open, in /proc.
 *
 * Called by status.c. It finds the segments that the user may inspect, which are the segments of
 * the user's processes, or of all processes if the user is root. Processes may start and end during
 * the search, so the result does not represent a single point in time. */
#ifndef TOOLS_SEGMENTS_H
#define TOOLS_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid,
        inner;  /* pid in the pid namespace of this program, and in the namespace of the process */
    char *name; /* name of the program; printable */
    char *job;  /* job in Open MPI's launcher; "" if the process was not started by it */
    char *rank; /* rank in that job; "" if the process was not started by a launcher */
};

struct segment {
    int fd; /* open for reading */
    dev_t device;
    ino_t file;
    size_t count, capacity;
    struct process *processes;
};

struct segments {
    size_t count, capacity;
    struct segment *segment;
};

/* Finds the segments. `proc` is the mount point of procfs: "/proc". */
void segments_find(struct segments *segments, const char *proc);
/* Keeps only segments of processes of `job`. */
void segments_keep_job(struct segments *segments, const char *job);
/* Returns the process of `segment` with this pid in its own namespace, or NULL if it is unknown. */
const struct process *segments_process(const struct segment *segment, uint32_t inner);
void segments_free(struct segments *segments);

#endif
