/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of myrd --kernel: who is let in, what they ask, what they have not read, and when
 * they are gone. Called by kernel_server.c, which answers their questions. One thread, which never
 * waits for any of them.
 *
 * Clients are processes of any user. Invariants: connections count per user (share.h), and so does
 * the time in which users are heard (users.h). Each client has at most one question under way. A
 * client that goes without closing its groups has died, and they fail (kernel_groups.h). So has one
 * that asks on with an answer unread. What is unread is the daemon's memory, and counts as a
 * connection as long as it is.
 */
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
    MYRD_CLIENTS_WATCHED = 2,              /* descriptors of each that are watched, */
    MYRD_ABSENT_MOST = MCP_KERNEL_HOLDERS, /* ... and one of each that is absent */
    MYRD_CLIENTS_POLLED = MYRD_CLIENTS_WATCHED * MYRD_CLIENTS_MOST + MYRD_ABSENT_MOST,
};

/* A client of the daemon before this one, which held groups when that ended. It lives, and has not
 * come back yet. */
struct myrd_absent {
    uint64_t number;
    uid_t uid;
    int process; /* pidfd */
};

struct myrd_client {
    struct myrd_visitor visitor;
    uint64_t number;              /* none of the others ever has it */
    bool left;                    /* it is dead to us; there only is what it has not read */
    struct myrd_meeting *meeting; /* that it waits for before its group is opened; NULL: none */
};

/* A client asks: attend to it. False: that is no question. The client may be given a meeting to
 * wait for; it is not heard before that ends. */
typedef bool (*myrd_clients_attend_fn)(void *context, struct myrd_client *client,
                                       const struct myr_kernel_question *question);

/* All 0 to begin with. The owner fills in the first six. */
struct myrd_clients {
    struct myrd_place *place;
    struct myrd_users *users;
    struct myrd_meetings *meetings;
    struct myrd_groups *groups;
    myrd_clients_attend_fn attend;
    void *context;          /* attend()'s */
    uint64_t network;       /* the cookie of our network namespace */
    uint64_t ever, refused; /* connections since the daemon began */
    uint32_t count, most;
    uint32_t swept; /* the last turn in which room was made */
    struct myrd_client client[MYRD_CLIENTS_MOST];
    uint32_t absent_count;
    struct myrd_absent absent[MYRD_ABSENT_MOST];
};

/* Find those who hold groups since before this daemon, and reap those of them who are dead. It
 * takes /proc (kernel_holders.h), and is for the beginning. */
void myrd_clients_recall(struct myrd_clients *clients);

/* A client says that it is one of these. False: it is not. */
bool myrd_clients_return(struct myrd_clients *clients, struct myrd_client *client, uint64_t number);

/* Serve as many clients as there are descriptors for. Call it before all else. */
void myrd_clients_allow(struct myrd_clients *clients);

/* Serve those who are in this socket's network namespace, and no others. */
void myrd_clients_belong(struct myrd_clients *clients, int socket);

/* Let those in who want to come, for as long as they have time in this turn. */
void myrd_clients_accept(struct myrd_clients *clients);

/* Fill in what to poll() for, and return how many that are: MYRD_CLIENTS_WATCHED for each of the
 * `count` clients, then one for each absent one. Then hear all that have something to say, or have
 * ended; whoever's user has had its time waits. */
uint32_t myrd_clients_watch(const struct myrd_clients *clients, struct pollfd *watched);
void myrd_clients_serve(struct myrd_clients *clients, const struct pollfd *watched);

/* Answer a question. NULL: no name, or no group's maps. */
void myrd_client_answer(const struct myrd_client *client, enum myr_status status, const char *why,
                        const struct myr_nic_name *name, const struct mcp_kernel_seen *seen);

/* It waits for its meeting no more. */
void myrd_client_end_meeting(struct myrd_clients *clients, struct myrd_client *client);

/* All go; their groups are left to their owner. */
void myrd_clients_close(struct myrd_clients *clients);

#endif
