/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round-robin tournament of hosts: each meets each other one, and in no round two others (the
 * circle method). Pure functions; called by pairs.c.
 */
#ifndef TOOLS_PROBE_TOURNAMENT_H
#define TOOLS_PROBE_TOURNAMENT_H

int tournament_rounds(int hosts);

/* Of 0 to hosts - 1; -1: nobody in this round. */
int tournament_opponent(int host, int hosts, int round);

#endif
