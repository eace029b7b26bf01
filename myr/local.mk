## SPDX-License-Identifier: BSD-3-Clause
## libmyr for programs without MPI: a shared library over the host library. Symbols are hidden by default (WARNINGS
## in configure.ac), so internal calls are direct; myr.h alone declares visible functions, and libmyr.map lists them.
lib_LTLIBRARIES = myr/libmyr.la
myr_libmyr_la_SOURCES = \
    myr/myr.h myr/inside.h myr/host.c myr/settings.c myr/barrier.c \
    coll_nicbarr/nics.h coll_nicbarr/nics.c coll_nicbarr/kinds.c \
    coll_nicbarr/census.h coll_nicbarr/census.c \
    coll_nicbarr/schedule.h coll_nicbarr/schedule.c
myr_libmyr_la_LIBADD = libmyr/libmyr.la
## CURRENT:REVISION:AGE. Only code has changed: REVISION + 1. Functions were added: CURRENT + 1, 0, AGE + 1.
## A function was removed or means something else: CURRENT + 1, 0, 0, which is another libmyr.so.N.
myr_libmyr_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-z,defs -Wl,--version-script=$(srcdir)/myr/libmyr.map
EXTRA_myr_libmyr_la_DEPENDENCIES = myr/libmyr.map
EXTRA_DIST += myr/libmyr.map

myrincludedir = $(includedir)/myr
myrinclude_HEADERS = myr/myr.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = myr/myr.pc
