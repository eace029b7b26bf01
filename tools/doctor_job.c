/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts nicbarr_probe (probe/probe.c) with mpirun on this host or on the hosts of --hosts, and
 * converts the lines of its output to findings; see doctor.h.
 *
 * Missing lines are also findings: they reveal hosts on which the job did not start, and pairs of
 * hosts that reported nothing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/doctor.h"
#include "tools/findings.h"
#include "tools/probe/probe.h"
#include "tools/run.h"
#include "tools/script.h"

/* The time limit of the job in seconds: START_S for its start, and MEETING_S for each other host
 * with which a host is tested, because each NIC that fails takes 5 s. */
enum {
    START_S = 60,
    MEETING_S = 40,
    FIXED = 16 /* words of the command without arguments of the user */
};

static char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *pattern, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0) {
        tool_no_memory();
    }
    va_end(arguments);
    return text;
}

/* Returns mpirun's list of hosts, such as "a:2,b:2". */
static char *host_list(const struct doctor *doctor)
{
    char *list = format("%s", "");
    for (size_t h = 0; h < doctor->count; ++h) {
        char *longer =
            format("%s%s%s:%d", list, 0 == h ? "" : ",", doctor->hosts[h], (int)PROBE_PER_HOST);
        free(list);
        list = longer;
    }
    return list;
}

static void start_job(const struct doctor *doctor, struct run *run)
{
    const size_t hosts = 0 == doctor->count ? 1 : doctor->count;
    size_t given = 0, words = 0;
    while (NULL != doctor->more[given]) {
        ++given;
    }
    char **argv = tool_alloc(FIXED + given, sizeof(*argv));
    char *owned[] = {script_path("tools/job.sh"),
                     script_path("tools/probe/nicbarr_probe"),
                     format("%zu", START_S + MEETING_S * (hosts - 1)),
                     format("%zu", PROBE_PER_HOST * hosts),
                     host_list(doctor),
                     format("ppr:%d:node", (int)PROBE_PER_HOST)};
    if (NULL == owned[0] || NULL == owned[1]) {
        tool_no_memory();
    }
    argv[words++] = owned[0];
    argv[words++] = owned[2];
    argv[words++] = (char *)"-np";
    argv[words++] = owned[3];
    if (0 != doctor->count) {
        argv[words++] = (char *)"--host";
        argv[words++] = owned[4];
        argv[words++] = (char *)"--map-by";
        argv[words++] = owned[5];
    }
    /* The probe opens NICs itself, and needs their ports, so the component must not open them. */
    argv[words++] = (char *)"--mca";
    argv[words++] = (char *)"coll_nicbarr_nic";
    argv[words++] = (char *)"none";
    memcpy(&argv[words], doctor->more, given * sizeof(*argv));
    argv[words + given] = owned[1];
    run_program(argv, run);
    for (size_t o = 0; o < sizeof(owned) / sizeof(owned[0]); ++o) {
        free(owned[o]);
    }
    free(argv);
}

/* ---- the processes' lines ---- */

static const char *field(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return NULL == text ? "" : text;
}

/* The output of the job. */
struct job_output {
    json_t *findings, *tries; /* arrays */
    char **host;              /* hosts that have printed anything, sorted */
    size_t hosts;
};

static int in_order(const void *one, const void *other)
{
    return strverscmp(*(char *const *)one, *(char *const *)other);
}

static void record_host(struct job_output *output, const char *host)
{
    for (size_t h = 0; h < output->hosts; ++h) {
        if (0 == strcmp(output->host[h], host)) {
            return;
        }
    }
    output->host = realloc(output->host, (output->hosts + 1) * sizeof(*output->host));
    if (NULL == output->host) {
        tool_no_memory();
    }
    output->host[output->hosts++] = format("%s", host);
}

/* Parses the lines that are findings or results of tests, and skips all other lines. */
static void read_lines(const char *text, struct job_output *output)
{
    *output = (struct job_output){.findings = json_array(), .tries = json_array()};
    while ('\0' != *text) {
        const size_t length = strcspn(text, "\n");
        json_t *line = json_loadb(text, length, 0, NULL);
        if (finding_is(line)) {
            record_host(output, field(line, "host"));
            json_array_append(output->findings, line);
        } else if (NULL != json_object_get(line, "nic")) {
            json_array_append(output->tries, line);
        }
        json_decref(line);
        text += length + ('\n' == text[length]);
    }
    if (0 != output->hosts) {
        qsort(output->host, output->hosts, sizeof(*output->host), in_order);
    }
}

