/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of nicbarr_probe, the program that `nicbarr doctor` starts as a job. probe.c checks the
 * host, and pairs.c tests its NICs with those of other hosts.
 */
#ifndef TOOLS_PROBE_PROBE_H
#define TOOLS_PROBE_PROBE_H

#include <jansson.h>

#include "libmyr/nic_kind.h"

/* The names of findings about the program's MPI library, and about the component. */
#define PROBE_LIBRARY "MPI library"
#define PROBE_COMPONENT "component"

/* Advice if mpirun belongs to another MPI library. */
static const char probe_same_mpi[] =
    "put the mpirun of the Open MPI that programs are linked with first in the PATH";

enum { PROBE_NICS = 8, PROBE_PER_HOST = 2 /* both processes must get a socket of the NIC */ };

/* A NIC, under one of its names. */
struct probe_nic {
    const struct myr_nic_kind *kind;
    const char *way;
    void *nic;   /* NULL: not available */
    bool absent; /* not available because this host has no such NIC */
    struct myr_nic_name name;
};

struct probe {
    char host[64];
    int index, hosts; /* index of this host among the hosts of the job, and number of hosts */
    struct myr_segment *segment;
    struct myr_site site;
    int nics;
    struct probe_nic nic[PROBE_NICS];
};

/* Prints an object as a line of JSON, and releases it. */
void probe_print(json_t *json);

/* Tests each NIC with each other host that has it, by a barrier of the two hosts. Called by the
 * first process of each host. Prints a line for each test:
 *
 *     {"nic": WORD, "host": NAME, "peer": NAME, "failed": LINE or null, "do": LINE or null}
 *
 * "failed" is empty if only the other host knows the reason. Returns false if a host does not reply
 * to MPI messages; MPI_Finalize would then wait for it. */
bool probe_pairs(struct probe *probe);

#endif
