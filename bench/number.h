/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing of numbers on command lines.
 *
 * Called by the benchmark programs that parse their options with getopt_long, and by argp_number.h.
 */
#ifndef BENCH_NUMBER_H
#define BENCH_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Returns false, with *value unchanged, if the text is not a number from `least` to `most`. */
static inline bool number_parse(const char *text, unsigned long least, unsigned long most,
                                unsigned *value)
{
    char *end;
    errno = 0;
    unsigned long parsed = strtoul(text, &end, 10);
    /* strtoul would accept signs and blanks; a number must start with a digit. */
    if (errno || *end || *text < '0' || *text > '9' || parsed < least || parsed > most) {
        return false;
    }
    *value = (unsigned)parsed;
    return true;
}

#endif
