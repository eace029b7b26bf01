/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quotas of users for shared resources: groups, closed groups, connections.
 *
 * One thirty-second of each resource is reserved for root. Of the rest, a user may have a quarter
 * of what the other users do not use. Quotas therefore shrink when more users arrive, and a new
 * user gets a share as long as anything is left. Units that a user already has are never revoked.
 * All users of an account are treated as one user (accounts.h).
 *
 * The function has no state, so any thread may call it. */
#ifndef MYRD_SHARE_H
#define MYRD_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether a user that has `own` of the `all` units may have one more, while other users
 * have `others`. */
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
