/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Users that share one account for quotas (share.h).
 *
 * A user may own a range of subordinate uids (subuid(5)), and so act as 65,536 more users. The
 * kernel does not tell a daemon whose they are, but the system's table of ranges does. All uids of
 * a range form one account, so its owner counts twice, and not as often as it likes. Ownership and
 * access still go by uids.
 *
 * The table is read once. It is global to the process and not thread-safe.
 */
#ifndef MYRD_ACCOUNTS_H
#define MYRD_ACCOUNTS_H

#include <sys/types.h>

#define MYRD_ACCOUNTS_TABLE "/etc/subuid"

/* Read the table. A table that does not exist is empty, and malformed lines are ignored. Root's
 * ranges are left out: root needs none, and hosts of containers give it ranges that contain other
 * users' uids. */
void myrd_accounts_read(const char *path);

/* The user's account: its own uid, or the first one of the range that it is in. Overlapping ranges
 * are merged. */
uid_t myrd_account(uid_t uid);

#endif
