/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a communicator; see shape.h. */
#include "coll_nicbarr/shape.h"

#include "coll_nicbarr/digest.h"

uint64_t nicbarr_shape_key(const struct nicbarr_shape *shape)
{
    const uint32_t fields[] = {shape->nodes,      shape->processes, shape->homes,
                               shape->processors, shape->players,   shape->oversubscribed};
    return UINT64_C(1) << 63 | nicbarr_digest(0, fields, sizeof(fields));
}
