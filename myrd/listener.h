/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A listener is the Unix socket (SOCK_SEQPACKET) on which a daemon accepts clients, with a lock
 * file next to it. The lock shows reliably whether a daemon is running. Used by server.c and
 * kernel_server.c. */
#ifndef MYRD_LISTENER_H
#define MYRD_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "libmyr/status.h"

struct myrd_listener {
    struct sockaddr_un address;
    int lock, listening; /* -1: none */
    int dir;             /* directory of the socket; open because its path may be inaccessible on
                               exit */
    int spare;           /* reserved descriptor, for refusing visitors when all others are in use */
    bool bound;          /* this daemon has created the socket file */
};

/* A process that has connected and has not been admitted yet. */
struct myrd_visitor {
    int connection;
    int process; /* pidfd; children of the process may keep the connection open after its end */
    pid_t pid;
    uid_t uid;
};

/* Creates the directory of the socket `path` with these permissions. Only its owner can write to
 * it. */
enum myr_status myrd_listener_make_directory(const char *path, mode_t rights,
                                             struct myr_error *error);

/* Listens at `path`, whose directory must exist, with `rights` as the permissions of the socket.
 * Only one daemon at a time can listen at a path. The listener may be passed to
 * myrd_listener_close() whether or not this has succeeded. */
enum myr_status myrd_listener_open(struct myrd_listener *listener, const char *path, mode_t rights,
                                   struct myr_error *error);

/* Stops listening. The lock is kept, so that no other daemon starts before this one has cleaned
 * up. */
void myrd_listener_hide(struct myrd_listener *listener);
void myrd_listener_close(struct myrd_listener *listener);

/* Before each poll(), myrd_listener_events() returns the events to wait for on `listening`. While
 * too few descriptors are free to accept a visitor, even only to refuse it, the function returns no
 * events; otherwise poll() would return immediately each time. In this case myrd_listener_timeout()
 * shortens the timeout of poll() (ms, -1: none), so that the caller tries again. */
short myrd_listener_events(struct myrd_listener *listener);
int myrd_listener_timeout(const struct myrd_listener *listener, int timeout_ms);

/* Accepts the next visitor. Returns false if there is none. If the visitor's process cannot be
 * monitored, `*why` is set to the reason, otherwise to NULL. A visitor that occupies the spare
 * descriptor must be refused before the next one is accepted. */
bool myrd_listener_accept(struct myrd_listener *listener, struct myrd_visitor *visitor,
                          const char **why);

/* Returns whether the visitor occupies the spare descriptor. */
static inline bool myrd_listener_short(const struct myrd_listener *listener)
{
    return listener->spare < 0;
}

void myrd_visitor_leave(const struct myrd_visitor *visitor);

#endif
