/* SPDX-License-Identifier: BSD-3-Clause */
/* See parameters.h. */
#include "coll_nicbarr/parameters.h"

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/digest.h"
#include "ompi/number.h"

#define AT(name) offsetof(struct nicbarr_parameters, name)
/* All processes of a communicator must have the same value of a SHARED parameter, because it
 * determines which messages are sent, by which NIC and in which call, or where words are located in
 * shared memory. The hello contains a digest of these parameters (component.c). */
enum scope { LOCAL, SHARED };

#define OF_NUMBERS(name, amount_, scope_, usual_, least_, most_, level_, help_)                    \
    {                                                                                              \
        {                                                                                          \
            #name, MYR_OPTION_NUMBER, {.number = usual_}, least_, most_, amount_, level_, help_,   \
            NULL},                                                                                 \
            AT(name), scope_                                                                       \
    }
#define NUMBER(name, ...) OF_NUMBERS(name, false, __VA_ARGS__)
#define AMOUNT(name, ...) OF_NUMBERS(name, true, __VA_ARGS__)
#define FLAG(name, scope_, usual_, level_, help_)                                                  \
    {                                                                                              \
        {#name, MYR_OPTION_FLAG, {.flag = usual_}, 0, 0, false, level_, help_, NULL}, AT(name),    \
            scope_                                                                                 \
    }
#define TEXT(name, scope_, usual_, level_, help_)                                                  \
    {                                                                                              \
        {#name, MYR_OPTION_TEXT, {.text = (char *)usual_}, 0, 0, false, level_, help_, NULL},      \
            AT(name), scope_                                                                       \
    }

static const struct {
    struct myr_option option;
    size_t offset;
    enum scope scope;
} table[] = {
    AMOUNT(priority, SHARED, 95, -1, 100, 9,
           "Priority of the component, 0 to 100: Open MPI uses the component with the highest one "
           "that can serve a communicator. -1: never use it"),
    AMOUNT(verbose, LOCAL, 0, 0, 100, 1,
           "0: report errors only. 1: also report which barrier each communicator uses, and why. "
           "2: also report which communicators are left to Open MPI"),
    TEXT(algorithm, SHARED, "auto", 1, NULL), /* see algorithm_help() */
    NUMBER(
        tune_after, SHARED, 20, 0, INT_MAX, 4,
        "Number of barriers of a communicator of a new shape before the algorithms are measured "
        "on it; for each other collective, the number of its calls of similar size. Programs with "
        "fewer calls are not delayed"),
    AMOUNT(tune_budget, SHARED, 50, 0, 60000, 4,
           "Time for measuring, once for each shape of communicator (milliseconds). 0: do not "
           "measure; barriers use the default algorithm or the one in the cache, other collectives "
           "are left to Open MPI"),
    AMOUNT(tune_share, SHARED, 0, 0, 100, 4,
           "Share of a job's time so far that measuring may take, if nothing is known (percent). "
           "100: no limit, measuring begins after coll_nicbarr_tune_after calls. 0: as 100 if a "
           "report is written (coll_nicbarr_report), otherwise as 1"),
    FLAG(tune_watch, SHARED, true, 4,
         "Whether choices are re-evaluated from time to time, and replaced if another one has "
         "become faster: barriers by A/B comparisons in the program's own barriers, collectives "
         "that carry data by measuring them again, in at most 1 % of the job's time"),
    NUMBER(join_after, SHARED, 100, 0, INT_MAX, 4,
           "Number of barriers of a communicator on several nodes that Open MPI's own function "
           "executes before NICs take over, if the best algorithm for its shape is known: setup "
           "takes as long as many barriers"),
    TEXT(cache, LOCAL, "auto", 4,
         "Files that keep measurements for later jobs, separated by commas. All are read; new "
         "measurements go to the first that can be written. A file is a path, auto "
         "(nicbarr/tuning.jsonl in $XDG_CACHE_HOME or ~/.cache), or none, which keeps nothing. "
         "Files that follow the keyword remeasure are written, but not read"),
    TEXT(report, LOCAL, "", 1,
         "Write the candidates, their measurements and the choices to this file (JSON; read it "
         "with: nicbarr report FILE)"),
    AMOUNT(
        memory, LOCAL, 256, 1, 1024, 5,
        "Limit of the shared memory of all processes of a job on one node together (MiB). Further "
        "communicators are left to Open MPI"),
    FLAG(nonblocking, SHARED, true, 4,
         "Whether to serve MPI_Ibarrier and persistent barriers as well"),
    FLAG(check, SHARED, false, 2,
         "Compare the calls of all members before each blocking collective, which Open MPI's own "
         "function then executes. If they differ in the function, root, operation, type or "
         "bytes, a message lists the ranks and their calls, and the error handler is called. For "
         "debugging"),
    TEXT(allreduce, SHARED, "auto", 2,
         "MPI_Allreduce and MPI_Iallreduce: auto (the faster one, as measured for each size), "
         "openmpi (Open MPI's function), exchange (through shared memory, up to 4 MiB; across "
         "nodes by the NICs, up to 4096 bytes), or rooted (as exchange, but across nodes one "
         "process combines)"),
    TEXT(reduce, SHARED, "auto", 2,
         "MPI_Reduce, and on one node MPI_Ireduce: auto, openmpi or exchange, as with "
         "coll_nicbarr_allreduce; across nodes, auto selects openmpi if most calls have the same "
         "root as the call before"),
    TEXT(bcast, SHARED, "auto", 2,
         "MPI_Bcast and MPI_Ibcast: auto (the faster one, as measured for each size), openmpi "
         "(Open MPI's function), or ring (through shared memory, up to 4 MiB; across nodes by "
         "the NICs, up to 4096 bytes)"),
    TEXT(allgather, SHARED, "auto", 2,
         "MPI_Allgather, and on one node MPI_Iallgather and MPI_Allgather_init: auto (the faster "
         "one, as measured for each size), openmpi (Open MPI's function), or exchange (through "
         "shared memory, up to 4 MiB in all; across nodes by the NICs, up to 4096 bytes in all)"),
    TEXT(gather, SHARED, "auto", 2,
         "MPI_Gather, on one node MPI_Igather, and with exchange MPI_Gather_init: auto, openmpi or "
         "exchange, as with coll_nicbarr_allgather; across nodes, auto selects openmpi if most "
         "calls have the same root as the call before"),
    TEXT(scatter, SHARED, "auto", 2,
         "MPI_Scatter, and on one node MPI_Iscatter and MPI_Scatter_init: auto (the faster one, "
         "as measured for each size), openmpi (Open MPI's function), or ring (through shared "
         "memory, up to 4 MiB in all; across nodes by the NICs, up to 4096 bytes in all)"),
    NUMBER(spin, LOCAL, -1, -1, INT_MAX, 5,
           "Number of polls before a waiting process yields its CPU. -1: none if there are "
           "more processes than CPUs; otherwise it polls without yielding until it sleeps"),
    NUMBER(
        sleep_after, LOCAL, 500, -1, INT_MAX, 5,
        "How long a process waits before it sleeps (microseconds, after polling). -1: never sleep"),
    AMOUNT(sleep_slice, LOCAL, 1000, 1, 1000000, 5,
           "Limit of one sleep, after which other traffic is processed (microseconds)"),
    TEXT(nic, LOCAL, "auto", 1, NULL /* see nic_help() */),
    NUMBER(warn, LOCAL, 30, 0, INT_MAX, 3,
           "Print a warning if a node that is missing in a barrier has not responded for so long "
           "(seconds). 0: never"),
    NUMBER(timeout, LOCAL, 900, 0, INT_MAX, 3,
           "Give up, and call the communicator's error handler, if a node that is missing in a "
           "barrier has not responded for so long (seconds). 0: never. A node whose processes are "
           "late is waited for, however long, as long as its NIC responds"),
};

enum { PARAMETERS = sizeof(table) / sizeof(table[0]) };

/* Open MPI stores the user's values here. */
static struct nicbarr_parameters registered;
static union myr_value registered_of[NICBARR_NICS_MOST][MYR_OPTIONS_MOST];

/* ---- registering ---- */

/* Write the help text of coll_nicbarr_nic into `text`; returns text. */
static const char *nic_help(char *text, size_t bytes)
{
    int length = snprintf(
        text, bytes,
        "NICs that execute the collectives of communicators on several nodes. auto: all that are "
        "available, of which measurements select the fastest; none: these communicators are left "
        "to Open MPI; or, separated by commas");
    for (uint32_t nic = 1; nic < nicbarr_nics_end() && length < (int)bytes; ++nic) {
        const struct myr_nic_kind *kind = nicbarr_kind(nic);
        length += snprintf(text + length, bytes - (size_t)length, "%s %s: %s", 1 == nic ? ":" : ";",
                           kind->name, kind->help);
    }
    return text;
}

static const char *algorithm_help(char *text, size_t bytes)
{
    char all[160], by_nics[80];
    snprintf(
        text, bytes,
        "Barrier algorithm: auto (the fastest as measured), openmpi (Open MPI's function), or %s. "
        "Across nodes, %s are available: by the first NIC that all nodes have, or by the one "
        "whose name follows an @ (tree:4@NAME; see coll_nicbarr_nic for the names)",
        nicbarr_algorithm_list(false, all, sizeof(all)),
        nicbarr_algorithm_list(true, by_nics, sizeof(by_nics)));
    return text;
}

/* Returns the help text of an option. If the table contains NULL, the text depends on the
 * algorithms or on the NICs. */
static const char *help_of(const struct myr_option *option, char *text, size_t bytes)
{
    return NULL != option->help                     ? option->help
           : 0 == strcmp(option->name, "algorithm") ? algorithm_help(text, bytes)
                                                    : nic_help(text, bytes);
}

/* Register one option. The value initially contains the default, which Open MPI overwrites. */
static void register_option(const struct myr_option *option, const char *help, void *value)
{
    mca_base_var_type_t type = MCA_BASE_VAR_TYPE_STRING;
    switch (option->type) {
    case MYR_OPTION_NUMBER:
        type = MCA_BASE_VAR_TYPE_INT;
        *(int *)value = option->usual.number;
        break;
    case MYR_OPTION_FLAG:
        type = MCA_BASE_VAR_TYPE_BOOL;
        *(bool *)value = option->usual.flag;
        break;
    case MYR_OPTION_TEXT:
        *(char **)value = NULL == option->usual.text ? (char *)"" : option->usual.text;
        break;
    }
    (void)mca_base_component_var_register(
        &mca_coll_nicbarr_component.super.collm_version, option->name, help, type, NULL, 0, 0,
        (mca_base_var_info_lvl_t)(option->level - 1), MCA_BASE_VAR_SCOPE_READONLY, value);
}

void nicbarr_parameters_register(void)
{
    char help[1000];
    for (int p = 0; p < PARAMETERS; ++p) {
        register_option(&table[p].option, help_of(&table[p].option, help, sizeof(help)),
                        (uint8_t *)&registered + table[p].offset);
    }
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_option *option = nicbarr_kind(nic)->options;
        for (int o = 0; NULL != option[o].name; ++o) {
            register_option(&option[o], option[o].help, &registered_of[nic][o]);
        }
    }
}

/* ---- reading ---- */

void nicbarr_complain(const char *format, ...)
{
    if (0 == ompi_process_info.my_local_rank) {
        char text[400];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        opal_output(0, "nicbarr: %s", text);
    }
}

static int checked_number(const struct myr_option *option, int given)
{
    const struct nicbarr_number number = nicbarr_number_of("coll_nicbarr", option->name, given);
    if (!number.is_number) {
        nicbarr_complain("coll_nicbarr_%s is \"%.40s\", which is not a number: using %d",
                         option->name, number.text, option->usual.number);
        return option->usual.number;
    }
    if (number.value >= option->least && number.value <= option->most) {
        return given;
    }
    const int bound = number.value < option->least ? option->least : option->most,
              taken = option->amount ? bound : option->usual.number;
    nicbarr_complain("coll_nicbarr_%s is %lld, but must be from %d to %d: using %d", option->name,
                     number.value, option->least, option->most, taken);
    return taken;
}

static void read_option(const struct myr_option *option, const void *from, void *to)
{
    switch (option->type) {
    case MYR_OPTION_NUMBER:
        *(int *)to = checked_number(option, *(const int *)from);
        break;
    case MYR_OPTION_FLAG:
        *(bool *)to = *(const bool *)from;
        break;
    case MYR_OPTION_TEXT: {
        const char *given = *(char *const *)from, *text = NULL == given ? "" : given;
        char why[160];
        if (NULL != option->wrong && option->wrong(text, why, sizeof(why))) {
            nicbarr_complain("coll_nicbarr_%s is wrong, so its NIC is not used: %s", option->name,
                             why);
        }
        *(char **)to = strdup(text);
        break;
    }
    }
}

static void free_option(const struct myr_option *option, void *value)
{
    if (MYR_OPTION_TEXT == option->type) {
        free(*(char **)value);
        *(char **)value = NULL;
    }
}

void nicbarr_parameters_read(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics)
{
    for (int p = 0; p < PARAMETERS; ++p) {
        read_option(&table[p].option, (const uint8_t *)&registered + table[p].offset,
                    (uint8_t *)parameters + table[p].offset);
    }
    if (0 == parameters->tune_share) {
        parameters->tune_share = '\0' == parameters->report[0] ? 1 : 100;
    }
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_option *option = nicbarr_kind(nic)->options;
        for (int o = 0; NULL != option[o].name; ++o) {
            read_option(&option[o], &registered_of[nic][o], &nics->values[nic][o]);
        }
    }
}

