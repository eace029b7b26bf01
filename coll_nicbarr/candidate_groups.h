/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidates of a contest across nodes: a group of NICs for each, whose first epoch may fail.
 *
 * A kind of NIC may be unable to form such a group, or its packets may not get through. Then all
 * members drop all candidates of that kind, and continue with the others. If packets do not get
 * through, the kind is removed from the module's shape, unless it is the only one, because such an
 * attempt takes seconds and is not to be repeated.
 *
 * Called by tune.c (barriers) and data_across.c (collectives that carry data), with module->tuning
 * set. */
#ifndef NICBARR_CANDIDATE_GROUPS_H
#define NICBARR_CANDIDATE_GROUPS_H

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_candidate_groups {
    int count; /* at least 1 */
    struct nicbarr_choice choice[NICBARR_CANDIDATES];
    struct myr_nic_group group[NICBARR_CANDIDATES]; /* of all but the first, Open MPI's own */
    struct myr_error errors[NICBARR_NICS_MOST];     /* why one could not be formed */
    bool tried; /* all members know whether packets get through */
};

/* Join a group for each candidate, and try them: `count` and `choice` are the wanted ones on entry,
 * the remaining ones on return. `unit_most` and `broadcasts` as in nicbarr_joining. Collective over
 * `comm`; returns Open MPI's error. The caller owns the groups in any case. */
int nicbarr_candidate_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  uint32_t unit_most, bool broadcasts,
                                  struct nicbarr_candidate_groups *contenders);

/* Leave all remaining groups. */
void nicbarr_candidate_groups_leave(struct nicbarr_candidate_groups *contenders);

#endif
