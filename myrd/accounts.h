/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Users that count as one where shares are counted (share.h).
 *
 * A user may have a range of subordinate uids (subuid(5)), and so be 65,536 users more. The kernel
 * does not tell a daemon whose they are, but the system's table of ranges does. All uids of a range
 * are one account. So whoever has a range counts twice, and not as often as he likes. What is
 * whose, and who may see it, goes by uids as ever.
 *
 * The table is read once. It is of this process, and not to be read by several threads at once.
 */
#ifndef MYRD_ACCOUNTS_H
#define MYRD_ACCOUNTS_H

#include <sys/types.h>

#define MYRD_ACCOUNTS_TABLE "/etc/subuid"

/* Read the table anew; one that is not there has no ranges, nor has a line that makes no sense.
 * Root's ranges are left out: root needs none to be anybody, and hosts of containers give it ranges
 * that other users' uids lie in. */
void myrd_accounts_read(const char *path);

/* The account of this user: its own uid, or the first one of the range that it is in. (Ranges that
 * overlap are one.) */
uid_t myrd_account(uid_t uid);

#endif
