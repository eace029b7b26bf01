/* SPDX-License-Identifier: BSD-3-Clause */
/* See this_host.h. */
#include "coll_nicbarr/files/this_host.h"

#include "ompi/release.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *nicbarr_host_name(void)
{
    return NULL == ompi_process_info.nodename ? "unknown" : ompi_process_info.nodename;
}

/* On ARM and some other architectures, /proc/cpuinfo contains no "model name". In this case the
 * name of the architecture is used. */
const char *nicbarr_processor_name(void)
{
    static char name[128];
    char line[256];
    if ('\0' != name[0]) {
        return name;
    }
    FILE *info = fopen("/proc/cpuinfo", "re");
    while (NULL != info && '\0' == name[0] && NULL != fgets(line, sizeof(line), info)) {
        const char *value = strchr(line, ':');
        if (NULL != value && 0 == strncmp(line, "model name", 10)) {
            snprintf(name, sizeof(name), "%s", value + 2);
            name[strcspn(name, "\n")] = '\0';
        }
    }
    if (NULL != info) {
        fclose(info);
    }
    if ('\0' == name[0]) {
        snprintf(name, sizeof(name), "%s", OPAL_ARCH);
    }
    return name;
}

const char *nicbarr_time_of_day(char *text)
{
    const time_t now = time(NULL);
    struct tm utc;
    text[0] = '\0';
    strftime(text, NICBARR_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return text;
}
