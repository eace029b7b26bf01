/* SPDX-License-Identifier: BSD-3-Clause */
/* See daemon.h. */
#include "tests/fuzz/daemon.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "libmyr/unix_talk.h"
#include "myrd/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/crew.h"

enum {
    VISITORS = 64, /* connections that are not accepted yet */
    IDLE = 4,      /* number of polls without an event after which the input is finished */
    POLLS_MOST = 100000,
};

static char dir[80], path[100];

static _Thread_local bool serving_here;
static bool (*next_step)(void *context);
static void *step_context;
static uint32_t polls, idle;
static uint64_t passed_ms;

static struct ucred visitor[VISITORS];
static uint32_t connected, accepted;

/* ---- in place of the system ---- */

int __real_poll(struct pollfd *watched, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *watched, nfds_t count, int timeout_ms);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
bool __wrap_myr_talk_peer(int connection, struct ucred *peer);

int __wrap_poll(struct pollfd *watched, nfds_t count, int timeout_ms)
{
    if (!serving_here) {
        return __real_poll(watched, count, timeout_ms);
    }
    CHECK(++polls < POLLS_MOST);
    const bool more = next_step(step_context);
    const int ready = __real_poll(watched, count, 0);
    CHECK(ready >= 0);
    idle = more || ready > 0 ? 0 : idle + 1;
    if (idle > IDLE) {
        watched[0].revents = POLLIN; /* makes the daemon exit */
        return 1;
    }
    return ready;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int status = __real_clock_gettime(clock, now);
    if (serving_here) {
        now->tv_sec += (time_t)(passed_ms / 1000);
        now->tv_nsec += (long)(passed_ms % 1000) * 1000000;
        now->tv_sec += now->tv_nsec / 1000000000;
        now->tv_nsec %= 1000000000;
    }
    return status;
}

/* Returns the credentials of the next connection; connections are accepted in the order in which
 * they were made. */
bool __wrap_myr_talk_peer(int connection, struct ucred *peer)
{
    (void)connection;
    CHECK(accepted != connected);
    *peer = visitor[accepted++ % VISITORS];
    return true;
}

/* ---- in place of myrd/log.c, which writes nothing here ---- */

void myrd_log(enum myrd_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

void myrd_log_serves(const char *what, const struct myr_nic_name *name,
                     const struct myrd_listener *listener)
{
    (void)what;
    (void)name;
    (void)listener;
}

void myrd_log_refusal(const struct myrd_visitor *of, const char *why, uint64_t count)
{
    CHECK(NULL != of && NULL != why && 0 != count);
}

/* ---- for the fuzzers ---- */

static void remove_dir(void)
{
    crew_dir_remove(dir);
}

const char *daemon_path(void)
{
    if ('\0' == path[0]) {
        crew_dir_make(dir, sizeof(dir));
        snprintf(path, sizeof(path), "%s/sock", dir);
        CHECK(0 == atexit(remove_dir));
    }
    return path;
}

int daemon_connect(uid_t uid, pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", daemon_path());
    CHECK(connection >= 0 && connected - accepted < VISITORS);
    if (connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(connection); /* the backlog is full */
        return -1;
    }
    visitor[connected++ % VISITORS] = (struct ucred){.pid = pid, .uid = uid, .gid = uid};
    return connection;
}

void daemon_serve(const struct myrd_owner *owner, void *serving, bool (*step)(void *context),
                  void *context)
{
    struct myr_error error = {.text = ""};
    next_step = step;
    step_context = context;
    polls = idle = 0;
    serving_here = true;
    CHECK(MYR_OK == owner->run(serving, -1, &error));
    serving_here = false;
    CHECK(connected == accepted);
}

void daemon_pass_ms(uint64_t ms)
{
    passed_ms += ms;
}

uint32_t daemon_descriptors(void)
{
    uint32_t count = 0;
    DIR *open = opendir("/proc/self/fd");
    CHECK(NULL != open);
    while (NULL != readdir(open)) {
        ++count;
    }
    closedir(open);
    return count;
}
