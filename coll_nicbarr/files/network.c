/* SPDX-License-Identifier: BSD-3-Clause */
/* See network.h. */
#include "coll_nicbarr/files/network.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A thread may have a small stack. Therefore paths are relative to an open directory, so that they
 * fit into small buffers. */
enum { ETHERNET = 1, INFINIBAND = 32, LINE_BYTES = 64, PATH_BYTES = NAME_MAX + 32 };

/* Open the directory `name` below the root of sysfs. Returns NULL if there is none. */
static DIR *open_dir(const char *system, const char *name)
{
    const int top = open(system, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int dir = top < 0 ? -1 : openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = dir < 0 ? NULL : fdopendir(dir);
    if (NULL == directory && dir >= 0) {
        close(dir);
    }
    if (top >= 0) {
        close(top);
    }
    return directory;
}

/* Read the first line of a file; it is empty if the file cannot be read. */
static void read_line(int dir, const char *path, char line[LINE_BYTES])
{
    const int opened = openat(dir, path, O_RDONLY | O_CLOEXEC);
    FILE *file = opened < 0 ? NULL : fdopen(opened, "r");
    if (NULL == file && opened >= 0) {
        close(opened);
    }
    if (NULL == file || NULL == fgets(line, LINE_BYTES, file)) {
        line[0] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    if (NULL != file) {
        fclose(file);
    }
}

/* ---- interfaces ---- */

struct interface {
    bool real;
    int type, mbits; /* -1: unknown */
};

static long number_in(int dir, const char *name, const char *what, long otherwise)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof(path), "%s/%s", name, what);
    read_line(dir, path, line);
    return '\0' == line[0] ? otherwise : strtol(line, NULL, 10);
}

/* Examine an interface. Returns false if it is down, or is neither Ethernet nor InfiniBand. */
static bool read_interface(int dir, const char *name, struct interface *interface)
{
    char path[PATH_BYTES], state[LINE_BYTES];
    snprintf(path, sizeof(path), "%s/operstate", name);
    read_line(dir, path, state);
    *interface = (struct interface){
        .type = (int)number_in(dir, name, "type", -1),
        .mbits = (int)number_in(dir, name, "speed", -1),
    };
    snprintf(path, sizeof(path), "%s/device", name);
    interface->real = 0 == faccessat(dir, path, F_OK, 0);
    return 0 == strcmp(state, "up") &&
           (ETHERNET == interface->type || INFINIBAND == interface->type);
}

static bool is_better(const struct interface *one, const struct interface *than)
{
    return one->real != than->real ? one->real : one->mbits > than->mbits;
}

/* Find the fastest interface; its type is 0 if there is none. */
static struct interface find_interface(const char *system)
{
    struct interface best = {false, 0, -2}, one;
    DIR *directory = open_dir(system, "class/net");
    const struct dirent *entry;
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        if ('.' != entry->d_name[0] && read_interface(dirfd(directory), entry->d_name, &one) &&
            is_better(&one, &best)) {
            best = one;
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
    return best;
}

/* ---- RDMA devices ---- */

/* Find the RDMA device whose port 1 is the fastest, and copy the rate of this port as the kernel
 * writes it. The text is empty if there is no device. */
static void find_rate(const char *system, char rate[LINE_BYTES])
{
    char path[PATH_BYTES], line[LINE_BYTES];
    double best = 0;
    rate[0] = '\0';
    DIR *directory = open_dir(system, "class/infiniband");
    const struct dirent *entry;
    while (NULL != directory && NULL != (entry = readdir(directory))) {
        if ('.' == entry->d_name[0]) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/ports/1/rate", entry->d_name);
        read_line(dirfd(directory), path, line);
        if (strtod(line, NULL) > best) {
            best = strtod(line, NULL);
            memcpy(rate, line, LINE_BYTES);
        }
    }
    if (NULL != directory) {
        closedir(directory);
    }
}

const char *nicbarr_network_name(const char *system, char *text)
{
    char speed[LINE_BYTES] = "unknown speed", rate[LINE_BYTES];
    const struct interface interface = find_interface(system);
    const char *kind = INFINIBAND == interface.type ? "InfiniBand"
                       : ETHERNET == interface.type ? "Ethernet"
                                                    : "no network";
    if (interface.mbits > 0) {
        snprintf(speed, sizeof(speed), "%d Mb/s", interface.mbits);
    }
    find_rate(system, rate);
    snprintf(text, NICBARR_NETWORK_TEXT, "%s%s%s%s%s", kind, 0 == interface.type ? "" : " at ",
             0 == interface.type ? "" : speed, '\0' == rate[0] ? "" : ", RDMA at ", rate);
    return text;
}
