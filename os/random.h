/* SPDX-License-Identifier: BSD-3-Clause */
/* Unpredictable keys, from the system's random numbers (getrandom(2)). Any thread may call this. */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

/* Draws a key of `bytes` bytes, at most 8. It is never 0. Returns false, with errno, if the system
 * provides no random numbers. */
static inline bool os_draw_key(void *key, size_t bytes)
{
    uint64_t drawn = 0;
    do {
        if ((ssize_t)bytes != getrandom(&drawn, bytes, 0)) {
            return false;
        }
    } while (0 == drawn);
    memcpy(key, &drawn, bytes);
    return true;
}

#endif
