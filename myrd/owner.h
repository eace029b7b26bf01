/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roles of myrd: each owns a NIC on behalf of its users. main.c has the list of owners, and
 * runs the one selected on the command line. Each owner has its own file: server.c for the user's
 * soft NIC, kernel_server.c for the kernel's NIC.
 *
 * An owner serves in one thread, which no client can block.
 */
#ifndef MYRD_OWNER_H
#define MYRD_OWNER_H

#include <stdint.h>

#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

struct myrd_options {
    const char *socket; /* where to listen; NULL: the default */
    struct myr_soft_options nic;
    uint32_t memory; /* limit for all jobs together (bytes); not for every owner */
};

struct myrd_owner {
    /* The command line option of this owner, its letter, and its help. NULL: the default owner. */
    const char *name;
    int letter;
    const char *help;

    /* Check whether this host supports such a NIC. Performs those steps of open() that have no
     * effect on other processes. Returns MYR_OK, or an error with a line that says what to do. */
    enum myr_status (*check)(const struct myrd_options *options, struct myr_error *error);
    /* Create the NIC and start to listen. A lock permits only one daemon per place. `serving` is
     * the argument of the functions below. MYR_OK, or an error with a line that says what to do. */
    enum myr_status (*open)(const struct myrd_options *options, void **serving,
                            struct myr_error *error);
    /* Drop all privileges that are not needed from now on. To be called before run(). */
    enum myr_status (*confine)(void *serving, struct myr_error *error);
    /* Serve until the descriptor `end` is readable. If serving becomes impossible before that,
     * return an error with a line. */
    enum myr_status (*run)(void *serving, int end, struct myr_error *error);
    /* Release what open() has created. */
    void (*close)(void *serving);
};

/* The soft NIC of one user. When it ends, its clients continue without it. */
extern const struct myrd_owner myrd_soft_owner;

/* The kernel's NIC on one interface, for all users. Its messages to clients are in
 * libmyr/kernel/kernel_words.h. When it ends it removes the NIC, and barriers on that never
 * complete. If it is killed, the NIC stays, and the next owner takes it over. */
extern const struct myrd_owner myrd_kernel_owner;

#endif
