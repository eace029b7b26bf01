/* SPDX-License-Identifier: BSD-3-Clause */
/* See candidate_groups.h. The members agree on failures by means of Open MPI's own functions. */
#include "coll_nicbarr/candidate_groups.h"

#include <string.h>

#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/suspect_nics.h"
#include "coll_nicbarr/groups.h"

struct failures {
    /* For each NIC: 0 if it has not failed on any rank. Otherwise size - r, where r is the lowest
     * rank on which the NIC has failed; this rank prints the reason. */
    double of[NICBARR_NICS_MOST];
    /* For each NIC: non-zero if it failed because packets did not get through. */
    double lost[NICBARR_NICS_MOST];
};

static double failure_mark(ompi_communicator_t *comm)
{
    return ompi_comm_size(comm) - ompi_comm_rank(comm);
}

static void explain_nic(ompi_communicator_t *comm,
                        const struct nicbarr_candidate_groups *contenders, uint32_t nic)
{
    char name[NICBARR_COMM_TEXT];
    const char *why = contenders->errors[nic].text;
    opal_output_verbose(1, mca_coll_nicbarr_component.output,
                        "nicbarr: %s is measured without %s: %s", nicbarr_comm_name(comm, name),
                        nicbarr_kind(nic)->title,
                        '\0' != *why ? why : "its packets do not get through between all nodes");
}

/* Remove the candidates of NICs that have failed on any member. If the packets of a NIC did not get
 * through, this communicator does not try the NIC again, and other communicators do so rarely
 * (suspect_nics.h). */
static void drop_nics(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      struct nicbarr_candidate_groups *contenders, const struct failures *failures)
{
    int kept = 1; /* the first candidate, Open MPI's own function */
    for (int c = 1; c < contenders->count; ++c) {
        if (0 != failures->of[contenders->choice[c].nic]) {
            nicbarr_group_leave(&contenders->group[c]);
            continue;
        }
        if (kept != c) {
            contenders->group[kept] = contenders->group[c];
            contenders->group[c] = (struct myr_nic_group){0};
            contenders->choice[kept] = contenders->choice[c];
        }
        ++kept;
    }
    contenders->count = kept;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        if (0 != failures->of[nic] && failure_mark(comm) == failures->of[nic]) {
            explain_nic(comm, contenders, nic);
        }
        if (0 != failures->lost[nic]) {
            nicbarr_record_nic_test(nic, false);
            (void)nicbarr_shape_without(&module->shape, UINT32_C(1) << nic);
            contenders->tried = true;
        }
    }
}

/* Test whether packets get through in each group. A NIC that has failed once is not tested again,
 * because that takes seconds. */
static int test_groups(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct nicbarr_candidate_groups *contenders)
{
    struct failures failures = {.of = {0}};
    int rc = OMPI_SUCCESS;
    for (int c = 1; OMPI_SUCCESS == rc && c < contenders->count; ++c) {
        const uint32_t nic = contenders->choice[c].nic;
        double *failed = &failures.of[nic];
        if (0 == *failed) {
            rc = nicbarr_synchronise(module, comm);
            const bool good = OMPI_SUCCESS != rc ||
                              nicbarr_group_try(&contenders->group[c], &contenders->errors[nic]);
            *failed = good ? 0 : failure_mark(comm);
            rc = OMPI_SUCCESS == rc ? nicbarr_maximum(module, comm, failed, 1) : rc;
        }
    }
    contenders->tried |= contenders->count > 1;
    if (OMPI_SUCCESS == rc) {
        memcpy(failures.lost, failures.of, sizeof(failures.lost));
        drop_nics(module, comm, contenders, &failures);
        for (int c = 1; c < contenders->count; ++c) {
            nicbarr_record_nic_test(contenders->choice[c].nic, true);
        }
    }
    return rc;
}

int nicbarr_candidate_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  uint32_t unit_most, bool broadcasts,
                                  struct nicbarr_candidate_groups *contenders)
{
    struct nicbarr_joining list[NICBARR_CANDIDATES];
    struct failures failures = {.of = {0}};
    const int count = contenders->count - 1;
    for (int j = 0; j < count; ++j) {
        list[j] = (struct nicbarr_joining){
            .choice = contenders->choice[j + 1],
            .unit_most = unit_most,
            .broadcasts = broadcasts,
            .group = &contenders->group[j + 1],
        };
    }
    int rc = nicbarr_groups_join(module, comm, list, count, contenders->errors);
    for (int j = 0; j < count; ++j) {
        if (list[j].failed) {
            const uint32_t nic = list[j].choice.nic;
            failures.of[nic] = failure_mark(comm);
            failures.lost[nic] = MYR_ERR_GONE == contenders->errors[nic].status;
        }
    }
    rc = OMPI_SUCCESS == rc ? nicbarr_maximum(module, comm, failures.of, NICBARR_NICS_MOST) : rc;
    rc = OMPI_SUCCESS == rc ? nicbarr_maximum(module, comm, failures.lost, NICBARR_NICS_MOST) : rc;
    if (OMPI_SUCCESS == rc) {
        drop_nics(module, comm, contenders, &failures);
    }
    return OMPI_SUCCESS == rc ? test_groups(module, comm, contenders) : rc;
}

void nicbarr_candidate_groups_leave(struct nicbarr_candidate_groups *contenders)
{
    for (int c = 1; c < contenders->count; ++c) {
        nicbarr_group_leave(&contenders->group[c]);
    }
}
