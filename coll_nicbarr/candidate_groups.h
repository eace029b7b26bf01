/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The candidates of a contest across nodes: a group of NICs for each, whose first epoch may fail.
 *
 * A kind of NIC may be unable to have such a group, or its packets may not come through. Then all
 * members drop all candidates of that kind, and the others go on. Where packets do not come
 * through, the module's shape has that kind no more, unless it was the only one: what takes seconds
 * is not tried again.
 *
 * Called by tune.c (barriers) and data_across.c (collectives that carry data), with module->tuning
 * set.
 */
#ifndef NICBARR_CANDIDATE_GROUPS_H
#define NICBARR_CANDIDATE_GROUPS_H

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_candidate_groups {
    int count; /* at least 1 */
    struct nicbarr_choice choice[NICBARR_CANDIDATES];
    struct myr_nic_group group[NICBARR_CANDIDATES]; /* of all but the first, Open MPI's own */
    struct myr_error errors[NICBARR_NICS_MOST];     /* why one could not be had */
    bool tried; /* all members know whether packets come through */
};

/*
 * Join a group for each candidate, and try them: `count` and `choice` say which are wanted, then
 * which are left. `unit_most` and `broadcasts` as in nicbarr_joining. Collective over `comm`; Open
 * MPI's error otherwise. The groups are the caller's in any case.
 */
int nicbarr_candidate_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  uint32_t unit_most, bool broadcasts,
                                  struct nicbarr_candidate_groups *entrants);

/* Leave all groups that are left. */
void nicbarr_candidate_groups_leave(struct nicbarr_candidate_groups *entrants);

#endif
