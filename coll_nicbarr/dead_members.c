/* SPDX-License-Identifier: BSD-3-Clause */
/* See dead_members.h. */
#include "coll_nicbarr/dead_members.h"

#include "coll_nicbarr/failures.h"
#include "coll_nicbarr/peers.h"
#include "ompi/runtime/mpiruntime.h"
#include "os/clock.h"

enum { LAUNCHER_MS = 1000 };

/* The time at which the first dead process was detected, or 0 if none was detected. Later deaths do
 * not change this time, because a launcher that has not ended the job after the first death will
 * not end it at all. */
static _Atomic uint64_t detected_ms;

static bool has_died(const struct nicbarr_peer *peer, uint32_t own_segment)
{
    const struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    return NULL != peer && peer->segment == own_segment &&
           0 != myr_segment_pid_of(segment, peer->number) &&
           myr_segment_gone(segment, peer->number, false);
}

static bool has_launcher_had_time(void)
{
    const uint64_t now_ms = os_now_ms();
    uint64_t first_ms = 0;
    return !atomic_compare_exchange_strong(&detected_ms, &first_ms, now_ms) &&
           now_ms - first_ms >= LAUNCHER_MS;
}

int nicbarr_dead_member(ompi_communicator_t *comm)
{
    const struct nicbarr_peer *own = nicbarr_peer(OMPI_PROC_MY_NAME);
    if (NULL != nicbarr_failure || NULL == own || 0 == own->segment) {
        return -1;
    }
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const struct nicbarr_peer *peer = nicbarr_peer(&name);
        if (has_died(peer, own->segment)) {
            return has_launcher_had_time() ? r : -1;
        }
    }
    return -1;
}

void nicbarr_end_if_member_died(ompi_communicator_t *comm, const char *call)
{
    const int rank = nicbarr_dead_member(comm);
    char name[NICBARR_COMM_TEXT];
    if (rank < 0) {
        return;
    }
    if (nicbarr_warn_once(NICBARR_MESSAGE_DEAD_MEMBER)) {
        opal_output(0,
                    "nicbarr: %s on %s cannot complete: rank %d has died, or has exited without "
                    "calling MPI_Finalize. The job is aborted.",
                    call, nicbarr_comm_name(comm, name), rank);
    }
    (void)ompi_mpi_abort(comm, NICBARR_PROC_FAILED);
}
