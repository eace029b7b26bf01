/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round-robin tournament of hosts, in which each host is paired with each other host once, and
 * with at most one host in each round (the circle method). Pure functions, called by pairs.c. */
#ifndef TOOLS_PROBE_TOURNAMENT_H
#define TOOLS_PROBE_TOURNAMENT_H

int tournament_rounds(int hosts);

/* Returns the opponent in a round, 0 to hosts - 1, or -1 if there is none. */
int tournament_opponent(int host, int hosts, int round);

#endif
