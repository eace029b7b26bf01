/* SPDX-License-Identifier: BSD-3-Clause */
/* See known.h. */
#include "coll_nicbarr/choice/known.h"

#include <stdio.h>

#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/files/cache.h"

uint64_t nicbarr_choice_encode(struct nicbarr_choice choice, enum nicbarr_source source)
{
    return UINT64_C(1) << 63 | (uint64_t)choice.nic << 48 | (uint64_t)source << 40 |
           (uint64_t)choice.algorithm << 32 | choice.parameter;
}

enum nicbarr_source nicbarr_choice_decode(uint64_t word, struct nicbarr_choice *choice)
{
    choice->parameter = (uint32_t)word;
    choice->algorithm = (enum nicbarr_algorithm)(word >> 32 & 0xff);
    choice->nic = (uint32_t)(word >> 48 & 0xff);
    return (enum nicbarr_source)(word >> 40 & 0xff);
}

uint64_t nicbarr_choice_of_job(const struct nicbarr_shape *shape)
{
    struct nicbarr_choice choice;
    const uint64_t value = myr_kv_get(mca_coll_nicbarr_component.segment, nicbarr_shape_key(shape));
    return 0 == value || NICBARR_UNDECIDED == nicbarr_choice_decode(value, &choice) ? 0 : value;
}

void nicbarr_store_choice(uint64_t key, struct nicbarr_choice choice, bool proven)
{
    myr_kv_set(mca_coll_nicbarr_component.segment, key,
               nicbarr_choice_encode(choice, proven ? NICBARR_FROM_JOB : NICBARR_FROM_TRIAL));
}

/* Replace the default NIC of a choice across nodes by the first usable NIC. */
static struct nicbarr_choice resolve_nic(const struct nicbarr_shape *shape,
                                         struct nicbarr_choice choice)
{
    if (0 == choice.nic && shape->nodes > 1 && nicbarr_algorithm_messages(choice.algorithm)) {
        choice.nic = (uint32_t)__builtin_ctz(shape->nics);
    }
    return choice;
}

const char *nicbarr_forced_unusable(const struct nicbarr_shape *shape)
{
    static char why[300];
    char name[NICBARR_CHOICE_TEXT];
    const struct nicbarr_choice forced = mca_coll_nicbarr_component.forced;
    if (NICBARR_ALGORITHMS == forced.algorithm ||
        nicbarr_runnable(shape, resolve_nic(shape, forced)) ||
        1 == shape->processes) { /* a single process needs no barrier */
        return NULL;
    }
    const int length = snprintf(why, sizeof(why), "coll_nicbarr_algorithm is %s, but ",
                                nicbarr_choice_name(forced, name));
    char *rest = why + length;
    const size_t room = sizeof(why) - (size_t)length;
    if (1 == shape->nodes) {
        snprintf(rest, room, "on one node no NIC is needed");
    } else if (0 == forced.nic) {
        snprintf(rest, room, "that is for processes on one node only");
    } else {
        const struct myr_nic_kind *kind = nicbarr_kind(forced.nic);
        snprintf(rest, room, "not all of the nodes have %s%s%s%s; see also coll_nicbarr_nic",
                 kind->title, NULL == kind->absent ? "" : " (",
                 NULL == kind->absent ? "" : kind->absent, NULL == kind->absent ? "" : ")");
    }
    return why;
}

enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (NICBARR_ALGORITHMS != component->forced.algorithm) {
        *choice = resolve_nic(shape, component->forced);
        return NICBARR_FORCED;
    }
    const uint64_t value = myr_kv_get(component->segment, nicbarr_shape_key(shape));
    if (0 != value) {
        return nicbarr_choice_decode(value, choice);
    }
    if (!nicbarr_cache_ready()) {
        *choice = nicbarr_default_choice(shape);
        return NICBARR_UNDECIDED;
    }
    bool sure = false;
    if (!nicbarr_cache_read(shape, NULL, choice, &sure)) {
        *choice = nicbarr_default_choice(shape);
    } else if (0 == component->parameters.tune_budget) {
        sure = true; /* without a budget the confidence cannot increase */
    } else if (!sure && (shape->nodes > 1 || NICBARR_OPENMPI == choice->algorithm)) {
        /* Until the choice is final, the default is used. Across nodes this is Open MPI's own
         * function, because groups are joined only for candidates that are measured or known to be
         * the best. On one node it is nicbarr's barrier, because the epoch of its group serves as
         * the count of barriers, so barriers by Open MPI's own function would not be counted. */
        *choice = nicbarr_default_choice(shape);
    }
    const enum nicbarr_source source = sure ? NICBARR_FROM_CACHE : NICBARR_UNDECIDED;
    /* Later communicators then need no lookup in the cache. A choice that another communicator has
     * measured and stored meanwhile is kept. */
    (void)myr_kv_add(component->segment, nicbarr_shape_key(shape),
                     nicbarr_choice_encode(*choice, source));
    return source;
}

bool nicbarr_watched(enum nicbarr_source source)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    return parameters->tune_watch && 0 != parameters->tune_budget && NICBARR_FORCED != source &&
           NICBARR_UNDECIDED != source;
}
