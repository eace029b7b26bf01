/* SPDX-License-Identifier: BSD-3-Clause */
/* For a contest across nodes, joins a group of NICs for each candidate, and tests each group by a
 * first epoch. If this epoch fails, the program is not affected.
 *
 * If a kind of NIC cannot form a group, or if its packets do not get through, all members drop the
 * candidates of this kind and continue with the others. If packets were lost, the members also
 * remove this kind from the communicator's shape (shape.h), unless the shape contains no other
 * kind. A removed kind is not tried again, because each attempt takes seconds.
 *
 * Called by tune.c and watch.c for barriers, and by data_across.c for collectives that carry
 * data. */
#ifndef NICBARR_CANDIDATE_GROUPS_H
#define NICBARR_CANDIDATE_GROUPS_H

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_candidate_groups {
    int count; /* number of candidates, at least 1 */
    struct nicbarr_choice choice[NICBARR_CANDIDATES];
    /* the candidates' groups; the first candidate, Open MPI's own function, has none */
    struct myr_nic_group group[NICBARR_CANDIDATES];
    struct myr_error errors[NICBARR_NICS_MOST]; /* by NIC: why a group could not be formed */
    bool tried; /* the groups were tested, so all members know whether packets get through */
};

/* Join and test a group for each candidate. On entry, `count` and `choice` list the candidates to
 * be joined; on return, they list the candidates whose groups work. `unit_most` and `broadcasts`
 * are as in nicbarr_joining. Collective over `comm`; returns Open MPI's error. The caller must
 * leave the groups even after an error. */
int nicbarr_candidate_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  uint32_t unit_most, bool broadcasts,
                                  struct nicbarr_candidate_groups *contenders);

/* Leave all remaining groups. */
void nicbarr_candidate_groups_leave(struct nicbarr_candidate_groups *contenders);

#endif
