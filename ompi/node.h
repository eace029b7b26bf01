/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of our components before any other action: is this the Open MPI for which they were built,
 * and which folder do the processes of this node share? */
#ifndef NICBARR_NODE_H
#define NICBARR_NODE_H

#include "ompi/release.h"

/* Components are built for one release series, and within it for those releases whose structures
 * match its headers (5.0.7 and 5.0.10 added a field). Open MPI itself does not check that. Returns
 * NULL, or why this component does not fit the running release. */
const char *nicbarr_wrong_release(void);

/* Does a framework's list of components (such as `--mca btl myr,self`) name this one? False if the
 * list is one of exclusions, or NULL. */
bool nicbarr_asked_for(const char *list, const char *component);

/* The folder that is shared by all processes of the job on this node and the jobs that it spawns;
 * to be freed. NULL: none, the process is a singleton. */
char *nicbarr_node_folder(void);

#endif
