/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What myrd tells whoever has started it: lines on the standard error. Where that is systemd's
 * journal, each line begins with its level, as systemd reads it there. For main.c and the owners.
 *
 * Invariant: clients cannot have it tell much. Of what they cause, only the first is told, the
 * tenth, the hundredth, and so on.
 */
#ifndef MYRD_LOG_H
#define MYRD_LOG_H

#include <stdint.h>

#include "libmyr/soft/nic.h"
#include "myrd/place.h"

/* The numbers are those of syslog. */
enum myrd_level { MYRD_ERROR = 3, MYRD_WARNING = 4, MYRD_NOTICE = 5, MYRD_INFO = 6 };

/* Find out where the lines go. Once, before the process is confined and before there are threads.
 */
void myrd_log_begin(void);

/* One line, without its end; up to 500 bytes. */
void myrd_log(enum myrd_level level, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));

/* It serves from now on: what it is, where its NIC is, and where it listens. */
void myrd_log_serves(const char *what, const struct myr_nic_name *name,
                     const struct myrd_place *place);

/* That visitor was sent away, as the `count`th since the daemon began. */
void myrd_log_refusal(const struct myrd_visitor *visitor, const char *why, uint64_t count);

#endif
