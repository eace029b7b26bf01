/* SPDX-License-Identifier: BSD-3-Clause */
/* See tournament.h. An odd number of hosts has one place more, of nobody. */
#include "tools/probe/tournament.h"

static int places_for(int hosts)
{
    return hosts + hosts % 2;
}

int tournament_rounds(int hosts)
{
    return places_for(hosts) - 1;
}

int tournament_opponent(int host, int hosts, int round)
{
    const int still = places_for(hosts) - 1; /* the last place; all others go round in a circle */
    int other = (round - host + still) % still;
    if (host == still) { /* it meets whoever would meet himself */
        other = round % 2 == 0 ? round / 2 : (round + still) / 2;
    } else if (other == host) {
        other = still;
    }
    return other < hosts ? other : -1;
}
