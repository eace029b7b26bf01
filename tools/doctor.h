/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `nicbarr doctor`: each looks at something, and adds findings (findings.h). */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct doctor {
    json_t *findings;
    bool has_component; /* as Open MPI's own command says */
    char *release;      /* of mpirun's Open MPI; NULL: unknown */
    char **hosts;       /* of --hosts; NULL ends them */
    size_t count;       /* of them; 0: this host alone */
    char **more;        /* further arguments of mpirun's; NULL ends them */
};

/* Open MPI's commands, and whether they find the component. False if there is no mpirun that a job
 * could be started with. (doctor_ompi.c) */
bool doctor_ompi(struct doctor *doctor);

/* What a job finds, on this host or on those of --hosts. (doctor_job.c) */
void doctor_job(struct doctor *doctor);

#endif
