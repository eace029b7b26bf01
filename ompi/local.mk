## SPDX-License-Identifier: BSD-3-Clause
## The code that depends on the Open MPI release.
noinst_LTLIBRARIES += ompi/libompi_release.la
ompi_libompi_release_la_SOURCES = \
    ompi/release.h \
    ompi/modex.h ompi/modex.c \
    ompi/node.h ompi/node.c \
    ompi/nic_options.h ompi/nic_options.c \
    ompi/number.h ompi/number.c \
    ompi/pvars.h ompi/pvars.c \
    ompi/survival.h ompi/survival.c \
    ompi/exits.h ompi/exits.c
ompi_libompi_release_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)

## Open MPI closes and unloads its components before it stops its own threads, which may still execute the
## components' code. Therefore nicbarr's components stay loaded until the process ends. They may be opened
## again, so opening starts from a clean state. This also allows valgrind to name the functions that have
## leaked memory, on which test.sh relies: the symbols of an unloaded library are not available.
stay_loaded = -Wl,-z,nodelete

modulefiledir = $(datadir)/modulefiles/nicbarr
modulefile = ompi/$(VERSION)-openmpi-$(OMPI_SERIES)
if HAVE_ENV_SH
pkgdata_DATA += ompi/env.sh
modulefile_DATA = $(modulefile)
endif
nobase_dist_libexecdata_DATA += ompi/jobs.sh

EXTRA_DIST += ompi/env.sh.in ompi/modulefile.in \
    ompi/shim/ompi/mpi/fortran/base/fint_2_int.h \
    ompi/shim/opal/mca/threads/pthreads/threads_pthreads_mutex.h \
    ompi/shim/opal/mca/threads/pthreads/threads_pthreads_threads.h \
    ompi/shim/opal/mca/threads/pthreads/threads_pthreads_tsd.h
CLEANFILES += ompi/env.sh $(modulefile)

say_where = sed -e 's|[@]libdir[@]|$(libdir)|' -e 's|[@]bindir[@]|$(bindir)|' \
    -e 's|[@]componentdir[@]|$(componentdir)|' -e 's|[@]OMPI_SERIES[@]|$(OMPI_SERIES)|'
ompi/env.sh: $(srcdir)/ompi/env.sh.in Makefile
	@$(MKDIR_P) ompi
	$(AM_V_GEN)$(say_where) $(srcdir)/ompi/env.sh.in > $@
$(modulefile): $(srcdir)/ompi/modulefile.in Makefile
	@$(MKDIR_P) ompi
	$(AM_V_GEN)$(say_where) $(srcdir)/ompi/modulefile.in > $@
