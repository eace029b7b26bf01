/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by host.c and barrier.c; see myr.h. */
#ifndef MYR_INSIDE_H
#define MYR_INSIDE_H

#include "coll_nicbarr/nics.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "myr/myr.h"

struct myr_host {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct nicbarr_nics nics; /* only one of them is wanted and open: */
    uint32_t nic;             /* its index */
    char *settings;           /* the NIC's values of type text point into it */
};

/* Write a line into `why`, and return false. */
bool myr_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parse `settings` into the values of NIC host->nic. */
bool myr_settings_read(struct myr_host *host, const char *settings, char *why);

#endif
