/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What myrd can be: the owner of a NIC, on behalf of those who use it. main.c has the list of them,
 * and begins and ends whichever the command line asks for; each is a file of its own (server.c, the
 * user's soft NIC; kernel_server.c, the kernel's NIC).
 *
 * An owner serves in one thread, which no client can hold up.
 */
#ifndef MYRD_OWNER_H
#define MYRD_OWNER_H

#include <stdint.h>

#include "libmyr/nic.h"
#include "libmyr/status.h"

struct myrd_options {
    const char *socket; /* where to listen; NULL: the owner's usual place */
    struct myr_nic_options nic;
    uint32_t memory; /* the most that all jobs together take (bytes); not for every owner */
};

struct myrd_owner {
    /* The option of the command line that asks for it, its letter, and its help. NULL: what myrd is
     * where no option asks for another. */
    const char *name;
    int letter;
    const char *help;

    /* Have a NIC and begin to listen; one owner of a kind at a time does, at a place. `serving` is
     * for the functions below. MYR_OK, or an error with a line that says what to do. */
    enum myr_status (*open)(const struct myrd_options *options, void **serving,
                            struct myr_error *error);
    /* Give up every right that is not needed from now on, for this process; NULL: it has none. */
    enum myr_status (*confine)(struct myr_error *error);
    /* Serve until the descriptor `end` can be read, or, with a line why, until that is impossible.
     */
    enum myr_status (*run)(void *serving, int end, struct myr_error *error);
    /* Leave, after open(). */
    void (*close)(void *serving);
};

/* The soft NIC of one user. Clients go on without it when it leaves. */
extern const struct myrd_owner myrd_soft_owner;

/* The kernel's NIC at one interface, for all users; what it says to them is in
 * libmyr/kernel_words.h. It takes the NIC along when it leaves: barriers on it will not complete.
 */
extern const struct myrd_owner myrd_kernel_owner;

#endif
