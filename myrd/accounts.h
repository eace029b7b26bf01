/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts: groups of users whose quotas are shared (share.h).
 *
 * A user may own a range of subordinate uids (subuid(5)), and can thereby act as 65,536 more users.
 * To keep a user from multiplying its quota in this way, all uids of a range form one account. The
 * owner then has a second account, but not 65,536. The kernel does not report who owns a
 * subordinate uid, so the ranges are read from the system's table. Accounts are for quotas only;
 * ownership and access are by uid.
 *
 * The table is read once. It is global to the process and not thread-safe.
 */
#ifndef MYRD_ACCOUNTS_H
#define MYRD_ACCOUNTS_H

#include <sys/types.h>

#define MYRD_ACCOUNTS_TABLE "/etc/subuid"

/* Reads the table. A table that does not exist is empty, and malformed lines are ignored. Root's
 * ranges are left out: root does not need any, and container hosts assign it ranges that contain
 * other users' uids. */
void myrd_accounts_read(const char *path);

/* Returns the user's account: the first uid of the range that contains the user, else the user's
 * own uid. Overlapping ranges are merged. */
uid_t myrd_account(uid_t uid);

#endif
