/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server, in a thread, and the other hosts.
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

/* The other hosts. Two have a myrd --kernel, one has somebody who would like to be taken for one.
 */
enum { HOST, LATE_HOST, LIAR, OTHERS };
extern const char *const addresses[OTHERS];

extern struct served {
    char folder[200], path[220];
    struct myrd_options options;
    void *server;
    int end[2], end_others[2];
    int doorbells;     /* a socket that hears those which the NIC would take, */
    int bells[2];      /* ... and passes them on here */
    int other[OTHERS]; /* the others' sockets */
    pthread_t thread, others;
} world;

extern bool double_watch_next; /* the next server's double tells who is stuck */

/* A UDP socket at this place; -1: it is taken. */
int bind_at(const char *address, uint16_t port);

/* Words of a host to another. */
void say_to(int from, const struct sockaddr_in *to, const struct myrd_hosts_words *words);

/* Before and after a test: meanwhile a server runs. */
int begin_server(void **state);
int end_server(void **state);

/* A client comes in. */
struct myr_kernel_nic *come(void);

/* It has a group opened, and gets its page. */
void ask_for(struct myr_kernel_nic *nic, uint64_t key, int *page);

/* A client that says what it likes. */
int connect_raw(void);

/* Ask for the NIC's name, and wait for the answer, which stays unread. */
enum myr_status ask_and_look(int raw);

/* Ask on, with the answer unread, until one is dead to the server. */
void ask_on(int raw);

#endif
