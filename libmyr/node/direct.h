/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing another process's memory: a large message on one node is copied once, by its
 * receiver; what is put into a window or got from it, by who asks.
 *
 * Is that possible? Both sides decide it from what both have told, so they decide alike.
 */
#ifndef MYR_DIRECT_H
#define MYR_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a process tells others about its memory: plain data. */
struct myr_direct {
    uint64_t process_namespace, user_namespace; /* in which its numbers mean something */
    uint32_t pid, user;
    uint32_t readable; /* whether its memory can be read, and it can read others' */
    uint32_t zero;
};

/* Fill it in for this process. Where the kernel's Yama module asks for it, allow others to read. */
void myr_direct_describe(struct myr_direct *own);

/* Can two processes of one node read each other's memory? Both come to the same answer. */
bool myr_direct_possible(const struct myr_direct *one, const struct myr_direct *other);

/* Copy `bytes` from another process's memory, or to it. False where the system refuses. */
bool myr_direct_read(uint32_t pid, void *to, uint64_t from, size_t bytes);
bool myr_direct_write(uint32_t pid, const void *from, uint64_t to, size_t bytes);

#endif
