/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds segments through the descriptors of all processes; see segments.h. */
#include "tools/segments.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/alloc.h"
#include "tools/text.h"

enum { NAME_MOST = 40, STATUS_MOST = 1 << 14, ENVIRONMENT_MOST = 1 << 20 };

static const char link_begins[] = "/memfd:nicbarr";

/* Ensures that an array has capacity for another element. New elements are zeroed. */
static void *grow(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = 0 == *capacity ? 8 : 2 * *capacity;
    void *larger = tool_alloc(*capacity, size);
    if (NULL != array) {
        memcpy(larger, array, count * size);
        free(array);
    }
    return larger;
}

/* Reads the first bytes of a file in /proc, terminated by 0. Returns "" if it cannot be read. */
static char *read_file(const char *proc, const char *pid, const char *name, size_t most,
                       size_t *bytes)
{
    char path[PATH_MAX];
    char *text = tool_alloc(most + 1, 1);
    snprintf(path, sizeof(path), "%s/%s/%s", proc, pid, name);
    FILE *file = fopen(path, "re");
    *bytes = NULL == file ? 0 : fread(text, 1, most, file);
    if (NULL != file) {
        fclose(file);
    }
    return text;
}

/* Returns the value of a variable in the initial environment of a process, in printable form, or ""
 * if it is not set. */
static char *value_of(const char *environment, size_t bytes, const char *name)
{
    const size_t length = strlen(name);
    for (size_t at = 0; at < bytes; at += strlen(environment + at) + 1) {
        if (0 == strncmp(environment + at, name, length) && '=' == environment[at + length]) {
            return text_printable(environment + at + length + 1, NAME_MOST);
        }
    }
    return text_printable("", NAME_MOST);
}

/* Returns a process's pid in its own namespace. This is the last pid that the kernel lists, if it
 * lists any. */
static pid_t inner_pid(const char *proc, const char *pid)
{
    size_t bytes;
    char *status = read_file(proc, pid, "status", STATUS_MOST, &bytes);
    char *line = strstr(status, "\nNSpid:");
    pid_t inner = (pid_t)strtol(pid, NULL, 10);
    if (NULL != line) {
        line[1 + strcspn(line + 1, "\n")] = '\0';
        const char *last = strrchr(line, '\t');
        inner = NULL == last ? inner : (pid_t)strtol(last, NULL, 10);
    }
    free(status);
    return inner;
}

static void add_process(struct segment *segment, const char *proc, const char *pid)
{
    size_t bytes;
    segment->processes =
        grow(segment->processes, segment->count, &segment->capacity, sizeof(*segment->processes));
    struct process *process = &segment->processes[segment->count++];
    process->pid = (pid_t)strtol(pid, NULL, 10);
    process->inner = inner_pid(proc, pid);
    char *comm = read_file(proc, pid, "comm", NAME_MOST, &bytes);
    comm[strcspn(comm, "\n")] = '\0';
    process->name = text_printable(comm, NAME_MOST);
    free(comm);
    char *environment = read_file(proc, pid, "environ", ENVIRONMENT_MOST, &bytes);
    process->job = value_of(environment, bytes, "PMIX_NAMESPACE");
    process->rank = value_of(environment, bytes, "PMIX_RANK");
    free(environment);
}

/* Returns the index of the segment with this file, or -1 if it is a new one. */
static ssize_t known(const struct segments *segments, const struct stat *about)
{
    for (size_t s = 0; s < segments->count; ++s) {
        if (about->st_dev == segments->segment[s].device &&
            about->st_ino == segments->segment[s].file) {
            return (ssize_t)s;
        }
    }
    return -1;
}

/* Adds a process that has a descriptor of a segment of nicbarr at `path`. */
static void add_descriptor(struct segments *segments, const char *proc, const char *pid,
                           const char *path)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    ssize_t index = known(segments, &about);
    if (index >= 0) {
        close(fd);
    } else {
        segments->segment = grow(segments->segment, segments->count, &segments->capacity,
                                 sizeof(*segments->segment));
        index = (ssize_t)segments->count++;
        segments->segment[index] =
            (struct segment){.fd = fd, .device = about.st_dev, .file = about.st_ino};
    }
    struct segment *segment = &segments->segment[index];
    const pid_t number = (pid_t)strtol(pid, NULL, 10);
    if (0 == segment->count || number != segment->processes[segment->count - 1].pid) {
        add_process(segment, proc, pid); /* only once, even if the process has several
                                            descriptors */
    }
}

static void search_process(struct segments *segments, const char *proc, const char *pid)
{
    char dir[PATH_MAX], path[PATH_MAX], target[sizeof(link_begins)];
    snprintf(dir, sizeof(dir), "%s/%s/fd", proc, pid);
    DIR *directory = opendir(dir);
    struct dirent *entry;
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        if (snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path)) {
            continue;
        }
        const ssize_t length = readlink(path, target, sizeof(target) - 1);
        if (length == (ssize_t)sizeof(target) - 1 &&
            0 == memcmp(target, link_begins, sizeof(target) - 1)) {
            add_descriptor(segments, proc, pid, path);
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
}

void segments_find(struct segments *segments, const char *proc)
{
    *segments = (struct segments){0, 0, NULL};
    DIR *directory = opendir(proc);
    struct dirent *entry;
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        /* Skips this process itself, which has opened the segments that were found so far. */
        if (isdigit((unsigned char)entry->d_name[0]) &&
            getpid() != (pid_t)strtol(entry->d_name, NULL, 10)) {
            search_process(segments, proc, entry->d_name);
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
}

static void free_segment(struct segment *segment)
{
    close(segment->fd);
    for (size_t p = 0; p < segment->count; ++p) {
        free(segment->processes[p].name);
        free(segment->processes[p].job);
        free(segment->processes[p].rank);
    }
    free(segment->processes);
}

static bool is_of_job(const struct segment *segment, const char *job)
{
    for (size_t p = 0; p < segment->count; ++p) {
        if (0 == strcmp(job, segment->processes[p].job)) {
            return true;
        }
    }
    return false;
}

void segments_keep_job(struct segments *segments, const char *job)
{
    size_t kept = 0;
    for (size_t s = 0; s < segments->count; ++s) {
        struct segment *segment = &segments->segment[s];
        if (is_of_job(segment, job)) {
            segments->segment[kept++] = *segment;
        } else {
            free_segment(segment);
        }
    }
    segments->count = kept;
}

const struct process *segments_process(const struct segment *segment, uint32_t inner)
{
    for (size_t p = 0; p < segment->count; ++p) {
        if (inner == (uint32_t)segment->processes[p].inner) {
            return &segment->processes[p];
        }
    }
    return NULL;
}

void segments_free(struct segments *segments)
{
    for (size_t s = 0; s < segments->count; ++s) {
        free_segment(&segments->segment[s]);
    }
    free(segments->segment);
    *segments = (struct segments){0, 0, NULL};
}
