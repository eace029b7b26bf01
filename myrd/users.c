/* SPDX-License-Identifier: BSD-3-Clause */
/* The users' shares of the daemon's time; see users.h. */
#include "myrd/users.h"

#include <stddef.h>

#include "myrd/accounts.h"

/* Returns the index of the account, or the size of the table if it is not there. */
static uint32_t find_account(const struct myrd_users *users, uid_t uid)
{
    const uid_t account = myrd_account(uid);
    uint32_t u = 0;
    while (u < users->count && account != users->user[u].uid) {
        ++u;
    }
    return u;
}

void myrd_users_come(struct myrd_users *users, uid_t uid)
{
    const uint32_t u = find_account(users, uid);
    if (u == users->count) {
        users->user[users->count++] = (struct myrd_user){.uid = myrd_account(uid)};
    }
    ++users->user[u].connections;
}

void myrd_users_go(struct myrd_users *users, uid_t uid)
{
    const uint32_t u = find_account(users, uid);
    if (u < users->count && 0 == --users->user[u].connections) {
        users->user[u] = users->user[--users->count];
    }
}

uint32_t myrd_users_connections(const struct myrd_users *users, uid_t uid)
{
    const uint32_t u = find_account(users, uid);
    return u < users->count ? users->user[u].connections : 0;
}

void myrd_users_begin_iteration(struct myrd_users *users)
{
    ++users->iteration;
}

bool myrd_users_had_time(const struct myrd_users *users, uid_t uid)
{
    const uint32_t u = find_account(users, uid);
    return u < users->count && users->iteration == users->user[u].iteration &&
           users->user[u].took_us >= MYRD_USERS_ITERATION_US;
}

void myrd_users_took(struct myrd_users *users, uid_t uid, uint64_t us)
{
    const uint32_t u = find_account(users, uid);
    if (u < users->count) {
        struct myrd_user *user = &users->user[u];
        user->took_us = us + (users->iteration == user->iteration ? user->took_us : 0);
        user->iteration = users->iteration;
    }
}

uint64_t myrd_users_ask(struct myrd_users *users, uid_t uid, uint32_t questions, uint64_t now_ms)
{
    const uint32_t u = find_account(users, uid);
    if (u == users->count) {
        return now_ms;
    }
    uint64_t *until_us = &users->user[u].asks_until_us;
    const uint64_t now_us = 1000 * now_ms;
    const uint64_t ahead_us = *until_us > now_us ? *until_us - now_us : 0;
    *until_us = now_us + ahead_us + (uint64_t)MYRD_USERS_ASK_US * questions;
    return ahead_us <= MYRD_USERS_ASK_AHEAD_US
               ? now_ms
               : now_ms + (ahead_us - MYRD_USERS_ASK_AHEAD_US + 999) / 1000;
}
