/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the switch does to packets: chance, from a seed, and firewalls.
 *
 * Called by the switch for each packet that it may do something to, in the order in which packets
 * come. Each packet takes the same number of draws, whatever becomes of it. So packet number n has
 * the same fate each time, for one seed.
 */
#ifndef NETHOSTS_FAULTS_H
#define NETHOSTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum { FAULTS_CUTS = 64, FAULTS_HOLD_NS = 1000000 /* a packet is held back for up to so long */ };

struct faults {
    double loss, duplicate, reorder, corrupt; /* shares of the packets, 0 to 1 */
    uint64_t delay_ns;                        /* for all of them */
    uint64_t random;                          /* begins as the seed */
    uint64_t cut_after;                       /* packets before the firewalls are there */
    uint32_t cuts;
    struct {
        uint32_t one, other; /* hosts that a firewall is between */
    } cut[FAULTS_CUTS];
};

struct fate {
    bool lost, doubled, held_back, corrupted;
    uint64_t hold_ns;      /* how long the packet is held, */
    uint64_t copy_hold_ns; /* and its copy, if it is doubled */
    uint64_t bit;          /* which bit is flipped, if it is corrupted, modulo how many it has */
    bool repaired;         /* the checksum fits what was made of it */
};

void faults_next(struct faults *faults, struct fate *fate);

/* Is there a firewall between two hosts for packet number `count` (from 1)? */
bool faults_cut(const struct faults *faults, uint64_t count, uint32_t from, uint32_t to);

#endif
