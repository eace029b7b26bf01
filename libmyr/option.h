/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that describe the user parameters, so that the code that uses a parameter does not depend
 * on where the user sets it.
 *
 * The code to which parameters belong (a kind of NIC, or the component) lists them in a constant
 * table, and the code that registers parameters with Open MPI's MCA iterates over all tables. */
#ifndef MYR_OPTION_H
#define MYR_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum myr_option_type {
    MYR_OPTION_NUMBER, /* int, within bounds */
    MYR_OPTION_FLAG,   /* bool */
    MYR_OPTION_TEXT,   /* string; NULL counts as empty */
};

/* A value, whose type is determined by its option. */
union myr_value {
    int number;
    bool flag;
    char *text; /* the source of the value defines its owner */
};

struct myr_option {
    const char *name; /* NULL marks the end of a list */
    enum myr_option_type type;
    union myr_value usual; /* the default */
    int least, most;       /* bounds of a number */
    bool amount;           /* for a number: whether a value beyond a bound is clamped to it */
    int level; /* from 1, for all users, to 9, for experts of the code (MPI_T's verbosity levels) */
    const char *help;
    /* For text options: returns whether the text is invalid. If so, the reason is written to
     * why[bytes]. NULL if any text is valid. */
    bool (*wrong)(const char *text, char *why, size_t bytes);
};

enum { MYR_OPTIONS_MOST = 8 /* maximum for one kind of NIC */ };

#endif