static void free_output(struct job_output *output)
{
    for (size_t h = 0; h < output->hosts; ++h) {
        free(output->host[h]);
    }
    free(output->host);
    json_decref(output->findings);
    json_decref(output->tries);
}

/* Adds the findings, host by host. If Open MPI has not found the component on this host, that has
 * been reported already, so the findings about the component are skipped. */
static void add_findings(struct doctor *doctor, const struct job_output *output)
{
    for (size_t h = 0; h < output->hosts; ++h) {
        for (size_t f = 0; f < json_array_size(output->findings); ++f) {
            json_t *one = json_array_get(output->findings, f);
            const bool again = 0 == doctor->count && !doctor->has_component &&
                               0 == strcmp(field(one, "what"), PROBE_COMPONENT);
            if (0 == strcmp(field(one, "host"), output->host[h]) && !again) {
                json_array_append(doctor->findings, one);
            }
        }
    }
}

/* ---- pairs of hosts ---- */

/* Returns the result of `host` for its test with `peer`, or NULL if it has reported none. */
static const json_t *find_try(const json_t *tries, const char *nic, const char *host,
                              const char *peer)
{
    for (size_t t = 0; t < json_array_size(tries); ++t) {
        const json_t *one = json_array_get(tries, t);
        if (0 == strcmp(field(one, "nic"), nic) && 0 == strcmp(field(one, "host"), host) &&
            0 == strcmp(field(one, "peer"), peer)) {
            return one;
        }
    }
    return NULL;
}

/* Returns the reason for which a test has failed on a host, as "HOST: REASON", or "" if only the
 * other host knows the reason. The caller frees it. */
static char *describe_failure(const json_t *one, const char *host)
{
    const char *line = NULL == one ? "it has reported nothing" : field(one, "failed");
    return '\0' == *line ? format("%s", "") : format("%s: %s", host, line);
}

/* Adds a finding if a test of a NIC has failed on either side, or if the result of a side is
 * missing. Returns true if the test has succeeded. */
static bool check_try(struct doctor *doctor, const char *nic, const json_t *side[2],
                      const char *const host[2])
{
    if (NULL != side[0] && NULL != side[1] && json_is_null(json_object_get(side[0], "failed")) &&
        json_is_null(json_object_get(side[1], "failed"))) {
        return true;
    }
    char *what = format("NIC %s between %s and %s", nic, host[0], host[1]);
    char *first = describe_failure(side[0], host[0]), *second = describe_failure(side[1], host[1]);
    json_array_append_new(doctor->findings,
                          finding(NULL, what, FINDING_PROBLEM,
                                  field(NULL == side[0] ? side[1] : side[0], "do"), "%s%s%s", first,
                                  '\0' != *first && '\0' != *second ? "; " : "", second));
    free(what);
    free(first);
    free(second);
    return false;
}

/* Checks all NICs of two hosts. Successful tests are counted in `good`, by NIC. */
static void check_pair(struct doctor *doctor, const json_t *tries, const char *const host[2],
                       json_t *good)
{
    const char *nic;
    json_t *count;
    bool any = false;
    json_object_foreach(good, nic, count)
    {
        const json_t *side[2] = {find_try(tries, nic, host[0], host[1]),
                                 find_try(tries, nic, host[1], host[0])};
        if (NULL != side[0] || NULL != side[1]) {
            any = true;
            json_integer_set(count, json_integer_value(count) + check_try(doctor, nic, side, host));
        }
    }
    if (!any) {
        char *what = format("NICs between %s and %s", host[0], host[1]);
        json_array_append_new(doctor->findings,
                              finding(NULL, what, FINDING_PROBLEM,
                                      "correct the other findings about these hosts, and try again",
                                      "none was tried: they have none in common, or cannot reach "
                                      "each other"));
        free(what);
    }
}

static void check_pairs(struct doctor *doctor, const struct job_output *output)
{
    json_t *good = json_object(), *count;
    const char *nic;
    for (size_t t = 0; t < json_array_size(output->tries); ++t) {
        json_object_set_new(good, field(json_array_get(output->tries, t), "nic"), json_integer(0));
    }
    for (size_t one = 0; one < output->hosts; ++one) {
        for (size_t other = one + 1; other < output->hosts; ++other) {
            const char *const pair[2] = {output->host[one], output->host[other]};
            check_pair(doctor, output->tries, pair, good);
        }
    }
    json_object_foreach(good, nic, count)
    {
        char *what = format("NIC %s between hosts", nic);
        if (0 != json_integer_value(count)) {
            json_array_append_new(doctor->findings, finding(NULL, what, FINDING_OK, NULL,
                                                            "it works between %lld pairs of hosts",
                                                            (long long)json_integer_value(count)));
        }
        free(what);
    }
    json_decref(good);
}

