/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that host.c and barrier.c share; see myr.h. */
#ifndef MYR_INSIDE_H
#define MYR_INSIDE_H

#include "coll_nicbarr/nics.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "myr/myr.h"

struct myr_host {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct nicbarr_nics nics; /* only the NIC with index `nic` is wanted and open */
    uint32_t nic;             /* index into `nics` */
    char *settings;           /* text values of the NIC's settings point into it */
};

/* Writes an error message into `why`. Returns false, so that callers can return its result. */
bool myr_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parses `settings` into the settings of NIC host->nic. Returns false, with a message in `why`, if
 * one is unknown or out of range. */
bool myr_settings_read(struct myr_host *host, const char *settings, char *why);

#endif
