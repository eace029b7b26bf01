/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process says of itself, and the bytes as which that travels.
 *
 * Pure functions; called by peers.c (the modex), across.c (words that are told anew) and the tests.
 * Bytes that another process has sent may be anything: reading them fails, or gives words in which
 * all is within its bounds.
 */
#ifndef NICBARR_HELLO_H
#define NICBARR_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll_nicbarr/nics.h"
#include "libmyr/seal.h"

/* Of these words, and of all else that processes tell each other or do in step: the lower half
 * changes with that. A machine of the other byte order reads another number, and does not go on. */
enum { NICBARR_HELLO_FORMAT = 0x4e420005 };

struct nicbarr_hello {
    uint64_t identity; /* of its segment; 0: it has none, and `why` says why */
    uint64_t digest;   /* of schedules, wire and parameters: who differs would disagree */
    uint32_t number;   /* in the segment */
    bool later;        /* it opens more NICs when it meets another node's process: its job needed
                          none, or it had to wait for one */
    struct myr_public_key key; /* of its segment's pair; secrets for it are sealed with that */
    struct myr_nic_name nic[NICBARR_NICS_MOST]; /* by number; key 0: it has none */
    char why[240];                              /* it has no segment, or else no NIC */
};

/* The most bytes that any words take. */
enum {
    NICBARR_HELLO_BYTES =
        32 + sizeof(struct myr_public_key) + NICBARR_NICS_MOST * sizeof(struct myr_nic_name) + 240
};

/* Write the words to bytes[NICBARR_HELLO_BYTES]; returns how many bytes they take. */
size_t nicbarr_hello_write(const struct nicbarr_hello *hello, uint8_t *bytes);

/* Read them from exactly `count` bytes. False where these are no such words. */
bool nicbarr_hello_read(const uint8_t *bytes, size_t count, struct nicbarr_hello *hello);

#endif
