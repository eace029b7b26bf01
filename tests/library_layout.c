/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that structures and constants of myr/myr.h have the same layout as since libmyr.so.0, on
 * machines with 64-bit addresses. Because programs were compiled with this layout, it may change
 * only together with the library's version number. tests/library_test.sh compiles this file with
 * the installed header.
 */
#include <myr/myr.h>

#define IS(what, number) _Static_assert((what) == (number), #what " is not " #number)
#define LIES(type, member, offset, bytes)                                                          \
    IS(offsetof(struct type, member), offset);                                                     \
    IS(sizeof(((struct type *)0)->member), bytes)

#ifdef __LP64__
IS(sizeof(struct myr_options), 32);
LIES(myr_options, nic, 0, 8);
LIES(myr_options, settings, 8, 8);
LIES(myr_options, dir, 16, 8);
LIES(myr_options, memory, 24, 4);

IS(sizeof(struct myr_members), 24);
LIES(myr_members, size, 0, 4);
LIES(myr_members, rank, 4, 4);
LIES(myr_members, allgather, 8, 8);
LIES(myr_members, context, 16, 8);
#endif

IS(sizeof(struct myr_missing), 8);
LIES(myr_missing, rank, 0, 4);
LIES(myr_missing, silent_ms, 4, 4);

IS(sizeof(enum myr_outcome), 4);
IS(MYR_DONE, 0);
IS(MYR_LATE, 1);
IS(MYR_OVER, 2);
IS(MYR_WHY, 256);
