/* SPDX-License-Identifier: BSD-3-Clause */
/* The node and the release; see node.h. */
#include "ompi/node.h"

#include <stdlib.h>
#include <string.h>

/* Their classes know how large they are in the library that is running. */
static bool same_structures(void)
{
#define SAME(type) (sizeof(type) == OBJ_CLASS(type)->cls_sizeof)
    return SAME(mca_coll_base_module_t) && SAME(ompi_communicator_t) && SAME(ompi_group_t) &&
           SAME(ompi_proc_t) && SAME(ompi_request_t) && SAME(opal_convertor_t) &&
           SAME(opal_free_list_t) && SAME(opal_free_list_item_t);
#undef SAME
}

#if OMPI_MAJOR_VERSION < 6
static bool same_series(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return NULL != strstr(version, "v" NICBARR_SERIES ".");
}
#else
/* MPI's functions lie above what components are linked with: programs have them of one of two
 * libraries. So it is a component of Open MPI's own that says it. */
static bool same_series(void)
{
    const mca_base_component_t *own = &opal_accelerator_base_selected_component.base_version;
    return OMPI_MAJOR_VERSION == own->mca_component_major_version &&
           OMPI_MINOR_VERSION == own->mca_component_minor_version;
}
#endif

const char *nicbarr_wrong_release(void)
{
    if (!same_series()) {
        return "built for Open MPI " NICBARR_SERIES ", but another one is running: not used. "
               "Source the env.sh that goes with this mpirun";
    }
    if (!same_structures()) {
        return "built for Open MPI " NICBARR_BUILT_FOR
               ", and the one that is running has other structures: not used. Build nicbarr with "
               "that one's mpicc";
    }
    return NULL;
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
