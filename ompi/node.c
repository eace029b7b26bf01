/* SPDX-License-Identifier: BSD-3-Clause */
/* The node and the release; see node.h. */
#include "ompi/node.h"

#include <stdlib.h>
#include <string.h>

bool nicbarr_right_release(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return NULL != strstr(version, "v" NICBARR_SERIES ".");
}

bool nicbarr_asked_for(const char *list, const char *component)
{
    if (NULL == list || '^' == *list) {
        return false;
    }
    const size_t length = strlen(component);
    for (const char *name = list; '\0' != *name; name += strcspn(name, ",")) {
        name += strspn(name, ", ");
        if (0 == strncmp(name, component, length) && NULL != strchr(", ", name[length])) {
            return true;
        }
    }
    return false;
}

char *nicbarr_node_folder(void)
{
    /* The job's folder lies in one that the jobs it spawns share with it. */
    if (NULL == ompi_process_info.job_session_dir) {
        return NULL;
    }
    char *folder = strdup(ompi_process_info.job_session_dir);
    char *slash = NULL == folder ? NULL : strrchr(folder, '/');
    if (NULL != slash && slash != folder) {
        *slash = '\0';
    }
    return folder;
}
