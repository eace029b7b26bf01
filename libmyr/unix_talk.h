/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words and descriptors over a Unix socket (SOCK_SEQPACKET), between a daemon of this machine and
 * its clients: for nic_daemon.c, kernel_nic.c, and the daemon itself (myrd/).
 *
 * Invariant: no descriptor that comes with a message is leaked, whoever sent it and however many
 * come.
 */
#ifndef MYR_UNIX_TALK_H
#define MYR_UNIX_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "libmyr/status.h"

enum { MYR_TALK_DESCRIPTORS = 2 }; /* the most that come with a message */

/*
 * Connect to the daemon that listens at `path` and is called `daemon` in words. It must run as this
 * user or, where `root_too`, as root. The folder must belong to one of these, be no symbolic link,
 * and let nobody else write: what another user has put in the daemon's place is never spoken to.
 * Nothing is waited for, and the connection does not block. `connection` is -1 after a failure.
 * MYR_ERR_NOT_THERE: none listens. MYR_ERR_NOT_YET: it has no room for more callers at present.
 */
enum myr_status myr_talk_connect(const char *path, const char *daemon, bool root_too,
                                 int *connection, struct myr_error *error);

/*
 * How long to wait for a daemon (milliseconds): `most` in all, and `idle` of that while it neither
 * runs nor wants to. A daemon that was spoken to wants to run. So it is stopped then, or hangs. One
 * that wants to, and does not get a processor, is on a busy machine.
 */
struct myr_talk_patience {
    uint32_t idle, most;
};

/* For the first answer of a daemon, which has nothing else to do for it: a tenth of a second where
 * the caller, in a `hurry`, can ask again later; else half a second, and longer while it is busy.
 */
const struct myr_talk_patience *myr_talk_patience_for_hello(bool hurry);

/*
 * Say something to a daemon, and wait until it can be said; and wait until the daemon has said
 * something, or has closed its end. MYR_ERR_NOT_YET: patience is over, and nothing was said. (A
 * daemon that has refused already, and gone, may have said why. So it is no error to speak to it.)
 */
enum myr_status myr_talk_say(int connection, const char *daemon, const void *words, size_t bytes,
                             const struct myr_talk_patience *patience, struct myr_error *error);
enum myr_status myr_talk_hear(int connection, const char *daemon,
                              const struct myr_talk_patience *patience, struct myr_error *error);

/* The credentials of the other end; false if the kernel does not tell. */
bool myr_talk_peer(int connection, struct ucred *peer);

/* Send a message with `count` descriptors, which stay the caller's. `flags` are those of send().
 * False, with errno, if it was not sent. */
bool myr_talk_send(int connection, const void *words, size_t bytes, const int *descriptors,
                   uint32_t count, int flags);

/*
 * Take a message with `count` descriptors. At most `bytes` of it are stored. The descriptors are -1
 * unless just as many came. Returns the message's length, however long it was. 0: the other end has
 * closed. -1, with errno: failed.
 */
ssize_t myr_talk_receive(int connection, void *words, size_t bytes, int *descriptors,
                         uint32_t count);

#endif
