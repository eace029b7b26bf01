/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component must decline an Open MPI with other structures: preloaded into a program, this
 * makes Open MPI's communicators appear one word longer than its headers say, as in 5.0.7.
 * declining.sh runs it.
 */
#include "ompi/release.h"

__attribute__((constructor)) static void enlarge(void)
{
    OBJ_CLASS(ompi_communicator_t)->cls_sizeof += sizeof(void *);
}
