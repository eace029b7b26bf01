/* SPDX-License-Identifier: BSD-3-Clause */
/* See classes.h. */
#include "coll_nicbarr/data/classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/no_memory.h"

void nicbarr_classes_make(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective)
{
    module->ways[collective] = calloc(NICBARR_SIZE_CLASSES, sizeof(struct nicbarr_class));
    if (NULL == module->ways[collective]) {
        nicbarr_end_without_memory(&ompi_mpi_comm_world.comm);
    }
}

int nicbarr_data_one_root(const mca_coll_nicbarr_module_t *module,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    const int seen = module->ways[collective][size_class].root_seen;
    return seen > 0 ? seen - 1 : NICBARR_NO_ROOT;
}

const char *nicbarr_collective_name(enum nicbarr_collective collective)
{
    static const char *const names[] = {
        "MPI_Allreduce",     "MPI_Reduce",    "MPI_Bcast",  "MPI_Allreduce (user)",
        "MPI_Reduce (user)", "MPI_Allgather", "MPI_Gather", "MPI_Scatter"};
    return names[collective];
}

const char *nicbarr_class_collective(const mca_coll_nicbarr_module_t *module,
                                     enum nicbarr_collective collective, uint32_t size_class,
                                     char text[NICBARR_CLASS_TEXT])
{
    const bool one_root = NICBARR_NO_ROOT != nicbarr_data_one_root(module, collective, size_class);
    snprintf(text, NICBARR_CLASS_TEXT, "%s%s", nicbarr_collective_name(collective),
             one_root ? " (one root)" : "");
    return text;
}

const char *nicbarr_class_name(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               char text[NICBARR_CLASS_TEXT])
{
    const size_t length = strlen(nicbarr_class_collective(module, collective, size_class, text));
    snprintf(text + length, NICBARR_CLASS_TEXT - length, " up to %u bytes",
             nicbarr_size_classes[size_class]);
    return text;
}

struct nicbarr_choice nicbarr_way_choice(enum nicbarr_collective collective, enum nicbarr_way way)
{
    const bool ring = nicbarr_data_by_ring(collective);
    return (struct nicbarr_choice){NICBARR_WAY_NICBARR != way ? NICBARR_OPENMPI
                                   : ring                     ? NICBARR_RING
                                                              : NICBARR_EXCHANGE,
                                   0, 0};
}

uint64_t nicbarr_data_kv_key(const mca_coll_nicbarr_module_t *module,
                             enum nicbarr_collective collective, uint32_t size_class)
{
    const bool one_root = NICBARR_NO_ROOT != nicbarr_data_one_root(module, collective, size_class);
    const uint32_t what[] = {(uint32_t)collective, size_class, module->across, one_root};
    const uint64_t digest = nicbarr_digest(nicbarr_shape_key(&module->shape), what, sizeof(what));
    return digest | UINT64_C(1) << 63; /* like the key of a shape */
}
