/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that a component determines when it is opened: whether it was built for the running Open
 * MPI, whether the user has selected it, and which directory the processes of this node share. */
#ifndef NICBARR_NODE_H
#define NICBARR_NODE_H

#include "ompi/release.h"

/* Returns NULL if this component can be used with the running release, otherwise the reason why it
 * cannot. A component is built for one release series. Within the series it can be used with those
 * releases whose structures match its headers (5.0.7 and 5.0.10 added a member). Open MPI itself
 * does not check this. */
const char *nicbarr_wrong_release(void);

/* Returns whether the parameter that lists a framework's components (such as `--mca btl myr,self`)
 * names this component. Returns false if the list is NULL, or excludes components (`^...`). */
bool nicbarr_asked_for(const char *list, const char *component);

/* Returns the path of a directory that this process shares with all processes of its job on this
 * node and of jobs that the job spawns (if the launcher supports spawning), but not with separate
 * jobs. The caller frees the path. Returns NULL if this process is a singleton, because singletons
 * have no such directory. */
char *nicbarr_node_dir(void);

/* Returns whether a process belongs to another job, which was spawned or connected by MPI. */
static inline bool nicbarr_is_of_other_job(const opal_process_name_t *name)
{
    return OMPI_PROC_MY_NAME->jobid != name->jobid;
}

#endif
