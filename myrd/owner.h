/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An owner is a part of myrd that owns one kind of NIC on behalf of its users: server.c owns the
 * user's soft NIC, and kernel_server.c owns the kernel NIC. main.c has the list of owners, and runs
 * the one that is selected on the command line.
 *
 * An owner serves clients in a single thread, which no client can block. */
#ifndef MYRD_OWNER_H
#define MYRD_OWNER_H

#include <stdint.h>

#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

struct myrd_options {
    const char *socket; /* path of the socket to listen on; NULL: the default */
    struct myr_soft_options nic;
    uint32_t memory; /* memory limit of all jobs together in bytes; some owners ignore it */
};

struct myrd_owner {
    /* The command line option of this owner, its letter, and its help text. NULL for the default
     * owner. */
    const char *name;
    int letter;
    const char *help;

    /* Checks whether this host supports such a NIC, by executing those steps of open() that do not
     * affect other processes. Returns MYR_OK, or an error with a message that describes what to
     * do. */
    enum myr_status (*check)(const struct myrd_options *options, struct myr_error *error);
    /* Creates the NIC and starts to listen. A lock ensures that only one daemon listens at a socket
     * path. `serving` is set to the first argument of the functions below. Returns MYR_OK, or an
     * error with a message that describes what to do. */
    enum myr_status (*open)(const struct myrd_options *options, void **serving,
                            struct myr_error *error);
    /* Drops all privileges that are no longer needed. To be called before run(). */
    enum myr_status (*confine)(void *serving, struct myr_error *error);
    /* Serves until the descriptor `end` is readable. Returns an error with a message if it becomes
     * impossible to serve before that. */
    enum myr_status (*run)(void *serving, int end, struct myr_error *error);
    /* Releases all that open() has created. */
    void (*close)(void *serving);
};

/* The soft NIC of one user. When it ends, its clients continue without it. */
extern const struct myrd_owner myrd_soft_owner;

/* The kernel NIC on one interface, for all users. libmyr/kernel/kernel_words.h defines the protocol
 * between clients and this owner. When the owner terminates normally, it removes the NIC, and
 * pending barriers never complete. If it is killed, the NIC stays, and the next owner takes it
 * over. */
extern const struct myrd_owner myrd_kernel_owner;

#endif
