/* SPDX-License-Identifier: BSD-3-Clause */
/* What a component checks before anything else: whether the running Open MPI is one for which it
 * was built, whether the user wants it, and which folder the processes of this node share. */
#ifndef NICBARR_NODE_H
#define NICBARR_NODE_H

#include "ompi/release.h"

/* Components are built for one release series, and within it for those releases whose structures
 * match its headers (5.0.7 and 5.0.10 added a field). Open MPI itself does not check that. Returns
 * NULL if this component matches the running release, else the reason why it does not. */
const char *nicbarr_wrong_release(void);

/* Does a framework's list of components (such as `--mca btl myr,self`) name this one? False if the
 * list is NULL, or excludes components (`^...`). */
bool nicbarr_asked_for(const char *list, const char *component);

/* The folder that all processes of the job on this node share, with those of jobs that it spawns.
 * The caller frees it. NULL: there is none, since the process is a singleton. */
char *nicbarr_node_folder(void);

#endif
