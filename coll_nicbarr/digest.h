/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash of data, FNV-1a. Equal data have equal digests on all nodes. The hash is not
 * cryptographic. */
#ifndef NICBARR_DIGEST_H
#define NICBARR_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Returns `digest` (0 initially) extended by `data`. */
uint64_t nicbarr_digest(uint64_t digest, const void *data, size_t bytes);

#endif
