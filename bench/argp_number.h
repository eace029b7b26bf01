/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing of numbers for the programs whose command line is parsed by argp: nicbarr_raw_limit,
 * nicbarr_raw_udp and nicbarr_p2p.
 */
#ifndef BENCH_ARGP_NUMBER_H
#define BENCH_ARGP_NUMBER_H

#include <argp.h>

#include "number.h"

/* Parses a number from `least` to `most`. Any other text ends the program with a message. */
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
