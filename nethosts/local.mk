## SPDX-License-Identifier: BSD-3-Clause
## A cluster on one machine: hosts that are network namespaces. It is installed in the order of the
## source tree, as `nicbarr evaluate` runs it; people find it in the PATH by a link.
nobase_dist_pkglibexec_SCRIPTS += nethosts/nethosts nethosts/inside nethosts/run nethosts/agent \
    nethosts/launch nethosts/filter
nobase_dist_libexecdata_DATA += nethosts/launcher.sh
nobase_pkglibexec_PROGRAMS += nethosts/switch

## The switch that has faults.
nethosts_frames = \
    nethosts/frame.h nethosts/frame.c \
    nethosts/capture.h nethosts/capture.c
nethosts_switch_SOURCES = nethosts/switch.c \
    nethosts/faults.h nethosts/faults.c \
    nethosts/held.h nethosts/held.c \
    $(nethosts_frames)

## ... and one for measurements, which is in the kernel.
if HAVE_KERNEL_NIC
nobase_pkglibexec_PROGRAMS += nethosts/redirect
nethosts_redirect_SOURCES = nethosts/redirect.c
nodist_nethosts_redirect_SOURCES = nethosts/redirect.skel.h
nethosts_redirect_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)
nethosts_redirect_CFLAGS = $(AM_CFLAGS) $(LIBBPF_CFLAGS)
nethosts_redirect_LDADD = $(LIBBPF_LIBS)
BUILT_SOURCES += nethosts/redirect.skel.h
CLEANFILES += nethosts/redirect.bpf.o nethosts/redirect.skel.h
nethosts/redirect.bpf.o: nethosts/redirect.bpf.c
	@$(MKDIR_P) nethosts
	$(bpf_compile) $(srcdir)/nethosts/redirect.bpf.c
nethosts/redirect.skel.h: nethosts/redirect.bpf.o
	$(bpf_skeleton) nethosts/redirect.bpf.o name redirect > $@.tmp && mv $@.tmp $@
endif
EXTRA_DIST += nethosts/redirect.bpf.c

install-exec-hook:
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	ln -srf '$(DESTDIR)$(pkglibexecdir)/nethosts/nethosts' '$(DESTDIR)$(bindir)/nethosts'

## What the switch says it does is what it does.
check_PROGRAMS += nethosts/tests/flood
nethosts_tests_flood_SOURCES = nethosts/tests/flood.c
TESTS += nethosts/tests/switch_test.sh
EXTRA_DIST += nethosts/tests/switch_test.sh
