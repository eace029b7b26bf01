/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `nicbarr doctor`: each checks something, and adds findings (findings.h). */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct doctor {
    json_t *findings;
    bool has_component; /* according to Open MPI's own command */
    char *release;      /* release of mpirun; NULL: unknown */
    char **hosts;       /* of --hosts; terminated by NULL */
    size_t count;       /* number of hosts; 0: only this host */
    char **more;        /* further arguments for mpirun; terminated by NULL */
};

/* Check Open MPI's commands, and whether they find the component. False if there is no mpirun to
 * start a job with. (doctor_ompi.c) */
bool doctor_ompi(struct doctor *doctor);

/* Check what a job finds, on this host or on those of --hosts. (doctor_job.c) */
void doctor_job(struct doctor *doctor);

#endif