static uint64_t add_value(uint64_t digest, const struct myr_option *option, const void *value)
{
    switch (option->type) {
    case MYR_OPTION_NUMBER:
        return nicbarr_digest(digest, value, sizeof(int));
    case MYR_OPTION_FLAG:
        return nicbarr_digest(digest, value, sizeof(bool));
    case MYR_OPTION_TEXT:
        return nicbarr_digest(digest, *(char *const *)value, strlen(*(char *const *)value) + 1);
    }
    return digest;
}

uint64_t nicbarr_parameters_digest(const struct nicbarr_parameters *parameters)
{
    uint64_t digest = 0;
    for (int p = 0; p < PARAMETERS; ++p) {
        if (SHARED == table[p].scope) {
            digest =
                add_value(digest, &table[p].option, (const uint8_t *)parameters + table[p].offset);
        }
    }
    return digest;
}

void nicbarr_parameters_free(struct nicbarr_parameters *parameters, struct nicbarr_nics *nics)
{
    for (int p = 0; p < PARAMETERS; ++p) {
        free_option(&table[p].option, (uint8_t *)parameters + table[p].offset);
    }
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_option *option = nicbarr_kind(nic)->options;
        for (int o = 0; NULL != option[o].name; ++o) {
            free_option(&option[o], &nics->values[nic][o]);
        }
    }
}
