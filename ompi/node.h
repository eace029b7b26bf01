/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What our components ask before they touch anything: is this the Open MPI they were built for, and
 * where do the processes of this node meet?
 */
#ifndef NICBARR_NODE_H
#define NICBARR_NODE_H

#include "ompi/release.h"

/* Components are built for one release series, and within it for those releases whose structures
 * are those of its headers (5.0.7 and 5.0.10 added a field). Open MPI itself does not notice.
 * Returns NULL, or why this component is not for the one that is running. */
const char *nicbarr_wrong_release(void);

/* Does a framework's list of components (such as `--mca btl myr,self`) name this one? Not where the
 * list says which ones to leave out, or is NULL. */
bool nicbarr_asked_for(const char *list, const char *component);

/* The folder that all processes of the job on this node share, and the jobs it spawns with them; to
 * be freed. NULL: there is none, the process is alone (a singleton). */
char *nicbarr_node_folder(void);

#endif
