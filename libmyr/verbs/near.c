/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines whether a device is close to the CPUs to which this process is bound; see verbs.h. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "libmyr/verbs/verbs.h"

/* Removes the CPUs of a list such as "0-3,8" from the set. */
static void remove_processors(const char *list, cpu_set_t *set)
{
    char *end;
    for (const char *word = list; *word >= '0' && *word <= '9'; word = end) {
        const unsigned long first = strtoul(word, &end, 10);
        const unsigned long last = '-' == *end ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long p = first; p <= last && p < 8 * sizeof(*set); ++p) {
            CPU_CLR(p, set);
        }
        end += ',' == *end;
    }
}

bool myr_verbs_is_near(const char *dir)
{
    char path[IBV_SYSFS_PATH_MAX + 32], list[4096];
    cpu_set_t set;
    snprintf(path, sizeof(path), "%s/device/local_cpulist", dir);
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        return false;
    }
    const bool known =
        NULL != fgets(list, sizeof(list), file) && 0 == sched_getaffinity(0, sizeof(set), &set);
    (void)fclose(file);
    if (known) {
        remove_processors(list, &set);
    }
    return known && 0 == CPU_COUNT(&set);
}
