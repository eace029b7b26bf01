/* SPDX-License-Identifier: BSD-3-Clause */
/* See machine.h. */
#include <ifaddrs.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/test.h"

/* ---- interfaces ---- */

const struct pretended *pretended;

int __real_getifaddrs(struct ifaddrs **list);
void __real_freeifaddrs(struct ifaddrs *list);
int __wrap_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);

static struct sockaddr *as_address(const char *text)
{
    const struct mcp_ip ip = ip_of(text);
    struct mcp_address *address = malloc(sizeof(*address));
    *address = mcp_address_of(&ip, 0);
    return &address->at.any;
}

int __wrap_getifaddrs(struct ifaddrs **list)
{
    if (NULL == pretended) {
        return __real_getifaddrs(list);
    }
    for (const struct pretended *one = pretended; NULL != one->name; ++one) {
        *list = calloc(1, sizeof(**list));
        (*list)->ifa_name = (char *)one->name;
        (*list)->ifa_flags = one->flags;
        (*list)->ifa_addr = as_address(one->address);
        (*list)->ifa_netmask = as_address(one->mask);
        list = &(*list)->ifa_next;
    }
    *list = NULL;
    return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
    if (NULL == pretended) {
        __real_freeifaddrs(list);
        return;
    }
    while (NULL != list) {
        struct ifaddrs *next = list->ifa_next;
        free(list->ifa_addr);
        free(list->ifa_netmask);
        free(list);
        list = next;
    }
}

/* ---- the moment before a process is checked ---- */

void (*before_kill)(void *context);
void *before_kill_context;

/* Replaces the C library's. */
int kill(pid_t pid, int signal)
{
    void (*const call)(void *) = before_kill;
    before_kill = NULL;
    if (NULL != call) {
        call(before_kill_context);
    }
    return (int)syscall(SYS_kill, pid, signal);
}

/* ---- the watch's sleep ---- */

struct watch_time watch_time;

int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    if (!watch_time.held) {
        return __real_ppoll(fds, count, timeout, mask);
    }
    sem_post(&watch_time.asleep);
    sem_wait(&watch_time.go);
    return 0;
}

void wake_watch_once(void)
{
    sem_post(&watch_time.go);
    sem_wait(&watch_time.asleep);
}

/* ---- failing allocations ---- */

int allocations_left = -1;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool allocation_fails(void)
{
    const bool fails = 0 == allocations_left;
    allocations_left -= allocations_left > 0;
    return fails;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

/* ---- missing features ---- */

void need_ipv6(void)
{
    const int s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct mcp_ip ip = ip_of("::1");
    const struct mcp_address address = mcp_address_for(AF_INET6, &ip, 0);
    const bool there = s >= 0 && 0 == bind(s, &address.at.any, mcp_address_bytes(&address));
    close(s);
    if (!there) {
        print_message("this machine has no IPv6\n");
        skip();
    }
}
