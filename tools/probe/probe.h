/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of nicbarr_probe, the program that `nicbarr doctor` starts as a job: probe.c looks at
 * the host, pairs.c tries its NICs with the other hosts'.
 */
#ifndef TOOLS_PROBE_PROBE_H
#define TOOLS_PROBE_PROBE_H

#include <jansson.h>

#include "libmyr/nic_kind.h"

/* Findings of these names say which MPI library the program has, and whether it has the component.
 */
#define PROBE_LIBRARY "MPI library"
#define PROBE_COMPONENT "component"

/* What to do where mpirun is another MPI's. */
static const char probe_same_mpi[] =
    "put the mpirun of the Open MPI that programs are linked with first in the PATH";

enum { PROBE_NICS = 8, PROBE_PER_HOST = 2 /* processes: a NIC's socket must be had by both */ };

/* A NIC, by one of the words for it. */
struct probe_nic {
    const struct myr_nic_kind *kind;
    const char *way;
    void *nic;   /* NULL: it is not to be had, */
    bool absent; /* as this host has none */
    struct myr_nic_name name;
};

struct probe {
    char host[64];
    int index, hosts; /* its number among the job's hosts */
    struct myr_segment *segment;
    struct myr_site site;
    int nics;
    struct probe_nic nic[PROBE_NICS];
};

/* Print a line of JSON, which is taken over. */
void probe_print(json_t *json);

/* Try each NIC with each other host that has it, by a barrier of the two. Called by the first
 * process of each host. Prints a line for each try:
 *     {"nic": WORD, "host": NAME, "peer": NAME, "failed": LINE or null, "do": LINE or null}
 * An empty line: the other host says why. False if there is a host that cannot be spoken to by MPI:
 * MPI_Finalize would wait for it. */
bool probe_pairs(struct probe *probe);

#endif
