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
 * user or, where `root_too`, as root. Talking to it lasts some seconds at the most: a stopped one
 * must not hold up a job. MYR_ERR_NOT_THERE where none listens; `connection` is -1 then.
 */
enum myr_status myr_talk_connect(const char *path, const char *daemon, bool root_too,
                                 int *connection, struct myr_error *error);

/* Who is at the other end; false if the kernel does not say. */
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
