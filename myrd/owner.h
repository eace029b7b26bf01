/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roles of myrd: each owns a NIC on behalf of its users. main.c has the list of owners. It
 * begins and ends the one that the command line asks for. Each owner has its own file: server.c for
 * the user's soft NIC, kernel_server.c for the kernel's NIC.
 *
 * An owner serves in one thread. No client can hold that thread up.
 */
#ifndef MYRD_OWNER_H
#define MYRD_OWNER_H

#include <stdint.h>

#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

struct myrd_options {
    const char *socket; /* where to listen; NULL: the owner's usual place */
    struct myr_soft_options nic;
    uint32_t memory; /* the most that all jobs together take (bytes); not for every owner */
};

struct myrd_owner {
    /* The command line's option for this owner, its letter, and its help. NULL: the owner that myrd
     * is without any such option. */
    const char *name;
    int letter;
    const char *help;

    /* Can this host have such a NIC? Tries as much of open() as nobody else notices: MYR_OK, or an
     * error with a line that says what to do. */
    enum myr_status (*check)(const struct myrd_options *options, struct myr_error *error);
    /* Have a NIC and begin to listen. Only one owner of a kind at a time does so at a place.
     * `serving` is for the functions below. MYR_OK, or an error with a line that says what to
     * do. */
    enum myr_status (*open)(const struct myrd_options *options, void **serving,
                            struct myr_error *error);
    /* Give up every right that this process does not need from now on. Before run(). */
    enum myr_status (*confine)(void *serving, struct myr_error *error);
    /* Serve until the descriptor `end` can be read. If serving becomes impossible before that, give
     * a line why. */
    enum myr_status (*run)(void *serving, int end, struct myr_error *error);
    /* Leave, after open(). */
    void (*close)(void *serving);
};

/* The soft NIC of one user. Clients go on without it when it leaves. */
extern const struct myrd_owner myrd_soft_owner;

/* The kernel's NIC at one interface, for all users. Its messages to them are in
 * libmyr/kernel/kernel_words.h. It takes the NIC along when it leaves: barriers on it will not
 * complete. If it is killed the NIC stays, and the next such owner takes it over. */
extern const struct myrd_owner myrd_kernel_owner;

#endif
