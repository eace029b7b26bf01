## SPDX-License-Identifier: BSD-3-Clause
## The BTL component.
component_LTLIBRARIES += btl_myr/mca_btl_myr.la
btl_myr_mca_btl_myr_la_SOURCES = \
    btl_myr/btl_myr.h \
    btl_myr/component.c \
    btl_myr/module.c \
    btl_myr/endpoint.c \
    btl_myr/fragment.c \
    btl_myr/send.c \
    btl_myr/progress.c \
    btl_myr/direct.c \
    btl_myr/backlog.c \
    btl_myr/onesided.c \
    btl_myr/held.c
btl_myr_mca_btl_myr_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
btl_myr_mca_btl_myr_la_CFLAGS = $(AM_CFLAGS) $(OMPI_CFLAGS)
btl_myr_mca_btl_myr_la_LDFLAGS = -module -avoid-version -no-undefined -Wl,-z,defs $(stay_loaded) $(OMPI_LDFLAGS) \
    -export-symbols-regex '^mca_btl_myr_component$$'
btl_myr_mca_btl_myr_la_LIBADD = libmyr/libmyr.la ompi/libompi_release.la $(OMPI_LIBS)
