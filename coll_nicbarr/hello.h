/* SPDX-License-Identifier: BSD-3-Clause */
/* At start-up each process publishes a hello, which describes the process and contains the
 * addresses of its NICs. This file defines the content and the encoding of hellos.
 *
 * The functions are pure. They are called by peers.c (the modex), by across.c (second hellos) and
 * by the tests. The bytes of another process are not trusted: decoding either fails, or results in
 * values within their bounds. */
#ifndef NICBARR_HELLO_H
#define NICBARR_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll_nicbarr/nics.h"
#include "libmyr/seal.h"

/* The version of hellos, and of the protocols by which processes agree on choices, measure them and
 * re-evaluate them. With any change to these, the lower half of this number must be changed.
 * (CONTRIBUTING.md lists the numbers of other formats.) A machine with the other byte order reads a
 * different number, and therefore does not participate. */
enum { NICBARR_HELLO_FORMAT = 0x4e420005 };

struct nicbarr_hello {
    uint64_t identity; /* identity of its segment; 0: it has none, see `why` */
    /* digest of schedules, formats and parameters, which must be equal on both sides */
    uint64_t digest;
    uint32_t number; /* number of the process in the segment */
    bool later; /* it opens more NICs when its first communicator across nodes is set up, because
                   its job did not need them so far, or because a NIC was not available yet */
    struct myr_public_key key; /* public key of its segment; seals secrets for it */
    struct myr_nic_name nic[NICBARR_NICS_MOST]; /* by NIC number; key 0: it has no such NIC */
    char why[240]; /* reason why it has no segment or, if it has one, no NIC */
};

/* The maximum size of a hello. */
enum {
    NICBARR_HELLO_BYTES =
        32 + sizeof(struct myr_public_key) + NICBARR_NICS_MOST * sizeof(struct myr_nic_name) + 240
};

/* Encode a hello into bytes[NICBARR_HELLO_BYTES]; returns its size. */
size_t nicbarr_hello_write(const struct nicbarr_hello *hello, uint8_t *bytes);

/* Decode a hello of exactly `count` bytes. Returns false if the bytes are not a hello. */
bool nicbarr_hello_read(const uint8_t *bytes, size_t count, struct nicbarr_hello *hello);

#endif
