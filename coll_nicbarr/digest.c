/* SPDX-License-Identifier: BSD-3-Clause */
/* See digest.h. */
#include "coll_nicbarr/digest.h"

uint64_t nicbarr_digest(uint64_t digest, const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    digest = 0 == digest ? UINT64_C(0xcbf29ce484222325) : digest;
    for (size_t i = 0; i < bytes; ++i) {
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}
