/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `nicbarr doctor`. Each checks one aspect of the installation, and adds findings
 * (findings.h). */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct doctor {
    json_t *findings;
    bool has_component; /* ompi_info lists the component */
    char *release;      /* release of mpirun; NULL: unknown */
    char **hosts;       /* of --hosts; terminated by NULL */
    size_t count;       /* number of hosts; 0: only this host */
    char **more;        /* further arguments for mpirun; terminated by NULL */
};

/* Checks the commands of Open MPI, and whether they find the component. Returns false if there is
 * no mpirun that could start a job. (doctor_ompi.c) */
bool doctor_ompi(struct doctor *doctor);

/* Starts a job on this host or on the hosts of --hosts, and adds its findings. (doctor_job.c) */
void doctor_job(struct doctor *doctor);

#endif
