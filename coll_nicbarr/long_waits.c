/* SPDX-License-Identifier: BSD-3-Clause */
/* See long_waits.h. The MPI call is determined from the call stack, so that the fast path of a
 * collective need not store it. */
#include "coll_nicbarr/long_waits.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "coll_nicbarr/dead_members.h"

enum { FRAMES = 48 };

/* Returns the name of the MPI function that a symbol denotes (MPI_... or PMPI_...), or NULL if it
 * denotes none. */
static const char *mpi_name(const char *symbol)
{
    if (NULL == symbol) {
        return NULL;
    }
    symbol += 'P' == symbol[0];
    return 0 == strncmp(symbol, "MPI_", 4) ? symbol : NULL;
}

/* Describe a code address for addr2line: "file+0x1234 (function)". */
static void describe_code(const void *address, char *text, size_t room)
{
    Dl_info about;
    if (0 == dladdr(address, &about) || NULL == about.dli_fname) {
        return;
    }
    const char *file = strrchr(about.dli_fname, '/');
    const int length = snprintf(text, room, "%s+0x%tx", NULL == file ? about.dli_fname : file + 1,
                                (const char *)address - (const char *)about.dli_fbase);
    if (NULL != about.dli_sname && length > 0 && (size_t)length < room) {
        snprintf(text + length, room - (size_t)length, " (%s)", about.dli_sname);
    }
}

/* Some MPI functions, such as MPI_Comm_dup, call others. The outermost one is the program's
 * call. */
void nicbarr_find_call(char *call, char *caller)
{
    void *frame[FRAMES];
    call[0] = caller[0] = '\0';
    for (int f = backtrace(frame, FRAMES) - 2; f >= 0; --f) {
        Dl_info about;
        const char *name = 0 == dladdr(frame[f], &about) ? NULL : mpi_name(about.dli_sname);
        if (NULL != name) {
            snprintf(call, NICBARR_CALL_TEXT, "%s", name);
            describe_code((const char *)frame[f + 1] - 1, caller, NICBARR_CALLER_TEXT);
            return;
        }
    }
}

/* Write the members' ranks in the job as ranges, in the order of their ranks in `comm`. The text is
 * empty if the ranges do not fit, or if the members belong to several jobs. */
static void list_ranks(ompi_communicator_t *comm, char *text, size_t room)
{
    const int size = ompi_comm_size(comm);
    const uint32_t job = OMPI_PROC_MY_NAME->jobid;
    size_t length = 0;
    for (int r = 0, first = 0; r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const bool more =
            r + 1 < size &&
            name.vpid + 1 == ompi_group_get_proc_name(comm->c_local_group, r + 1).vpid;
        if (name.jobid != job) {
            text[0] = '\0';
            return;
        }
        if (more) {
            continue;
        }
        const uint32_t from = ompi_group_get_proc_name(comm->c_local_group, first).vpid;
        length +=
            (size_t)snprintf(text + length, room - length, from == name.vpid ? "%s%u" : "%s%u-%u",
                             0 == first ? "" : ",", from, name.vpid);
        if (length >= room) {
            text[0] = '\0';
            return;
        }
        first = r + 1;
    }
}

struct myr_shown_wait *nicbarr_wait_show(ompi_communicator_t *comm, const struct myr_key *key)
{
    struct myr_shown_wait wait = {.group = {key->scope, key->id, key->members},
                                  .size = (uint32_t)ompi_comm_size(comm)};
    char name[NICBARR_COMM_TEXT];
    snprintf(wait.name, sizeof(wait.name), "%s", nicbarr_comm_name(comm, name));
    nicbarr_find_call(wait.call, wait.caller);
    list_ranks(comm, wait.ranks, sizeof(wait.ranks));
    return myr_wait_show(mca_coll_nicbarr_component.segment, &wait);
}

struct myr_shown_wait *nicbarr_long_wait(const struct myr_watch *watch, uint32_t times)
{
    if (times > 1) {
        char call[NICBARR_CALL_TEXT], caller[NICBARR_CALLER_TEXT];
        nicbarr_find_call(call, caller);
        nicbarr_end_if_member_died(watch->owner, '\0' == call[0] ? "a collective" : call);
        return NULL;
    }
    const struct myr_record *record = myr_record_of(watch->sleepers);
    const struct myr_key key = {record->key[0], record->key[1], record->key[2], record->key[3]};
    return nicbarr_wait_show(watch->owner, &key);
}
