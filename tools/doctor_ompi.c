/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that use the commands of Open MPI; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/doctor.h"
#include "tools/findings.h"
#include "tools/run.h"

static const char component[] = "component coll/nicbarr", env[] = PKGDATADIR "/env.sh";

/* Returns the rest of the line after `begin`, to be freed, or NULL if there is no such line. */
static char *line_behind(const char *text, const char *begin)
{
    const char *at = strstr(text, begin);
    return NULL == at ? NULL : run_first_line(at + strlen(begin));
}

static bool check_mpirun(struct doctor *doctor)
{
    char *argv[] = {(char *)"mpirun", (char *)"--version", NULL};
    struct run run;
    run_program(argv, &run);
    char *line = run_first_line(run.out);
    const bool found = 127 != run.status, fits = NULL != strstr(line, "(Open MPI)");
    json_array_append_new(
        doctor->findings,
        !found  ? finding(NULL, "mpirun", FINDING_PROBLEM,
                          "install Open MPI 4.1, 5.0 or 6.0 (on Debian: apt-get install "
                           "openmpi-bin), or put its directory into the PATH (module load)",
                          "there is none in the PATH")
        : !fits ? finding(NULL, "mpirun", FINDING_PROBLEM,
                          "put the mpirun of Open MPI 4.1, 5.0 or 6.0 first in the PATH",
                          "it is not Open MPI's: %s", line)
                : finding(NULL, "mpirun", FINDING_OK, NULL, "%s", line));
    doctor->release = line_behind(line, "(Open MPI) ");
    free(line);
    run_free(&run);
    return NULL != doctor->release;
}

/* Reports that the component was not found. env.sh searches the installed components for one that
 * matches the mpirun in the PATH, and prints why none does. */
static void report_missing_component(struct doctor *doctor, const char *trouble)
{
    char command[sizeof(env) + 20];
    snprintf(command, sizeof(command), ". '%s'", env);
    char *argv[] = {(char *)"sh", (char *)"-c", command, NULL};
    struct run run;
    run_program(argv, &run);
    char *line = run_first_line(run.err);
    const bool fits = 0 == run.status;
    char todo[2 * sizeof(env) + 200];
    snprintf(todo, sizeof(todo),
             fits ? "source env.sh in the shell that starts jobs:  . %s"
                  : "build nicbarr with the mpicc that belongs to this mpirun (./configure "
                    "MPICC=...), or put another mpirun first in the PATH; then source  %s",
             env);
    json_array_append_new(
        doctor->findings,
        NULL != trouble
            ? finding(NULL, component, FINDING_PROBLEM,
                      "reinstall nicbarr for this Open MPI, and source its env.sh",
                      "Open MPI cannot load it: %s", trouble)
            : finding(NULL, component, FINDING_PROBLEM, todo, "Open MPI does not find it%s%s",
                      fits ? "" : "; env.sh: ", fits ? "" : line));
    free(line);
    run_free(&run);
}

static void check_component(struct doctor *doctor)
{
    char *argv[] = {(char *)"ompi_info",
                    (char *)"--parsable",
                    (char *)"--mca",
                    (char *)"mca_base_component_show_load_errors",
                    (char *)"1",
                    (char *)"--param",
                    (char *)"coll",
                    (char *)"nicbarr",
                    NULL};
    struct run run;
    run_program(argv, &run);
    char *version = line_behind(run.out, "mca:coll:nicbarr:version:\"component:");
    char *trouble = line_behind(run.err, "unable to open mca_coll_nicbarr: ");
    if (127 == run.status) {
        json_array_append_new(doctor->findings,
                              finding(NULL, component, FINDING_NOTE,
                                      "install it with Open MPI (on Debian: openmpi-bin)",
                                      "not checked, as there is no ompi_info"));
    } else if (NULL == version) {
        report_missing_component(doctor, trouble);
    } else {
        version[strcspn(version, "\"")] = '\0';
        doctor->has_component = true;
        const bool same = 0 == strcmp(version, NICBARR_VERSION);
        json_array_append_new(doctor->findings,
                              finding(NULL, component, same ? FINDING_OK : FINDING_PROBLEM,
                                      same ? NULL
                                           : "there are two installations of nicbarr: source the "
                                             "env.sh of the one that you want",
                                      "Open MPI finds version %s%s", version,
                                      same ? "" : ", and this command is " NICBARR_VERSION));
    }
    free(version);
    free(trouble);
    run_free(&run);
}

bool doctor_ompi(struct doctor *doctor)
{
    const bool found = check_mpirun(doctor);
    if (found) {
        check_component(doctor);
    }
    return found;
}
