/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives messages and descriptors over a Unix socket (SOCK_SEQPACKET), between a daemon
 * of this machine and its clients. Used by nic_daemon.c, kernel_nic.c, and the daemon itself
 * (myrd/).
 *
 * Invariant: no received descriptor is leaked, no matter who sends descriptors, and how many. */
#ifndef MYR_UNIX_TALK_H
#define MYR_UNIX_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "libmyr/status.h"

enum { MYR_TALK_DESCRIPTORS = 2 }; /* maximum number in a message */

/* Connects to the daemon at the socket `path`; error messages refer to this daemon as `daemon`. The
 * connection is non-blocking, and the function does not wait for the daemon to accept it. On
 * failure, `connection` is set to -1.
 *
 * The daemon must run as this user or, with `root_too`, as root. The directory of the socket must
 * belong to one of these users, must not be a symbolic link, and must not be writable by any other
 * user. Therefore nothing is ever sent to an impostor that another user has started.
 *
 * Returns MYR_ERR_NOT_THERE if no daemon listens at the socket, and MYR_ERR_NOT_YET if the
 * listener's backlog is full at present. */
enum myr_status myr_talk_connect(const char *path, const char *daemon, bool root_too,
                                 int *connection, struct myr_error *error);

/* How long to wait for an answer of a daemon, in milliseconds: `most` limits the total time, and
 * `idle` the time during which the daemon is not runnable. The second limit may be shorter, because
 * a runnable daemon only waits for a CPU, whereas a daemon that has an unread message but is not
 * runnable hangs or has been stopped. */
struct myr_talk_timeout {
    uint32_t idle, most;
};

/* Returns the timeouts for the first answer of a daemon, which it sends as soon as it runs. With
 * `hurry`, that is, if the caller can try again later, the timeout is 100 ms. Otherwise it is 500
 * ms, or up to 10 s while the daemon is runnable. */
const struct myr_talk_timeout *myr_talk_timeout_for_hello(bool hurry);

/* myr_talk_send_to_daemon() waits until the socket has space, and sends a message. myr_talk_await()
 * waits until the daemon has sent something or has closed the connection. Both return
 * MYR_ERR_NOT_YET after the timeout, and the message has then not been sent.
 *
 * A daemon that refuses a client first sends the reason, and then closes the connection. Sending to
 * a closed connection is therefore not reported as an error, so that the caller goes on to read the
 * reason. */
enum myr_status myr_talk_send_to_daemon(int connection, const char *daemon, const void *words,
                                        size_t bytes, const struct myr_talk_timeout *timeout,
                                        struct myr_error *error);
enum myr_status myr_talk_await(int connection, const char *daemon,
                               const struct myr_talk_timeout *timeout, struct myr_error *error);

/* Gets the credentials of the other end; returns false if the kernel does not provide them. */
bool myr_talk_peer(int connection, struct ucred *peer);

/* Sends a message with `count` descriptors, which the caller still owns. `flags` are those of
 * send(). Returns false, with errno, if the message was not sent. */
bool myr_talk_send(int connection, const void *words, size_t bytes, const int *descriptors,
                   uint32_t count, int flags);

/* Receives a message with `count` descriptors. At most `bytes` of the message are stored. The
 * descriptors are -1 unless exactly `count` arrived. Returns the full length of the message, 0 if
 * the other end has closed the connection, or -1 with errno on failure. */
ssize_t myr_talk_receive(int connection, void *words, size_t bytes, int *descriptors,
                         uint32_t count);

#endif
