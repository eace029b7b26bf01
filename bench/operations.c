/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations by name: see operations.h.
 */
#include "operations.h"

#include <string.h>

const struct operation_traits operations[OPERATION_NONE] = {
    [OPERATION_BARRIER] = {"barrier", 0, false, false},
    [OPERATION_IBARRIER] = {"ibarrier", 0, true, false},
    [OPERATION_PERSISTENT] = {"persistent", 0, false, false},
    [OPERATION_ALLREDUCE] = {"allreduce", sizeof(float), false, true},
    [OPERATION_IALLREDUCE] = {"iallreduce", sizeof(float), true, true},
    [OPERATION_REDUCE] = {"reduce", sizeof(float), false, true},
    [OPERATION_BCAST] = {"bcast", 1, false, true},
    [OPERATION_ALLGATHER] = {"allgather", 1, false, true},
    [OPERATION_GATHER] = {"gather", 1, false, true},
    [OPERATION_SCATTER] = {"scatter", 1, false, true},
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
