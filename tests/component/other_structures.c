/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library makes Open MPI's communicators appear one word longer than
 * its headers say, as in 5.0.7. declining.sh runs it to test that the component declines an Open
 * MPI whose structures differ.
 */
#include "ompi/release.h"

__attribute__((constructor)) static void enlarge(void)
{
    OBJ_CLASS(ompi_communicator_t)->cls_sizeof += sizeof(void *);
}