/* ---- messages of mpirun and of the component ---- */

/* Returns whether a line is already contained in a finding. */
static bool known(const struct doctor *doctor, const char *line)
{
    bool found = false;
    for (size_t f = 0; !found && f < json_array_size(doctor->findings); ++f) {
        found = NULL != strstr(line, field(json_array_get(doctor->findings, f), "seen"));
    }
    return found;
}

/* Adds findings for the messages of the component. */
static void add_component_messages(struct doctor *doctor, const char *text)
{
    static const char mark[] = "] nicbarr: "; /* follows the host and the process */
    for (const char *at = strstr(text, mark); NULL != at; at = strstr(at, mark)) {
        at += sizeof(mark) - 1;
        char *line = run_first_line(at);
        if (!known(doctor, line)) {
            json_array_append_new(doctor->findings,
                                  finding(NULL, "component's message", FINDING_PROBLEM,
                                          "correct what it reports", "%s", line));
        }
        free(line);
    }
}

/* Joins as many of the first lines of a text as fit into a finding, without the lines of dashes
 * that mpirun prints. Later lines can be omitted, because causes are printed first, and general
 * advice last; `cut` is then set. The caller frees the result. */
static char *first_lines(const char *text, bool *cut)
{
    enum { MOST = 500 };
    char *lines = tool_alloc(MOST + 1, 1);
    size_t length = 0;
    for (*cut = false; '\0' != *text && !*cut; text += '\n' == *text) {
        text += strspn(text, " \t-");
        const size_t bytes = strcspn(text, "\n"), blank = 0 != bytes && 0 != length;
        *cut = length + blank + bytes > MOST;
        const size_t room =
            0 == length && bytes > MOST ? MOST : bytes; /* a first line that is too long is cut */
        if (!*cut || 0 == length) {
            memset(lines + length, ' ', blank);
            memcpy(lines + length + blank, text, room);
            length += blank + room;
        }
        text += bytes;
    }
    return lines;
}

static void check_end(struct doctor *doctor, const struct run *run, size_t hosts_seen)
{
    const size_t hosts = 0 == doctor->count ? 1 : doctor->count;
    if (124 == run->status) {
        json_array_append_new(
            doctor->findings,
            finding(NULL, "job", FINDING_PROBLEM,
                    "check that these hosts reach each other by TCP, and that each "
                    "has the same nicbarr in the same directory",
                    "it hung and was terminated"));
    } else if (0 != run->status) {
        bool cut;
        char *lines = first_lines(run->err, &cut);
        json_array_append_new(
            doctor->findings,
            finding(NULL, "job", FINDING_PROBLEM,
                    "correct what mpirun reports (`mpirun --host ... hostname' "
                    "shows all of it); nicbarr must be in the same directory on all hosts",
                    "it failed (status %d): %s%s", run->status, lines, cut ? " [and more]" : ""));
        free(lines);
    } else if (hosts_seen < hosts) {
        json_array_append_new(doctor->findings,
                              finding(NULL, "job", FINDING_PROBLEM,
                                      "check whether two of the names are of the same host",
                                      "%zu of %zu hosts have taken part", hosts_seen, hosts));
    }
}

/* Compares releases, because programs must use a library of the same release as mpirun. */
static void compare_releases(struct doctor *doctor, const json_t *from_job)
{
    for (size_t f = 0; f < json_array_size(from_job); ++f) {
        const json_t *one = json_array_get(from_job, f);
        const char *seen = field(one, "seen");
        if (0 == strcmp(field(one, "what"), PROBE_LIBRARY) &&
            NULL == strstr(seen, doctor->release)) {
            json_array_append_new(doctor->findings,
                                  finding(field(one, "host"), "release", FINDING_PROBLEM,
                                          probe_same_mpi, "programs use %s, but mpirun is of %s",
                                          seen, doctor->release));
        }
    }
}

void doctor_job(struct doctor *doctor)
{
    struct job_output output;
    struct run run;
    start_job(doctor, &run);
    read_lines(run.out, &output);
    compare_releases(doctor, output.findings);
    add_findings(doctor, &output);
    add_component_messages(doctor, run.err);
    check_end(doctor, &run, output.hosts);
    check_pairs(doctor, &output);
    free_output(&output);
    run_free(&run);
}
