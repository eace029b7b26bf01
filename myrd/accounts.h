/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An account is a group of users who share a quota (share.h).
 *
 * A user may own a range of subordinate uids (subuid(5)), and can thereby act as 65,536 more users.
 * To prevent users from multiplying their quota in this way, all uids of a range form one account,
 * with the quota of a single user. The kernel does not report which user owns a subordinate uid, so
 * the ranges are read from the system's table. Accounts are used only for quotas; ownership and
 * access depend on the uid.
 *
 * The table is read once. It is global to the process and not thread-safe. */
#ifndef MYRD_ACCOUNTS_H
#define MYRD_ACCOUNTS_H

#include <sys/types.h>

#define MYRD_ACCOUNTS_TABLE "/etc/subuid"

/* Reads the table of subordinate uids. A table that does not exist is empty, and malformed lines
 * are ignored. Ranges of root are ignored as well: root does not need any, and on container hosts
 * they contain uids that belong to other users. */
void myrd_accounts_read(const char *path);

/* Returns the account of a user, which is identified by a uid. If the user's uid belongs to a range
 * of subordinate uids, this is the first uid of the range, otherwise the user's own uid.
 * Overlapping ranges are treated as a single range. */
uid_t myrd_account(uid_t uid);

#endif
