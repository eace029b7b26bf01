/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the daemon's time fairly among the users with connections. In each iteration of the event
 * loop, a user has a limited service time, and must wait for the next iteration when it is used up.
 * Thus no user has to wait longer than it takes to serve every other user once, no matter what the
 * others request. Requests that the daemon sends to other hosts on behalf of a user are limited
 * separately.
 *
 * The connections of each user are counted here as well. All users of an account are treated as one
 * user (accounts.h). Called by kernel_server.c and kernel_groups.c, in one thread. */
#ifndef MYRD_USERS_H
#define MYRD_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MYRD_USERS_MOST = 4096,
    MYRD_USERS_ITERATION_US = 500, /* service time per iteration; requests beyond it wait */
    /* When the daemon requests messages that a user's groups miss, it needs 1.3 us of CPU time for
       each request and, for each series of requests, as much as for another 8. The user is charged
       the following time for each request, which limits a user to 12,500 requests per second (1.6 %
       of a core), in bursts of up to 125. Since requests for one group are at least 10 ms apart,
       the requests for 13 groups with one missing message each are never delayed. */
    MYRD_USERS_ASK_US = 80,
    MYRD_USERS_ASK_AHEAD_US = 10000,
    MYRD_USERS_ASK_BEGIN = 8,
};

struct myrd_users {
    uint32_t count;
    struct myrd_user {
        uid_t uid;
        uint32_t connections;
        uint32_t iteration;     /* the last iteration in which it was served */
        uint64_t took_us;       /* the time that it took in that iteration */
        uint64_t asks_until_us; /* time until which its share is used up by requests */
    } user[MYRD_USERS_MOST];
    uint32_t iteration;
};

/* A connection of this user is added or removed. The caller limits the number of connections. */
void myrd_users_come(struct myrd_users *users, uid_t uid);
void myrd_users_go(struct myrd_users *users, uid_t uid);
uint32_t myrd_users_connections(const struct myrd_users *users, uid_t uid);

/* myrd_users_begin_iteration() begins an iteration. myrd_users_had_time() returns whether the user
 * has used up its time in this iteration, and myrd_users_took() charges it. */
void myrd_users_begin_iteration(struct myrd_users *users);
bool myrd_users_had_time(const struct myrd_users *users, uid_t uid);
void myrd_users_took(struct myrd_users *users, uid_t uid, uint64_t us);

/* Schedules requests for missing messages of this user's groups. Returns the time when they may be
 * sent, by the same clock as `now_ms`: now or, if the user's quota is used up, later. */
uint64_t myrd_users_ask(struct myrd_users *users, uid_t uid, uint32_t questions, uint64_t now_ms);

#endif
