/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fakes of the soft NICs of two nodes. They replace nic_*.c of libmyr.
 *
 * The control program is the real one, on top of the fake wire, and registered memory belongs to
 * real segments. Each poll processes one event of the wire.
 */
#ifndef TESTS_UNIT_NICS_FAKE_H
#define TESTS_UNIT_NICS_FAKE_H

#include "libmyr/soft/nic_inside.h"
#include "tests/unit/wire_fake.h"

enum { NICS = 2 };

struct myr_soft_nic {
    struct wire_nic *below;
    struct myr_segment *segment;
    uint8_t *memory; /* the fake's own memory, which the segment replaces */
    myr_word *lock;  /* shared with forked processes */
    uint32_t entries, polls;
    /* called once, by the next myr_soft_mtu(), while the NIC is not locked */
    void (*meanwhile)(void *context);
    void *context;
};

struct nics_fake {
    struct wire wire;
    struct myr_soft_nic nics[NICS];
};

struct nics_fake *nics_begin(uint64_t seed);
void nics_end(struct nics_fake *w);

#endif
