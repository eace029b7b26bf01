/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters that the person may set, as tables.
 *
 * Who has parameters (a kind of NIC, the component) lists them; who knows where the person sets
 * them (Open MPI's MCA) goes through the list. Plain data; no functions, no state.
 */
#ifndef MYR_OPTION_H
#define MYR_OPTION_H

#include <stdbool.h>

enum myr_option_type {
    MYR_OPTION_NUMBER, /* int, within bounds */
    MYR_OPTION_FLAG,   /* bool */
    MYR_OPTION_TEXT,   /* string; NULL counts as empty */
};

/* A value, of the type that its option says. */
union myr_value {
    int number;
    bool flag;
    char *text; /* whose it is, is up to who gives the value */
};

struct myr_option {
    const char *name; /* NULL: the end of a list */
    enum myr_option_type type;
    union myr_value usual; /* what holds unless the person says something else */
    int least, most;       /* of a number */
    int level; /* from 1, for everybody, to 9, for who knows the code (MPI_T's verbosity levels) */
    const char *help;
};

enum { MYR_OPTIONS_MOST = 8 /* of one kind of NIC */ };

#endif
