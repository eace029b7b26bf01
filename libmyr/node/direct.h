/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing the memory of another process. On one node, the receiver of a large message
 * thus copies it only once, directly from the sender's buffer. In one-sided operations it is the
 * origin process that copies the data.
 *
 * Both sides decide from the descriptions of both processes whether this is possible, so they agree
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
    uint32_t readable; /* whether its memory can be read, and it can read the memory of others */
    uint32_t zero;
};

/* Describes this process. If Yama requires it, other processes are given permission to read the
 * memory of this process. */
void myr_direct_describe(struct myr_direct *own);

/* Returns whether two processes of one node can read each other's memory. The function is
 * symmetric. */
bool myr_direct_possible(const struct myr_direct *one, const struct myr_direct *other);

/* Copy `bytes` from or to the memory of another process. Return false if the kernel refuses. */
bool myr_direct_read(uint32_t pid, void *to, uint64_t from, size_t bytes);
bool myr_direct_write(uint32_t pid, const void *from, uint64_t to, size_t bytes);

#endif
