/* SPDX-License-Identifier: BSD-3-Clause */
/* User parameters, as tables.
 *
 * The owner of parameters (a kind of NIC, the component) lists them. The code that knows where the
 * user sets them (in Open MPI's MCA) walks the list. Plain data; no state. */
#ifndef MYR_OPTION_H
#define MYR_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum myr_option_type {
    MYR_OPTION_NUMBER, /* int, within bounds */
    MYR_OPTION_FLAG,   /* bool */
    MYR_OPTION_TEXT,   /* string; NULL counts as empty */
};

/* A value; its option has its type. */
union myr_value {
    int number;
    bool flag;
    char *text; /* the source of the value defines its owner */
};

struct myr_option {
    const char *name; /* NULL: the end of a list */
    enum myr_option_type type;
    union myr_value usual; /* the default */
    int least, most;       /* of a number */
    bool amount;           /* a number; a value beyond a bound is clamped to it */
    int level; /* from 1, for all users, to 9, for experts of the code (MPI_T's verbosity levels) */
    const char *help;
    /* For text options: is the text invalid? If so, the reason is written to why[bytes]. NULL: any
     * text is valid. */
    bool (*wrong)(const char *text, char *why, size_t bytes);
};

enum { MYR_OPTIONS_MOST = 8 /* of one kind of NIC */ };

#endif
