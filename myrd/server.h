/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's inside: its socket, its NIC, and who uses it. Called by main.c.
 *
 * One thread runs the NIC (libmyr/nic_thread.h), the other one, in here, attends to the clients, so
 * that no client can hold up the NIC.
 */
#ifndef MYRD_SERVER_H
#define MYRD_SERVER_H

#include <stdint.h>

#include "libmyr/nic.h"

struct myrd_options {
    const char *socket; /* where to listen; NULL: the usual place */
    struct myr_nic_options nic;
    uint32_t memory; /* the most that all jobs together take (bytes) */
};

struct myrd_server;

/* Begin to listen, with a NIC. One server at a time does, at a place. */
enum myr_status myrd_server_open(const struct myrd_options *options, struct myrd_server **server,
                                 struct myr_error *error);

/* Serve until the descriptor `end` can be read, or, with a line why, until that is impossible. */
enum myr_status myrd_server_run(struct myrd_server *server, int end, struct myr_error *error);

/* Leave: clients go on without the daemon. */
void myrd_server_close(struct myrd_server *server);

#endif
