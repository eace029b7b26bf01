/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing another process's memory: the receiver copies a large message on one node
 * once; for one-sided operations the origin does the copy.
 *
 * Both sides decide from the descriptions of both whether that is possible, so they agree. */
#ifndef MYR_DIRECT_H
#define MYR_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The description of a process that others need: plain data. */
struct myr_direct {
    uint64_t process_namespace, user_namespace; /* the namespaces of its pid and uid */
    uint32_t pid, user;
    uint32_t readable; /* its memory can be read, and it can read others' */
    uint32_t zero;
};

/* Describe this process. Under Yama, where required, allow others to read its memory. */
void myr_direct_describe(struct myr_direct *own);

/* Can two processes of one node read each other's memory? The function is symmetric. */
bool myr_direct_possible(const struct myr_direct *one, const struct myr_direct *other);

/* Copy `bytes` from another process's memory, or to it. False if the kernel refuses. */
bool myr_direct_read(uint32_t pid, void *to, uint64_t from, size_t bytes);
bool myr_direct_write(uint32_t pid, const void *from, uint64_t to, size_t bytes);

#endif
