/* SPDX-License-Identifier: BSD-3-Clause */
/* See node.h. */
#include "ompi/node.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Compares the sizes in the headers of this build with those in the running library, which the
 * class objects contain. */
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
/* Returns whether the running Open MPI belongs to the series for which this component was built.
 * MPI_Get_library_version() cannot be called, because components are linked with neither of the two
 * libraries that contain MPI's functions. Instead, the version is read from a component of Open
 * MPI. */
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
        return "not used: built for Open MPI " NICBARR_SERIES ", but another release is running. "
               "Source the env.sh that belongs to this mpirun";
    }
    if (!same_structures()) {
        return "not used: built for Open MPI " NICBARR_BUILT_FOR ", but the running release has "
               "other structures. Build nicbarr with its mpicc";
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

/* Returns whether the directory belongs to this user alone. */
static bool is_private(const char *dir)
{
    struct stat about;
    return 0 == stat(dir, &about) && geteuid() == about.st_uid && 0 == (about.st_mode & S_IWOTH);
}

/* mpirun creates the directories of its job and of the jobs that this one spawns in one directory,
 * their parent. Slurm, however, creates the directory of each job in /tmp. Separate jobs must not
 * share a directory, because a process that is killed or stopped can make the NIC of the others
 * unusable (libmyr/soft/nic.h). */
char *nicbarr_node_dir(void)
{
    if (NULL == ompi_process_info.job_session_dir) {
        return NULL;
    }
    char *dir = strdup(ompi_process_info.job_session_dir);
    char *slash = NULL == dir ? NULL : strrchr(dir, '/');
    if (NULL != slash && slash != dir) {
        *slash = '\0';
        if (!is_private(dir)) {
            *slash = '/';
        }
    }
    return dir;
}
