/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the log messages of myrd to stderr. If stderr is connected to systemd's journal, each
 * message begins with its level. Used by main.c and the owners.
 *
 * Clients cannot flood the log: of the events that clients cause, only the first, the tenth, the
 * hundredth and so on are logged. */
#ifndef MYRD_LOG_H
#define MYRD_LOG_H

#include <stdint.h>

#include "libmyr/soft/nic.h"
#include "myrd/listener.h"

/* Levels, with syslog's numbers. */
enum myrd_level { MYRD_ERROR = 3, MYRD_WARNING = 4, MYRD_NOTICE = 5, MYRD_INFO = 6 };

/* Detects whether stderr is the journal. To be called once, before the process is confined and
 * before it has other threads. */
void myrd_log_begin(void);

/* Logs one line of up to 500 bytes, without its newline. */
void myrd_log(enum myrd_level level, const char *format, ...)
    __attribute__((__format__(printf, 2, 3)));

/* Logs that the daemon is ready: its kind, the NIC's address, and the socket. */
void myrd_log_serves(const char *what, const struct myr_nic_name *name,
                     const struct myrd_listener *listener);

/* Logs that the visitor was refused. `count` is the number of refusals since the daemon started. */
void myrd_log_refusal(const struct myrd_visitor *visitor, const char *why, uint64_t count);

#endif
