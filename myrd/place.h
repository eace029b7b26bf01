/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place where a daemon listens: a Unix socket (SOCK_SEQPACKET) at a path, with a lock beside
 * it. The lock tells for certain whether a daemon lives there. For server.c and kernel_server.c.
 */
#ifndef MYRD_PLACE_H
#define MYRD_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "libmyr/status.h"

struct myrd_place {
    struct sockaddr_un address;
    int lock, listening; /* -1: none */
    int folder;          /* the socket's, which may have no name any more when we leave */
    int spare;           /* spare descriptor, to send visitors away by when there are no others */
    bool bound;          /* the socket's file is ours */
};

/* Somebody who wants to come in. */
struct myrd_visitor {
    int connection;
    int process; /* pidfd: its children may keep the connection open */
    pid_t pid;
    uid_t uid;
};

/* Make a folder for the socket `path` with these rights. Nobody else can put anything into it. */
enum myr_status myrd_place_make_folder(const char *path, mode_t rights, struct myr_error *error);

/* Listen at `path`, in an existing folder. `rights` are the socket's. Only one daemon at a time
 * listens at a place. After success and failure alike, the place may be given to
 * myrd_place_close(). */
enum myr_status myrd_place_open(struct myrd_place *place, const char *path, mode_t rights,
                                struct myr_error *error);

/* Listen no more. The lock stays, so that nobody else comes before we have cleared up. */
void myrd_place_hide(struct myrd_place *place);
void myrd_place_close(struct myrd_place *place);

/*
 * The events to poll() `listening` for. There are none while descriptors are so short that a
 * visitor could not even be sent away: poll() would come back at once each time. Call it before
 * each poll(). The other function cuts the time-out of poll() (ms, -1: none), so that this is tried
 * again then.
 */
short myrd_place_events(struct myrd_place *place);
int myrd_place_timeout(const struct myrd_place *place, int timeout_ms);

/* Take the next visitor. False if there is none. If `why` is not NULL afterwards, it says why the
 * process cannot be watched. A visitor that has got the last descriptor must be sent away before
 * the next one is taken. */
bool myrd_place_accept(struct myrd_place *place, struct myrd_visitor *visitor, const char **why);

/* Has that visitor got the last descriptor? */
static inline bool myrd_place_short(const struct myrd_place *place)
{
    return place->spare < 0;
}

void myrd_visitor_leave(const struct myrd_visitor *visitor);

#endif
