/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that members of a group may send: as a rule the next ones, or else late, early, or wrong.
 */
#ifndef TESTS_UNIT_KERNEL_PACKETS_H
#define TESTS_UNIT_KERNEL_PACKETS_H

#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

/* A packet of the group's, without data. */
struct mcp_header make_header(const struct pair *pair, uint8_t type, uint32_t epoch, uint32_t slot,
                              uint32_t node);

void fill_carried(uint32_t bytes, uint64_t *random);

/* Bytes that a payload or a block may have. */
uint32_t some_bytes(uint64_t *random);

/* An epoch near to the present one: done already, under way, next, or not possible. */
uint32_t some_epoch(const struct pair *pair, uint64_t *random);

struct mcp_header some_arrival(const struct pair *pair, uint64_t *random);

/* The first one that is still missing, so that epochs come to an end. */
struct mcp_header missing_arrival(const struct pair *pair, uint64_t *random);

struct mcp_header some_question(const struct pair *pair, uint64_t *random);

/* A peer's host is late, or so somebody says. */
struct mcp_header some_excuse(const struct pair *pair, uint64_t *random);

/* The number of a broadcast: the next one, as a rule; one that has come, or has not; about the last
 * that the window has room for; or any. */
uint32_t some_number(const struct pair *pair, uint64_t *random);

uint32_t some_root(const struct pair *pair, uint64_t *random);

/* A block, which fits as a rule. */
uint32_t fill_block(const struct pair *pair, uint64_t *random);

/* Of a broadcast: its block, or that it is missing, or still to come. */
struct mcp_header some_bcast(const struct pair *pair, uint64_t *random);

#endif
