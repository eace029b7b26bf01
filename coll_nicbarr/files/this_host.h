/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that identify this host, and the time of day, for the report and the cache. */
#ifndef NICBARR_THIS_HOST_H
#define NICBARR_THIS_HOST_H

/* Return the model name of the processor, and the host name. The texts remain valid. */
const char *nicbarr_processor_name(void);
const char *nicbarr_host_name(void);

/* Write the time of day (UTC, ISO 8601) into text[NICBARR_TIME_TEXT]; returns text. */
enum { NICBARR_TIME_TEXT = 32 };
const char *nicbarr_time_of_day(char *text);

#endif
