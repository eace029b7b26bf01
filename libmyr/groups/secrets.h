/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives the secrets of a communicator's groups from one common secret. All members call these
 * functions with the same arguments before they join groups. Threads: any. */
#ifndef MYR_SECRETS_H
#define MYR_SECRETS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"

/* Draws a random secret; returns false, with errno, if the system provides no random numbers. */
bool myr_secret_draw(struct mcp_secret *secret);

/* Derives the key and the secret of a group from its number and from `of`, the common secret of the
 * communicator's members. Returns the key, which is never 0, and stores the group's secret in
 * `secret`. Each packet of a group contains the key, but no secret can be computed from a key or
 * from another secret. */
uint64_t myr_secret_derive(const struct mcp_secret *of, uint64_t number, struct mcp_secret *secret);

#endif
