/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of operations; see operations.h.
 */
#include "operations.h"

#include <string.h>

const struct operation_traits operations[OPERATION_NONE] = {
    [OPERATION_BARRIER] = {"barrier", 0, false, false},
    [OPERATION_IBARRIER] = {"ibarrier", 0, true, false},
    [OPERATION_PERSISTENT] = {"persistent", 0, false, false},
    [OPERATION_ALLREDUCE] = {"allreduce", sizeof(float), false, true},
    [OPERATION_IALLREDUCE] = {"iallreduce", sizeof(float), true, true},
    [OPERATION_ALLREDUCE_INIT] = {"allreduce_init", sizeof(float), false, true},
    [OPERATION_REDUCE] = {"reduce", sizeof(float), false, true},
    [OPERATION_REDUCE_INIT] = {"reduce_init", sizeof(float), false, true},
    [OPERATION_BCAST] = {"bcast", 1, false, true},
    [OPERATION_IBCAST] = {"ibcast", 1, true, true},
    [OPERATION_BCAST_INIT] = {"bcast_init", 1, false, true},
    [OPERATION_ALLGATHER] = {"allgather", 1, false, true},
    [OPERATION_IALLGATHER] = {"iallgather", 1, true, true},
    [OPERATION_ALLGATHER_INIT] = {"allgather_init", 1, false, true},
    [OPERATION_GATHER] = {"gather", 1, false, true},
    [OPERATION_IGATHER] = {"igather", 1, true, true},
    [OPERATION_GATHER_INIT] = {"gather_init", 1, false, true},
    [OPERATION_SCATTER] = {"scatter", 1, false, true},
    [OPERATION_ISCATTER] = {"iscatter", 1, true, true},
    [OPERATION_SCATTER_INIT] = {"scatter_init", 1, false, true},
    [OPERATION_DUP] = {"dup", 0, false, true},
};

bool operation_find(const char *name, enum operation *operation)
{
    for (int o = 0; o < OPERATION_NONE; o++)
        if (!strcmp(name, operations[o].name)) {
            *operation = (enum operation)o;
            return true;
        }
    return false;
}
