/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the server in a thread, and simulates the other hosts.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_SERVER_H
#define TESTS_UNIT_KERNEL_SERVER_SERVER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "libmyr/kernel/kernel_inside.h"
#include "myrd/kernel_hosts.h"
#include "myrd/owner.h"

/* The other hosts: two run a myrd --kernel, and one falsely claims to do so. */
enum { HOST, LATE_HOST, LIAR, OTHERS };
extern const char *const addresses[OTHERS];

extern struct served {
    char dir[200], path[220];
    struct myrd_options options;
    void *server;
    int end[2], end_others[2];
    int doorbells;     /* receives the doorbells that the NIC would receive */
    int bells[2];      /* socket pair to which doorbells are forwarded */
    int other[OTHERS]; /* the others' sockets */
    pthread_t thread, others;
} world;

extern bool fake_watch_next; /* the next server's fake NIC reports stuck groups */

/* Returns a UDP socket bound to this address and port, or -1 if it is in use. */
int bind_at(const char *address, uint16_t port);

void send_words(int from, const struct sockaddr_in *to, const struct myrd_hosts_words *words);

/* Start and stop a server before and after a test. */
int begin_server(void **state);
int end_server(void **state);
#define SERVER(name) TEST_IN(name, begin_server, end_server)

struct myr_kernel_nic *connect_client(void);

/* Open group `key` as this client, and return its page. If `page` is NULL, the descriptor is
 * closed. */
void open_group(struct myr_kernel_nic *nic, uint64_t key, int *page);

/* Connect as a client that can send anything. */
int connect_raw(void);

/* Request the NIC's name, and wait for the response without reading it. */
enum myr_status ask_and_peek(int raw);

/* Send requests without reading the responses until the server disconnects. */
void ask_until_disconnected(int raw);

#endif
