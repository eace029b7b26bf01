/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another release's structures: preloaded into a program, says that Open MPI's communicators have
 * one word more than its headers say, as in 5.0.7. declining.sh runs it.
 */
#include "ompi/release.h"

__attribute__((constructor)) static void enlarge(void)
{
    OBJ_CLASS(ompi_communicator_t)->cls_sizeof += sizeof(void *);
}
