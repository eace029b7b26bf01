/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's host: its NIC and the shared memory of its node; see myr.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "myr/inside.h"

enum { MEMORY_MIB = 64, MEMORY_MIB_MOST = 1024 };

bool myr_refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, MYR_WHY, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- selection of the NIC ---- */

/* Selects a NIC by its name. Exactly one must be selected. */
static bool choose_nic(struct myr_host *host, const char *word, char *why)
{
    uint32_t wanted = 0;
    const bool known = nicbarr_nics_parse(&host->nics, NULL == word ? myr_soft_kind.name : word);
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        host->nic = host->nics.wanted[nic] ? nic : host->nic;
        wanted += host->nics.wanted[nic];
    }
    return (known && 1 == wanted) ||
           myr_refuse(why, "\"%.40s\" is not a NIC: those are soft, daemon, kernel and verbs",
                      word);
}

/* ---- opening ---- */

static void print_error_line(int level, const char *line)
{
    if (0 == level) {
        fprintf(stderr, "libmyr: %s\n", line);
    }
}

static void print_waiting(const char *line)
{
    print_error_line(0, line);
}

/* The progress function of a waiting process, which has nothing else to progress. */
static void nothing(void) {}

static bool open_parts(struct myr_host *host, const struct myr_options *options, char *why)
{
    static const struct myr_wait_policy policy = {.spin = -1, .sleep_after = 500, .slice = 1000};
    const uint32_t memory = 0 == options->memory ? MEMORY_MIB : options->memory;
    struct myr_error error = {0};
    bool later;
    if (memory > MEMORY_MIB_MOST) {
        return myr_refuse(why, "memory must be from 1 to %d MiB, and is %u", MEMORY_MIB_MOST,
                          memory);
    }
    if (!choose_nic(host, options->nic, why) || !myr_settings_read(host, options->settings, why)) {
        return false;
    }
    myr_segment_print = print_waiting;
    if (MYR_OK != myr_segment_join(options->dir, memory << 20, &host->segment, &error)) {
        return myr_refuse(why, "%s", error.text);
    }
    myr_waiter_init(&host->waiter, host->segment, nothing, &policy);
    const struct myr_site site = {
        .segment = host->segment, .waiter = &host->waiter, .print = print_error_line};
    return MYR_OK == nicbarr_nics_open(&host->nics, &site, &later, &error) ||
           myr_refuse(why, "%s", error.text);
}

bool myr_host_open(const struct myr_options *options, struct myr_host **host, char *why)
{
    *host = calloc(1, sizeof(**host));
    if (NULL == *host) {
        return myr_refuse(why, "out of memory");
    }
    const bool good = open_parts(*host, options, why);
    if (!good) {
        myr_host_close(*host);
        *host = NULL;
    }
    return good;
}

void myr_host_close(struct myr_host *host)
{
    nicbarr_nics_close(&host->nics);
    if (NULL != host->segment) {
        myr_segment_leave(host->segment);
    }
    free(host->settings);
    free(host);
}
