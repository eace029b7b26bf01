/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The users that have connections to a daemon: how many each has, how long each was attended to in
 * this turn of the daemon's loop, and how many questions it has had the daemon ask other hosts. Who
 * has had its time waits for the next turn. Users of an account count as one (accounts.h). So
 * nobody waits longer than all users that are there are attended to once, whatever they ask. Called
 * by kernel_server.c and kernel_groups.c, in one thread.
 */
#ifndef MYRD_USERS_H
#define MYRD_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MYRD_USERS_MOST = 4096,
    MYRD_USERS_TURN_US = 500, /* who has had that much has no more questions heard in this turn */
    /* The daemon asks other hosts for a user's missing messages in its own time: 1.3 us of a
     * processor for each question, and as much as for 8 to begin with. Each takes so long of the
     * user's share. So 12,500 a second pass, which is 1.6 % of a processor, and 125 at once.
     * Between two askings for one group are at least 10 ms. So 13 groups at a time that miss a
     * message each never wait. */
    MYRD_USERS_ASK_US = 80,
    MYRD_USERS_ASK_AHEAD_US = 10000,
    MYRD_USERS_ASK_BEGIN = 8,
};

struct myrd_users {
    uint32_t count;
    struct myrd_user {
        uid_t uid;
        uint32_t connections;
        uint32_t turn;          /* of the loop, */
        uint64_t took_us;       /* ... in which it had that much */
        uint64_t asks_until_us; /* until then its questions take all of its share */
    } user[MYRD_USERS_MOST];
    uint32_t turn;
};

/* A connection of this user's comes, or goes. The caller sees to it that there are no more
 * connections than users have room. */
void myrd_users_come(struct myrd_users *users, uid_t uid);
void myrd_users_go(struct myrd_users *users, uid_t uid);
uint32_t myrd_users_connections(const struct myrd_users *users, uid_t uid);

/* The loop turns. Has this user had its time? It has been attended to for so long. */
void myrd_users_turn(struct myrd_users *users);
bool myrd_users_had_time(const struct myrd_users *users, uid_t uid);
void myrd_users_took(struct myrd_users *users, uid_t uid, uint64_t us);

/* The daemon is to ask so many questions for this user. Returns when it may (milliseconds, by the
 * clock that `now_ms` is of): now, or behind those that it was to ask before. */
uint64_t myrd_users_ask(struct myrd_users *users, uid_t uid, uint32_t questions, uint64_t now_ms);

#endif
