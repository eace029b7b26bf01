/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing of numbers for programs whose command line argp parses: nicbarr_raw_limit,
 * nicbarr_raw_udp and nicbarr_p2p.
 */
#ifndef BENCH_ARGP_NUMBER_H
#define BENCH_ARGP_NUMBER_H

#include <argp.h>

#include "number.h"

/* Parse a number from `least` to `most`. Anything else ends the program with a message. */
static inline unsigned parse_argp_number(struct argp_state *state, const char *text,
                                         unsigned long least, unsigned long most)
{
    unsigned value = 0;
    if (!number_parse(text, least, most, &value)) {
        argp_error(state, "'%s' is not a number from %lu to %lu", text, least, most);
    }
    return value;
}

#endif
