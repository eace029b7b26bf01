/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Secrets of groups: how those of a communicator's groups follow from one.
 *
 * Called by whoever joins groups, on each member alike. Any thread.
 */
#ifndef MYR_SECRETS_H
#define MYR_SECRETS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"

/* Draw a secret; false, with errno, if the system gives no random numbers. */
bool myr_secret_draw(struct mcp_secret *secret);

/*
 * The words of group `number` of those that have the secret `of` in common: returns its key (never
 * 0), and `secret` gets its secret. A key is in every packet of its group; it tells nothing of any
 * secret, nor do secrets tell of each other.
 */
uint64_t myr_secret_derive(const struct mcp_secret *of, uint64_t number, struct mcp_secret *secret);

#endif
