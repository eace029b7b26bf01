/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switch's faults: random ones, drawn from a seed, and firewalls.
 *
 * The switch calls this for each packet that it may affect, in the order of arrival. Each packet
 * takes the same number of draws, whatever happens to it. So with one seed packet number n always
 * has the same fate.
 */
#ifndef NETHOSTS_FAULTS_H
#define NETHOSTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FAULTS_CUTS = 64, FAULTS_HOLD_NS = 1000000 /* the most that reordering delays a packet */ };

struct faults {
    double loss, duplicate, reorder, corrupt; /* probabilities, 0 to 1 */
    uint64_t delay_ns;                        /* of all packets */
    uint64_t random;                          /* state of the generator, initially the seed */
    uint64_t cut_after;                       /* packets before the firewalls take effect */
    uint32_t cuts;
    struct {
        uint32_t one, other; /* hosts on both sides of a firewall */
    } cut[FAULTS_CUTS];
};

struct fate {
    bool lost, doubled, held_back, corrupted;
    uint64_t hold_ns;      /* time for which the packet is held, */
    uint64_t copy_hold_ns; /* ... and its copy, if it is duplicated */
    uint64_t bit;          /* if it is corrupted, the bit to flip, modulo the number of bits */
    bool repaired;         /* the checksum is recomputed after that */
};

void faults_next(struct faults *faults, struct fate *fate);

/* Is there a firewall between two hosts for packet number `count` (from 1)? */
bool faults_cut(const struct faults *faults, uint64_t count, uint32_t from, uint32_t to);

#endif
