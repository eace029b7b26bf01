/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a user may have of what all users share: groups, closed groups, connections.
 *
 * The rule: a user may have a quarter of what all other users leave, and the last thirty-second of
 * all is root's. So shares shrink as users come, and whoever comes gets something while anything is
 * left. What a user has already is never taken away. Users of an account count as one (accounts.h).
 * Nothing in here is kept, so any thread may call it.
 */
#ifndef MYRD_SHARE_H
#define MYRD_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* May this user, who has `own` of `all`, have one more, where other users have `others`? */
static inline bool myrd_share_allows(uint32_t all, uint32_t others, uint32_t own, uid_t uid)
{
    if (0 == uid) {
        return others + own < all;
    }
    const uint32_t for_users = all - all / 32;
    const uint32_t left = others < for_users ? for_users - others : 0;
    return own < (left + 3) / 4;
}

#endif
