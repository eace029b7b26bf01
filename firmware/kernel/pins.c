/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, lists and removes the pins of a NIC; see pins.h. */
#include "firmware/kernel/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* musl's headers are older than Linux 5.14 */
#endif

#define FILE_SYSTEM "/sys/fs/bpf"
#define OURS "nicbarr"

enum { BPF_FILE_SYSTEM = 0xcafe4a11 };

static bool give_reason(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool give_reason(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, MCP_PINS_WHY, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the directory ---- */

static uint64_t network_cookie(void)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);
    const int any = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any >= 0) {
        (void)getsockopt(any, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &bytes);
        close(any);
    }
    return cookie;
}

static bool is_bpf_file_system(void)
{
    struct statfs about;
    return 0 == statfs(FILE_SYSTEM, &about) && BPF_FILE_SYSTEM == (uint32_t)about.f_type;
}

/* Opens a subdirectory, which is created if necessary. Returns -1, with errno, on failure; EPERM
 * means that other users can write to it. */
static int open_dir(int parent, const char *name)
{
    struct stat about;
    if (mkdirat(parent, name, 0700) < 0 && EEXIST != errno) {
        return -1;
    }
    const int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0 &&
        (fstat(dir, &about) < 0 || geteuid() != about.st_uid || 0 != (about.st_mode & 077))) {
        close(dir);
        errno = EPERM;
        return -1;
    }
    return dir;
}

static bool open_dirs(struct mcp_pins *pins, char *why)
{
    const int top = open(FILE_SYSTEM, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pins->parent = top < 0 ? -1 : open_dir(top, OURS);
    const int err = errno;
    if (top >= 0) {
        close(top);
    }
    if (pins->parent < 0) {
        return give_reason(why,
                           "cannot use " FILE_SYSTEM "/" OURS
                           " as a directory that only this user can access: %s",
                           strerror(err));
    }
    pins->dir = open_dir(pins->parent, pins->name);
    if (pins->dir < 0) {
        return give_reason(why,
                           "cannot use " FILE_SYSTEM "/" OURS
                           "/%s as a directory that only this user can access: %s",
                           pins->name, strerror(errno));
    }
    return flock(pins->dir, LOCK_EX | LOCK_NB) == 0 ||
           give_reason(why, "another process uses the pins in " FILE_SYSTEM "/" OURS "/%s",
                       pins->name);
}

bool mcp_pins_open(struct mcp_pins *pins, const char *name, char why[MCP_PINS_WHY])
{
    const uint64_t cookie = network_cookie();
    *pins = MCP_NO_PINS;
    if (0 == cookie) {
        return give_reason(
            why,
            "network namespaces cannot be distinguished, as this kernel lacks SO_NETNS_COOKIE");
    }
    if (!is_bpf_file_system() &&
        (mount("bpf", FILE_SYSTEM, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0 ||
         !is_bpf_file_system())) {
        return give_reason(why, "cannot mount a BPF file system at " FILE_SYSTEM);
    }
    snprintf(pins->name, sizeof(pins->name), "%llu-%s", (unsigned long long)cookie, name);
    snprintf(pins->path, sizeof(pins->path), FILE_SYSTEM "/" OURS "/%.80s/", pins->name);
    if (!open_dirs(pins, why)) {
        mcp_pins_close(pins, false);
        return false;
    }
    return true;
}

void mcp_pins_are_root(struct mcp_pins *pins)
{
    snprintf(pins->path, sizeof(pins->path), "/");
}

void mcp_pins_close(struct mcp_pins *pins, bool remove)
{
    if (remove && mcp_pins_there(pins)) {
        (void)unlinkat(pins->parent, pins->name, AT_REMOVEDIR);
    }
    if (pins->dir >= 0) {
        close(pins->dir);
    }
    if (pins->parent >= 0) {
        close(pins->parent);
    }
    *pins = MCP_NO_PINS;
}

/* ---- pins ---- */

bool mcp_pins_path(const struct mcp_pins *pins, const char *name, char path[MCP_PIN_PATH])
{
    return snprintf(path, MCP_PIN_PATH, "%s%s", pins->path, name) < MCP_PIN_PATH;
}

static int call_bpf(const struct mcp_pins *pins, const char *name, int command, uint32_t descriptor)
{
    union bpf_attr attributes;
    char path[MCP_PIN_PATH];
    if (!mcp_pins_there(pins) || !mcp_pins_path(pins, name, path)) {
        errno = ENOENT;
        return -1;
    }
    memset(&attributes, 0, sizeof(attributes));
    attributes.pathname = (uint64_t)(uintptr_t)path;
    attributes.bpf_fd = descriptor;
    return (int)syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

int mcp_pins_put(const struct mcp_pins *pins, const char *name, int descriptor)
{
    return call_bpf(pins, name, BPF_OBJ_PIN, (uint32_t)descriptor);
}

int mcp_pins_get(const struct mcp_pins *pins, const char *name)
{
    return call_bpf(pins, name, BPF_OBJ_GET, 0);
}

void mcp_pins_drop(const struct mcp_pins *pins, const char *name)
{
    (void)unlinkat(pins->dir, name, 0);
}

void mcp_pins_drop_row(const struct mcp_pins *pins, const char *prefix)
{
    char name[64];
    uint32_t n = 0;
    do {
        snprintf(name, sizeof(name), "%s%u", prefix, n++);
    } while (0 == unlinkat(pins->dir, name, 0));
}

void mcp_pins_clear(const struct mcp_pins *pins)
{
    const int again = openat(pins->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listed = again < 0 ? NULL : fdopendir(again);
    if (NULL == listed) {
        return;
    }
    for (const struct dirent *one = readdir(listed); NULL != one; one = readdir(listed)) {
        if (DT_DIR != one->d_type) {
            (void)unlinkat(pins->dir, one->d_name, 0);
        }
    }
    closedir(listed);
}
