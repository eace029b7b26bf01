/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr doctor`: checks this machine, or several hosts and the network between them, and prints
 * what the user can do about problems.
 *
 * All findings are measured. The commands of Open MPI report what they find (doctor_ompi.c), the
 * processes of a job report what they can use (doctor_job.c), and myrd checks whether this host can
 * run the kernel NIC. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libmyr/seal.h"
#include "tools/alloc.h"
#include "tools/commands.h"
#include "tools/doctor.h"
#include "tools/findings.h"
#include "tools/run.h"

static void check_build(struct doctor *doctor)
{
    json_array_append_new(
        doctor->findings,
        finding(NULL, "nicbarr", myr_seals() ? FINDING_OK : FINDING_NOTE,
                myr_seals() ? NULL
                            : "if others can read your network, rebuild nicbarr with libsodium (on "
                              "Debian: libsodium-dev)",
                "version %s; secrets are sent %s between hosts", NICBARR_VERSION,
                myr_seals() ? "encrypted" : "in the clear"));
}

/* Returns whether the kernel NIC is available on any host. */
static bool has_kernel(const struct doctor *doctor)
{
    bool found = false;
    for (size_t f = 0; f < json_array_size(doctor->findings); ++f) {
        const char *what = NULL, *state = NULL;
        (void)json_unpack(json_array_get(doctor->findings, f), "{s:s, s:s}", "what", &what, "state",
                          &state);
        found = found || (0 == strcmp(what, "NIC kernel") && 0 == strcmp(state, "ok"));
    }
    return found;
}

/* If the kernel NIC is not available, checks whether this host could run it. */
static void check_kernel(struct doctor *doctor)
{
    if (has_kernel(doctor)) {
        return;
    }
    static const char name[] = "myrd: ";
    char *argv[] = {(char *)"myrd", (char *)"--kernel", (char *)"--check", NULL};
    struct run run;
    run_program(argv, &run);
    char *line = run_first_line(run.err);
    const char *why = 0 == strncmp(line, name, sizeof(name) - 1) ? line + sizeof(name) - 1 : line;
    json_array_append_new(
        doctor->findings,
        0 == run.status ? finding(NULL, "kernel as NIC", FINDING_OK, NULL,
                                  "available: start myrd --kernel as root")
        : 127 == run.status
            ? finding(NULL, "kernel as NIC", FINDING_NOTE,
                      "put nicbarr's commands into the PATH (source its env.sh)",
                      "not checked, as there is no myrd in the PATH")
            : finding(NULL, "kernel as NIC", FINDING_NOTE,
                      "nothing, unless you want this NIC; its requirements are in " DOCDIR
                      "/docs/kernel-nic.md",
                      "you cannot start myrd --kernel: %s", why));
    free(line);
    run_free(&run);
}

/* ---- the command ---- */

enum { HOSTS = 256 };

static const struct argp_option options[] = {
    {"hosts", HOSTS, "LIST", 0,
     "Check these hosts, such as node1,node2, and try each NIC between each pair of them "
     "(default: this host only)",
     0},
    {"json", 'j', NULL, 0, "Print JSON, on one line", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
    "Checks what nicbarr needs: Open MPI and the component, the rights of a job's processes and "
    "the NICs that they get, the tuning cache, and which NICs work between hosts. Starts a short "
    "job for that. Each finding is `ok', a `note' (it works, or is not needed) or a "
    "`problem', with what to do about it."
    "\v"
    "MPIRUN-OPTIONs are passed to the job's mpirun, such as `-- --mca btl_tcp_if_include eth1'.\n\n"
    "Exit status: 0, 1 if there is a problem, 64 for wrong usage.";

struct settings {
    struct doctor doctor;
    bool json;
};

static void parse_hosts(struct doctor *doctor, char *list, struct argp_state *state)
{
    doctor->hosts = tool_alloc(strlen(list) + 1, sizeof(*doctor->hosts));
    doctor->count = 0;
    for (char *host = strtok(list, ","); NULL != host; host = strtok(NULL, ",")) {
        for (size_t h = 0; h < doctor->count; ++h) {
            if (0 == strcmp(host, doctor->hosts[h])) {
                argp_error(state, "--hosts has '%s' twice", host);
            }
        }
        doctor->hosts[doctor->count++] = host;
    }
    if (doctor->count < 2) {
        argp_error(state, "--hosts takes two or more hosts, such as node1,node2");
    }
}

static error_t parse_doctor_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case HOSTS:
        parse_hosts(&settings->doctor, argument, state);
        return 0;
    case 'j':
        settings->json = true;
        return 0;
    case ARGP_KEY_ARGS:
        if (0 != strcmp(state->argv[state->next - 1], "--")) {
            argp_error(state, "unknown argument '%s' (put options of mpirun after --)",
                       state->argv[state->next]);
        }
        settings->doctor.more = &state->argv[state->next];
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_json(const json_t *findings)
{
    json_t *whole =
        json_pack("{s:s, s:I, s:I, s:O}", "format", "nicbarr doctor 1", "problems",
                  (json_int_t)findings_count(findings, FINDING_PROBLEM), "notes",
                  (json_int_t)findings_count(findings, FINDING_NOTE), "findings", findings);
    json_dumpf(whole, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(whole);
}

int doctor_command(int argc, char **argv)
{
    static char *nothing[] = {NULL};
    const struct argp argp = {
        options, parse_doctor_option, "[-- MPIRUN-OPTION...]", doc, NULL, NULL, NULL};
    struct settings settings = {.doctor = {.findings = json_array(), .more = nothing}};
    struct doctor *doctor = &settings.doctor;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &settings);
    check_build(doctor);
    if (doctor_ompi(doctor)) {
        doctor_job(doctor);
    }
    check_kernel(doctor);
    const size_t problems = findings_count(doctor->findings, FINDING_PROBLEM);
    if (settings.json) {
        print_json(doctor->findings);
    } else {
        findings_print(doctor->findings, stdout);
    }
    json_decref(doctor->findings);
    free(doctor->release);
    free(doctor->hosts);
    return 0 == problems ? EXIT_SUCCESS : EXIT_FAILURE;
}
