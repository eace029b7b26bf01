/* SPDX-License-Identifier: BSD-3-Clause */
/* See this_host.h. */
#include "coll_nicbarr/files/this_host.h"

#include "ompi/release.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *nicbarr_host_name(void)
{
    return NULL == ompi_process_info.nodename ? "unknown" : ompi_process_info.nodename;
}

static char processor[128];

/* /proc/cpuinfo has no "model name" on ARM and some other architectures; there the name of the
 * architecture is used. */
static void read_processor_name(void)
{
    char line[256];
    FILE *info = fopen("/proc/cpuinfo", "re");
    while (NULL != info && '\0' == processor[0] && NULL != fgets(line, sizeof(line), info)) {
        const char *value = strchr(line, ':');
        if (NULL != value && 0 == strncmp(line, "model name", 10)) {
            snprintf(processor, sizeof(processor), "%s", value + 2);
            processor[strcspn(processor, "\n")] = '\0';
        }
    }
    if (NULL != info) {
        fclose(info);
    }
    if ('\0' == processor[0]) {
        snprintf(processor, sizeof(processor), "%s", OPAL_ARCH);
    }
}

/* Several threads may call this concurrently, because threads that create communicators may look up
 * the tuning cache. */
const char *nicbarr_processor_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_processor_name);
    return processor;
}

const char *nicbarr_time_of_day(char *text)
{
    const time_t now = time(NULL);
    struct tm utc;
    text[0] = '\0';
    strftime(text, NICBARR_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return text;
}
