/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One number for data: FNV-1a. Equal data have equal digests on all nodes; it keeps no secret.
 * Pure.
 */
#ifndef NICBARR_DIGEST_H
#define NICBARR_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of what `digest` stands for (0: nothing) and of `data` behind it. */
uint64_t nicbarr_digest(uint64_t digest, const void *data, size_t bytes);

#endif
