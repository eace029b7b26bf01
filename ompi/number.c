/* SPDX-License-Identifier: BSD-3-Clause */
/* See number.h. */
#include "ompi/number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long long scaled_number(long long value, long long unit)
{
    return value > LLONG_MAX / unit   ? LLONG_MAX
           : value < LLONG_MIN / unit ? LLONG_MIN
                                      : value * unit;
}

/* Parses a number like Open MPI does, but without truncation. Returns false if the text is not a
 * number. */
static bool parse_number(const char *text, long long *value)
{
    static const char units[] = "kmgKMG";
    char *end;
    *value = strtoll(text, &end, 0);
    const char *unit = '\0' == *end ? NULL : strchr(units, *end);
    if (end == text || ('\0' != *end && (NULL == unit || '\0' != end[1]))) {
        return false;
    }
    if (NULL != unit) {
        *value = scaled_number(*value, 1LL << 10 * (1 + (unit - units) % 3));
    }
    return true;
}

struct nicbarr_number nicbarr_number_of(const char *component, const char *name, int given)
{
    char variable[120];
    struct nicbarr_number number = {NULL, true, given};
    long long value;
    snprintf(variable, sizeof(variable), "OMPI_MCA_%s_%s", component, name);
    number.text = getenv(variable);
    if (NULL == number.text) {
        return number;
    }
    number.is_number = parse_number(number.text, &value);
    if (number.is_number && (value < INT_MIN || value > INT_MAX)) {
        number.value = value; /* a value that fits an int is taken from Open MPI, because a file may
                                 have overridden the environment */
    }
    return number;
}
