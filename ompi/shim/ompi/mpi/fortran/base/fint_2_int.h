/* SPDX-License-Identifier: BSD-3-Clause */
/* A replacement for a header that Open MPI's ompi/op/op.h includes, but no package installs. op.h
 * only needs the conversion of a C integer to a Fortran one, for user-defined operations in
 * Fortran. */
#ifndef NICBARR_SHIM_FINT_2_INT_H
#define NICBARR_SHIM_FINT_2_INT_H

#define OMPI_INT_2_FINT(integer) ((MPI_Fint)(integer))

#endif
