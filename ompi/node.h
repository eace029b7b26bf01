/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that a component determines when it is opened: whether it was built for the running Open
 * MPI, whether the user has selected it, and which directory the processes of this node share. */
#ifndef NICBARR_NODE_H
#define NICBARR_NODE_H

#include "ompi/release.h"

/* Returns NULL if this component matches the running release, else the reason why it does not.
 * Components are built for one release series, and within it for those releases whose structures
 * match its headers (5.0.7 and 5.0.10 added a member). Open MPI itself does not check this. */
const char *nicbarr_wrong_release(void);

/* Returns whether a framework's list of components (such as `--mca btl myr,self`) names this one.
 * Returns false if the list is NULL, or excludes components (`^...`). */
bool nicbarr_asked_for(const char *list, const char *component);

/* Returns the path of the directory that all processes of the job on this node share, including
 * those of jobs that it spawns. The caller frees it. Returns NULL if the process is a singleton,
 * which has no such directory. */
char *nicbarr_node_dir(void);

/* Returns whether a process belongs to another job, which was spawned or connected by MPI. */
static inline bool nicbarr_is_of_other_job(const opal_process_name_t *name)
{
    return OMPI_PROC_MY_NAME->jobid != name->jobid;
}

#endif
