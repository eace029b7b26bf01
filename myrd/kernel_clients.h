/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of myrd --kernel: how they connect, send requests, get replies, and leave. Called by
 * kernel_server.c, which processes their requests in a single thread that never blocks on a client.
 *
 * Clients are processes of any user, so they are not trusted:
 *
 * - Connections and service time are limited per user (share.h, users.h).
 * - Each client has at most one request in progress.
 * - A client that disconnects without closing its groups is considered dead, and its groups fail
 *   (kernel_groups.h). A client that continues to send requests without reading the replies is
 *   treated in the same way.
 * - Unread replies occupy memory of the daemon, and count as a connection until they are read. */
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
#include "myrd/listener.h"
#include "myrd/users.h"

enum {
    MYRD_CLIENTS_MOST = MYRD_USERS_MOST,
    MYRD_CLIENTS_WATCHED = 2,              /* polled descriptors per client */
    MYRD_ABSENT_MOST = MCP_KERNEL_HOLDERS, /* polled descriptors of absent clients, one each */
    MYRD_CLIENTS_POLLED = MYRD_CLIENTS_WATCHED * MYRD_CLIENTS_MOST + MYRD_ABSENT_MOST,
};

/* A client of the previous daemon that held groups when the daemon ended, is alive, and has not
 * reconnected yet. */
struct myrd_absent {
    uint64_t number;
    uid_t uid;
    int process; /* pidfd */
};

struct myrd_client {
    struct myrd_visitor visitor;
    uint64_t number;              /* never reused */
    bool left;                    /* considered dead; only its unread replies remain */
    struct myrd_meeting *meeting; /* to be completed before its group is opened; NULL: none */
};

/* Processes a client's request. Returns false if the request is malformed. If the function attaches
 * the client to a meeting (kernel_meeting.h), further requests of the client wait until the meeting
 * ends. */
typedef bool (*myrd_clients_attend_fn)(void *context, struct myrd_client *client,
                                       const struct myr_kernel_question *question);

/* All clients of the daemon. Initialize to 0. The owner sets the first six members. */
struct myrd_clients {
    struct myrd_listener *listener;
    struct myrd_users *users;
    struct myrd_meetings *meetings;
    struct myrd_groups *groups;
    myrd_clients_attend_fn attend;
    void *context;          /* argument of attend() */
    uint64_t network;       /* cookie of the daemon's network namespace */
    uint64_t ever, refused; /* connections since the daemon started */
    uint32_t count, most;
    uint32_t swept; /* the last iteration of the event loop in which sweep_clients() ran */
    struct myrd_client client[MYRD_CLIENTS_MOST];
    uint32_t absent_count;
    struct myrd_absent absent[MYRD_ABSENT_MOST];
};

/* Determines which of the processes that held groups under the previous daemon are still alive, and
 * reaps the others. To be called at start-up, before the daemon gives up access to files, because
 * the function reads /proc. */
void myrd_clients_recall(struct myrd_clients *clients);

/* Handles a client's claim to be the absent client `number`. Returns false if the claim is
 * wrong. */
bool myrd_clients_return(struct myrd_clients *clients, struct myrd_client *client, uint64_t number);

/* Raises the limit of descriptors, and derives the maximum number of clients from it. To be called
 * first. */
void myrd_clients_allow(struct myrd_clients *clients);

/* Restricts service to clients in this socket's network namespace. */
void myrd_clients_belong(struct myrd_clients *clients, int socket);

/* Accepts clients, as long as their users have service time left in this iteration of the event
 * loop. */
void myrd_clients_accept(struct myrd_clients *clients);

/* myrd_clients_watch() fills in the descriptors to poll() and returns their number:
 * MYRD_CLIENTS_WATCHED for each of the `count` clients, then one for each absent client. After
 * poll(), myrd_clients_serve() serves all clients that have sent a request or have ended, except
 * those whose users have used up their service time. */
uint32_t myrd_clients_watch(const struct myrd_clients *clients, struct pollfd *watched);
void myrd_clients_serve(struct myrd_clients *clients, const struct pollfd *watched);

/* Replies to a request. `name` and `seen` (a group's maps) may be NULL. */
void myrd_client_answer(const struct myrd_client *client, enum myr_status status, const char *why,
                        const struct myr_nic_name *name, const struct mcp_kernel_seen *seen);

/* Detaches the client from its meeting. */
void myrd_client_end_meeting(struct myrd_clients *clients, struct myrd_client *client);

/* Disconnects all clients. The owner decides what happens to their groups. */
void myrd_clients_close(struct myrd_clients *clients);

#endif
