/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round-robin tournament of hosts: each host meets each other host once, and at most one in a
 * round (the circle method). Pure functions, called by pairs.c.
 */
#ifndef TOOLS_PROBE_TOURNAMENT_H
#define TOOLS_PROBE_TOURNAMENT_H

int tournament_rounds(int hosts);

/* The opponent in a round, 0 to hosts - 1; -1: none. */
int tournament_opponent(int host, int hosts, int round);

#endif
