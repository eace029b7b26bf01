/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of myrd --kernel: admission, requests, unread answers, and departure. Called by
 * kernel_server.c, which answers their questions, in one thread, which never blocks on a client.
 *
 * Clients are processes of any user. Invariants: connections and service time are limited per user
 * (share.h, users.h). Each client has at most one question in progress. A client that disconnects
 * without closing its groups has died, and the groups fail (kernel_groups.h). A client that
 * continues to send requests without reading an answer is treated in the same way. Unread answers
 * occupy memory of the daemon, and count as a connection until they are read. */
#ifndef MYRD_KERNEL_CLIENTS_H
#define MYRD_KERNEL_CLIENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/kernel.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"
#include "myrd/kernel_groups.h"
#include "myrd/kernel_meeting.h"
#include "myrd/place.h"
#include "myrd/users.h"

enum {
    MYRD_CLIENTS_MOST = MYRD_USERS_MOST,
    MYRD_CLIENTS_WATCHED = 2,              /* polled descriptors per client, */
    MYRD_ABSENT_MOST = MCP_KERNEL_HOLDERS, /* ... and one per absent client */
    MYRD_CLIENTS_POLLED = MYRD_CLIENTS_WATCHED * MYRD_CLIENTS_MOST + MYRD_ABSENT_MOST,
};

/* A client of the previous daemon that held groups when that ended. It is alive and has not
 * reconnected yet. */
struct myrd_absent {
    uint64_t number;
    uid_t uid;
    int process; /* pidfd */
};

struct myrd_client {
    struct myrd_visitor visitor;
    uint64_t number;              /* unique for all time */
    bool left;                    /* treated as dead; only its unread answers remain */
    struct myrd_meeting *meeting; /* awaited before its group is opened; NULL: none */
};

/* Process a client's question. Returns false if it is malformed. This may assign a meeting to the
 * client, which is not served until the meeting ends. */
typedef bool (*myrd_clients_attend_fn)(void *context, struct myrd_client *client,
                                       const struct myr_kernel_question *question);

/* Initialize to 0. The owner sets the first six members. */
struct myrd_clients {
    struct myrd_place *place;
    struct myrd_users *users;
    struct myrd_meetings *meetings;
    struct myrd_groups *groups;
    myrd_clients_attend_fn attend;
    void *context;          /* for attend() */
    uint64_t network;       /* the cookie of our network namespace */
    uint64_t ever, refused; /* connections since the daemon started */
    uint32_t count, most;
    uint32_t swept; /* the last turn in which sweep() ran */
    struct myrd_client client[MYRD_CLIENTS_MOST];
    uint32_t absent_count;
    struct myrd_absent absent[MYRD_ABSENT_MOST];
};

/* Find the processes that held groups under the previous daemon, and reap the dead ones. Needs
 * /proc (kernel_holders.h), and so must be called at start-up. */
void myrd_clients_recall(struct myrd_clients *clients);

/* Handle a client's claim to be the absent client `number`. Returns false if it is not. */
bool myrd_clients_return(struct myrd_clients *clients, struct myrd_client *client, uint64_t number);

/* Raise the limit of descriptors, and derive the maximum number of clients. To be called first. */
void myrd_clients_allow(struct myrd_clients *clients);

/* Serve only clients in this socket's network namespace. */
void myrd_clients_belong(struct myrd_clients *clients, int socket);

/* Accept clients, as long as their users have time left in this turn. */
void myrd_clients_accept(struct myrd_clients *clients);

/* Fill in the descriptors to poll() and return their number: MYRD_CLIENTS_WATCHED for each of the
 * `count` clients, then one for each absent one. Then serve all that have sent something or ended;
 * clients of users without time left wait. */
uint32_t myrd_clients_watch(const struct myrd_clients *clients, struct pollfd *watched);
void myrd_clients_serve(struct myrd_clients *clients, const struct pollfd *watched);

/* Answer a question. `name` and `seen` (a group's maps) may be NULL. */
void myrd_client_answer(const struct myrd_client *client, enum myr_status status, const char *why,
                        const struct myr_nic_name *name, const struct mcp_kernel_seen *seen);

/* The client no longer waits for its meeting. */
void myrd_client_end_meeting(struct myrd_clients *clients, struct myrd_client *client);

/* Disconnect all clients; their groups are up to the owner. */
void myrd_clients_close(struct myrd_clients *clients);

#endif
