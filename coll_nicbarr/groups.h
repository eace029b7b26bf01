/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins groups of NICs for a communicator, many groups at a time, in the two phases that nic_kind.h
 * describes.
 *
 * Called by across.c, candidate_groups.c, rooted.c and round_trips.c, within collectives of the
 * communicator. */
#ifndef NICBARR_GROUPS_H
#define NICBARR_GROUPS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A group to be joined. All members list the same groups in the same order. */
struct nicbarr_joining {
    struct nicbarr_choice choice; /* algorithm and NIC; for a ping-pong, only the NIC */
    uint32_t peers;  /* for a ping-pong, which has one process per node: the highest participating
                        node; otherwise 0 */
    uint64_t number; /* its number among the module's groups; set on joining */
    uint32_t unit_most;          /* bytes of a node's block, if it carries data; see nic_group.h */
    bool broadcasts;             /* the group is for broadcasts */
    struct myr_nic_group *group; /* the result; NULL: this process does not participate */
    bool failed;                 /* joining failed here; the message is in errors[choice.nic] */
};

/* Join the groups of `list`. If any of the NICs has to exchange data with its peers, the call is
 * collective over `comm`; otherwise it sends no messages. Joining a group may fail on some
 * processes and succeed on others; errors[n] is the error of NIC n. Returns Open MPI's error. */
int nicbarr_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_joining *list, int count,
                        struct myr_error errors[NICBARR_NICS_MOST]);

/* Leave the group, if it was joined. */
void nicbarr_group_leave(struct myr_nic_group *group);

/* Test the group by one barrier or ping-pong, which all members enter at the same time. Returns
 * false, with a message, if packets do not get through. A host that is merely late does not make
 * the test fail. Groups for data and for broadcasts are tested with their longest packets, since
 * the path MTU may be too small for them. */
bool nicbarr_group_try(struct myr_nic_group *group, struct myr_error *error);

#endif
