/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd --kernel: owns the kernel's NIC at one interface, for all users of the node. Called by
 * main.c; what it says to its clients is in libmyr/kernel_words.h.
 *
 * One thread, which nobody can hold up: it sends and receives without waiting, and whoever has to
 * wait for a peer's hardware address waits apart.
 */
#ifndef MYRD_KERNEL_SERVER_H
#define MYRD_KERNEL_SERVER_H

#include "libmyr/status.h"
#include "myrd/server.h"

struct myrd_kernel_server;

/* Stand the NIC at its interface and begin to listen. Of `options`, memory does not matter. */
enum myr_status myrd_kernel_server_open(const struct myrd_options *options,
                                        struct myrd_kernel_server **server,
                                        struct myr_error *error);

/* Give up every right that it does not need from now on, for this process. */
enum myr_status myrd_kernel_server_confine(struct myr_error *error);

/* Serve until the descriptor `end` can be read, or, with a line why, until that is impossible. */
enum myr_status myrd_kernel_server_run(struct myrd_kernel_server *server, int end,
                                       struct myr_error *error);

/* Leave, and take the NIC along: barriers on it will not complete. */
void myrd_kernel_server_close(struct myrd_kernel_server *server);

#endif
