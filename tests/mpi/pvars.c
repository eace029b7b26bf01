/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the NICs' counters that users and tools read as MPI performance variables. Each must have a
 * description, and the counter of a NIC's barriers must grow by the number that the NIC has
 * executed.
 *
 * With --done the NIC must have executed all barriers (the job is across nodes, and an algorithm is
 * forced); without it the number is not checked. The other options select the calls:
 *
 * - With --ibarrier or --persistent no MPI_Barrier precedes the calls: for --ibarrier an
 *   MPI_Allreduce sets up the communicator, and a persistent barrier does so itself.
 * - With --ibcast an MPI_Bcast sets up the communicator, and the NIC counts the broadcasts that
 *   arrive.
 * - With --iallreduce an MPI_Allreduce sets it up; the results return by broadcasts, which are
 *   counted.
 * - Together with --persistent, these operations are persistent.
 */
#include "common.h"

#include <stdio.h>
#include <string.h>

static const char *nic = "soft";
static long done, nonblocking, persistent, broadcast, reduction;
static const struct test_option options[] = {
    {"--nic", OPTION_TEXT, &nic, "the NIC whose counter is read (soft)"},
    {"--done", OPTION_FLAG, &done, "the NIC does the barriers, so that they must be counted"},
    {"--ibarrier", OPTION_FLAG, &nonblocking, "they are MPI_Ibarrier"},
    {"--persistent", OPTION_FLAG, &persistent, "they are persistent"},
    {"--ibcast", OPTION_FLAG, &broadcast, "they are MPI_Ibcast, and broadcasts are counted"},
    {"--iallreduce", OPTION_FLAG, &reduction,
     "they are MPI_Iallreduce, and broadcasts are counted"},
};

enum { BARRIERS = 200, TEXT = 256, LEAST = 10 };
static const char prefix[] = "coll_nicbarr_";

/* Returns whether variable `index` is one of nicbarr's, and checks its description if so. */
static bool ours(int index, char name[TEXT])
{
    char text[TEXT];
    int name_bytes = TEXT, text_bytes = TEXT, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_SUCCESS != MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity, &class, &type,
                                           &values, text, &text_bytes, &bind, &readonly,
                                           &continuous, &atomic) ||
        0 != strncmp(name, prefix, sizeof(prefix) - 1)) {
        return false;
    }
    TEST_CHECK(MPI_T_PVAR_CLASS_COUNTER == class, name, "its class is %d", class);
    TEST_CHECK(MPI_UNSIGNED_LONG_LONG == type, name, "it is of another type");
    TEST_CHECK(MPI_T_BIND_NO_OBJECT == bind, name, "it is bound to something");
    TEST_CHECK(readonly && continuous, name, "it is not read only, or not continuous");
    TEST_CHECK(strlen(text) > 10, name, "it has no description");
    return true;
}

/* Returns the index of the variable that counts the NIC's barriers. Checks all of nicbarr's. */
static int read_counters(void)
{
    char name[TEXT], wanted[TEXT];
    int count = 0, found = 0, barriers = -1;
    snprintf(wanted, sizeof(wanted), "%s%s_%s", prefix, nic,
             broadcast || reduction ? "broadcasts" : "barriers");
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        if (ours(i, name)) {
            ++found;
            if (0 == strcmp(name, wanted)) {
                barriers = i;
            }
        }
    }
    TEST_CHECK(found >= LEAST, "list", "there are %d variables of nicbarr", found);
    TEST_CHECK(barriers >= 0, "list", "none of them is %s", wanted);
    return barriers;
}

static unsigned long long read_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    const int rc = MPI_T_pvar_read(session, handle, &value);
    TEST_CHECK(MPI_SUCCESS == rc, "barriers", "cannot be read: %d", rc);
    return value;
}

/* ---- barriers ---- */

static MPI_Request request = MPI_REQUEST_NULL; /* the persistent one */

static char data[64], sum[64];

static void one_barrier(void)
{
    MPI_Request started;
    if (persistent) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (nonblocking) {
        MPI_Ibarrier(MPI_COMM_WORLD, &started);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
    } else if (broadcast) {
        MPI_Ibcast(data, sizeof(data), MPI_BYTE, 0, MPI_COMM_WORLD, &started);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
    } else if (reduction) {
        MPI_Iallreduce(data, sum, sizeof(data), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &started);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Set up the NICs' groups. Returns false if this MPI has no such barriers. */
static bool set_up(void)
{
    if (persistent) {
#ifdef PERSISTENT
        if (broadcast) {
            PERSISTENT(Bcast_init)
            (data, sizeof(data), MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        } else if (reduction) {
            PERSISTENT(Allreduce_init)
            (data, sum, sizeof(data), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        } else {
            PERSISTENT(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        }
#else
        return false;
#endif
    }
    one_barrier();
    if (broadcast && !persistent) {
        MPI_Bcast(data, sizeof(data), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (nonblocking || (reduction && !persistent)) {
        MPI_Allreduce(data, sum, sizeof(data), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
    return true;
}

/* Synchronise the ranks; otherwise a root would start while others have not read the counter
 * yet. */
static void meet(void)
{
    if (broadcast || reduction) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int provided, values;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    char note[60];
    test_begin(argc, argv, "pvars", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    TEST_CHECK(MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "init", "it fails");
    const int barriers = read_counters();
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_session_create(&session), "session", "it fails");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, barriers, NULL, &handle, &values),
               "barriers", "no handle can be allocated");
    TEST_CHECK(1 == values, "barriers", "it has %d values", values);

    const bool can = set_up();
    meet();
    const unsigned long long before = read_value(session, handle);
    meet();
    for (int i = 0; can && i < BARRIERS; ++i) {
        one_barrier();
    }
    const unsigned long long counted = read_value(session, handle) - before;
    TEST_CHECK(!done || !can || counted >= BARRIERS, "barriers", "%llu were counted, %d done",
               counted, (int)BARRIERS);

    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    snprintf(note, sizeof(note), "counted %llu", counted);
    return test_end(note);
}
