## SPDX-License-Identifier: BSD-3-Clause
## The MTL component.
component_LTLIBRARIES += mtl_myr/mca_mtl_myr.la
mtl_myr_mca_mtl_myr_la_SOURCES = \
    mtl_myr/mtl_myr.h \
    mtl_myr/component.c \
    mtl_myr/peers.c \
    mtl_myr/messages.c \
    mtl_myr/progress.c \
    mtl_myr/pvars.c \
    mtl_myr/runner.c
mtl_myr_mca_mtl_myr_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
mtl_myr_mca_mtl_myr_la_CFLAGS = $(AM_CFLAGS) $(OMPI_CFLAGS)
mtl_myr_mca_mtl_myr_la_LDFLAGS = -module -avoid-version -no-undefined -Wl,-z,defs $(stay_loaded) $(OMPI_LDFLAGS) \
    -export-symbols-regex '^mca_mtl_myr_component$$'
mtl_myr_mca_mtl_myr_la_LIBADD = libmyr/libmyr.la ompi/libompi_release.la $(OMPI_LIBS)
