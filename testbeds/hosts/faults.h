/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The faults that the switch injects, which are firewalls and random faults drawn from a seed.
 *
 * The switch calls these functions for each packet that is subject to faults, in the order of
 * arrival. For each packet they draw the same number of random numbers, whatever happens to it.
 * With a given seed, the faults of packet number n are therefore always the same. */
#ifndef NETHOSTS_FAULTS_H
#define NETHOSTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FAULTS_CUTS = 64, FAULTS_HOLD_NS = 1000000 /* maximum delay by reordering */ };

struct faults {
    double loss, duplicate, reorder, corrupt; /* probabilities, 0 to 1 */
    uint64_t delay_ns;                        /* of all packets */
    uint64_t random;                          /* state of the generator, initially the seed */
    uint64_t cut_after;                       /* number of packets before the firewalls take
                                                 effect */
    uint32_t cuts;
    struct {
        uint32_t one, other; /* the hosts on both sides of a firewall */
    } cut[FAULTS_CUTS];
};

struct fate {
    bool lost, doubled, held_back, corrupted;
    uint64_t hold_ns;      /* time for which the packet is held */
    uint64_t copy_hold_ns; /* time for which its copy is held, if it is duplicated */
    uint64_t bit;          /* if it is corrupted, the bit to flip, modulo the number of bits */
    bool repaired;         /* the checksum is recomputed after the bit was flipped */
};

void faults_next(struct faults *faults, struct fate *fate);

/* Returns whether a firewall between two hosts drops packet number `count` (from 1). */
bool faults_cut(const struct faults *faults, uint64_t count, uint32_t from, uint32_t to);

#endif
