/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test doubles of two nodes' NICs, as a host's side sees them: their control program is the real
 * one, on the wire's test double, and registered memory is that of real segments.
 *
 * They stand in for libmyr's nic_*.c. Whoever polls lets one thing happen on the wire.
 */
#ifndef TESTS_UNIT_NICS_DOUBLE_H
#define TESTS_UNIT_NICS_DOUBLE_H

#include "libmyr/soft/nic_inside.h"
#include "tests/unit/wire_double.h"

enum { NICS = 2 };

struct myr_soft_nic {
    struct wire_nic *below;
    struct myr_segment *segment;
    uint8_t *memory; /* the double's own, which the segment stands in for */
    myr_word *lock;  /* shared by all who were forked meanwhile */
    uint32_t entries, polls;
};

struct nics_double {
    struct wire wire;
    struct myr_soft_nic nics[NICS];
};

struct nics_double *nics_begin(uint64_t seed);
void nics_end(struct nics_double *w);

#endif
