/* SPDX-License-Identifier: BSD-3-Clause */
/* See tournament.h. If the number of hosts is odd, an empty place is added, and the opponent of
 * that place pauses in this round. */
#include "tools/probe/tournament.h"

static int slots_for(int hosts)
{
    return hosts + hosts % 2;
}

int tournament_rounds(int hosts)
{
    return slots_for(hosts) - 1;
}

int tournament_opponent(int host, int hosts, int round)
{
    const int fixed = slots_for(hosts) - 1; /* the last place; all others rotate in a circle */
    int other = (round - host + fixed) % fixed;
    if (host == fixed) { /* its opponent is the host that would otherwise be paired with itself */
        other = round % 2 == 0 ? round / 2 : (round + fixed) / 2;
    } else if (other == host) {
        other = fixed;
    }
    return other < hosts ? other : -1;
}
