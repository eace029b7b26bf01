/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing another process's memory. The receiver thus copies a large message on one
 * node only once; for one-sided operations the origin does the copy.
 *
 * Both sides decide from the descriptions of both processes whether that is possible, so they agree
 * without communication. */
#ifndef MYR_DIRECT_H
#define MYR_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The description of a process that others need: plain data. */
struct myr_direct {
    uint64_t process_namespace, user_namespace; /* the namespaces of its pid and uid */
    uint32_t pid, user;
    uint32_t readable; /* whether its memory can be read, and it can read that of others */
    uint32_t zero;
};

/* Describes this process. Under Yama, where required, it allows other processes to read its
 * memory. */
void myr_direct_describe(struct myr_direct *own);

/* Returns whether two processes of one node can read each other's memory. The function is
 * symmetric. */
bool myr_direct_possible(const struct myr_direct *one, const struct myr_direct *other);

/* Copy `bytes` from another process's memory, or to it. They return false if the kernel refuses. */
bool myr_direct_read(uint32_t pid, void *to, uint64_t from, size_t bytes);
bool myr_direct_write(uint32_t pid, const void *from, uint64_t to, size_t bytes);

#endif
