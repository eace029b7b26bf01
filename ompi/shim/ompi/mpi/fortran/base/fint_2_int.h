/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's ompi/op/op.h includes this header, and nobody installs it. Of all that it has, op.h
 * uses one thing, for user-defined operations in Fortran: an integer of C as one of Fortran.
 */
#ifndef NICBARR_SHIM_FINT_2_INT_H
#define NICBARR_SHIM_FINT_2_INT_H

#define OMPI_INT_2_FINT(integer) ((MPI_Fint)(integer))

#endif
