/* SPDX-License-Identifier: BSD-3-Clause */
/* What host.c and barrier.c share; see myr.h. */
#ifndef MYR_INSIDE_H
#define MYR_INSIDE_H

#include "coll_nicbarr/nics.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "myr/myr.h"

struct myr_host {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct nicbarr_nics nics; /* just one of them is wanted and open: */
    uint32_t nic;             /* that with this number */
    char *settings;           /* what the NIC's values of type text point into */
};

/* Write a line into `why`, and give false. */
bool myr_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read `settings` into the values of NIC host->nic. */
bool myr_settings_read(struct myr_host *host, const char *settings, char *why);

#endif
