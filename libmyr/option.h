/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters that the user may set, as tables.
 *
 * The owner of parameters (a kind of NIC, the component) lists them. The code that knows where the
 * user sets them (in Open MPI's MCA) goes through the list. Plain data; no state.
 */
#ifndef MYR_OPTION_H
#define MYR_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum myr_option_type {
    MYR_OPTION_NUMBER, /* int, within bounds */
    MYR_OPTION_FLAG,   /* bool */
    MYR_OPTION_TEXT,   /* string; NULL counts as empty */
};

/* A value, of the type that its option says. */
union myr_value {
    int number;
    bool flag;
    char *text; /* the giver of the value says who owns it */
};

struct myr_option {
    const char *name; /* NULL: the end of a list */
    enum myr_option_type type;
    union myr_value usual; /* what holds unless the user says something else */
    int least, most;       /* of a number */
    bool amount;           /* a number; who goes beyond a bound means nearly that bound */
    int level; /* from 1, for everybody, to 9, for experts of the code (MPI_T's verbosity levels) */
    const char *help;
    /* Of a text: can nothing be meant by it? `why` says so then, of `bytes`. NULL: any can. */
    bool (*wrong)(const char *text, char *why, size_t bytes);
};

enum { MYR_OPTIONS_MOST = 8 /* of one kind of NIC */ };

#endif
