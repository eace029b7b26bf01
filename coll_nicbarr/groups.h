/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of NICs for a communicator: joined many at a time, in the two phases of nic_kind.h.
 *
 * Called by across.c, candidate_groups.c and round_trips.c, within collectives of the communicator.
 */
#ifndef NICBARR_GROUPS_H
#define NICBARR_GROUPS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A group to be joined. All members name the same groups in the same order. */
struct nicbarr_joining {
    struct nicbarr_choice choice; /* what it plays, and on which NIC; of a ping-pong, the NIC */
    uint32_t
        peers; /* of a ping-pong between one process each of nodes 0 to `peers`; 0: a barrier */
    uint64_t number;             /* tells the module's groups apart; filled in by joining */
    uint32_t unit_most;          /* bytes of a node's block, if it carries data; see nic_group.h */
    bool broadcasts;             /* that is what it is for */
    struct myr_nic_group *group; /* gets it; NULL: this process has no part in it */
    bool failed;                 /* it was not had here; with a line in errors[choice.nic] */
};

/*
 * Join them. Collective over `comm` where a kind of NIC has something to tell the others; else no
 * message is sent, and processes need not agree on what fails. `errors` is by NIC. Returns Open
 * MPI's error.
 */
int nicbarr_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_joining *list, int count,
                        struct myr_error errors[NICBARR_NICS_MOST]);

/* Leave, if it was joined. */
void nicbarr_group_leave(struct myr_nic_group *group);

/* One barrier, or ping-pong, that all enter at once and that may fail: false, with a line, if
 * nothing comes through. A host that is only late is waited for. */
bool nicbarr_group_try(struct myr_nic_group *group, struct myr_error *error);

#endif
