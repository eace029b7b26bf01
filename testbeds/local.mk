## SPDX-License-Identifier: BSD-3-Clause
## A cluster on one machine: hosts that are network namespaces. It is installed in the order of the
## source tree, as `nicbarr evaluate` runs it; people find it in the PATH by a link.
nobase_dist_pkglibexec_SCRIPTS += testbeds/hosts/nethosts testbeds/hosts/inside testbeds/hosts/run \
    testbeds/hosts/launch testbeds/hosts/filter testbeds/agent
nobase_dist_libexecdata_DATA += testbeds/hosts/launcher.sh testbeds/launcher.sh
nobase_pkglibexec_PROGRAMS += testbeds/hosts/switch

## The switch that has faults.
nethosts_frames = \
    testbeds/hosts/frame.h testbeds/hosts/frame.c \
    testbeds/hosts/capture.h testbeds/hosts/capture.c
testbeds_hosts_switch_SOURCES = testbeds/hosts/switch.c \
    testbeds/hosts/faults.h testbeds/hosts/faults.c \
    testbeds/hosts/held.h testbeds/hosts/held.c \
    $(nethosts_frames)

## ... and one for measurements, which is in the kernel.
if HAVE_KERNEL_NIC
nobase_pkglibexec_PROGRAMS += testbeds/hosts/redirect
testbeds_hosts_redirect_SOURCES = testbeds/hosts/redirect.c
nodist_testbeds_hosts_redirect_SOURCES = testbeds/hosts/redirect.skel.h
testbeds_hosts_redirect_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)
testbeds_hosts_redirect_CFLAGS = $(AM_CFLAGS) $(LIBBPF_CFLAGS)
testbeds_hosts_redirect_LDADD = $(LIBBPF_LIBS)
BUILT_SOURCES += testbeds/hosts/redirect.skel.h
CLEANFILES += testbeds/hosts/redirect.bpf.o testbeds/hosts/redirect.skel.h
testbeds/hosts/redirect.bpf.o: testbeds/hosts/redirect.bpf.c
	@$(MKDIR_P) testbeds/hosts
	$(bpf_compile) $(srcdir)/testbeds/hosts/redirect.bpf.c
testbeds/hosts/redirect.skel.h: testbeds/hosts/redirect.bpf.o
	$(bpf_skeleton) testbeds/hosts/redirect.bpf.o name redirect > $@.tmp && mv $@.tmp $@
endif
EXTRA_DIST += testbeds/hosts/redirect.bpf.c

install-exec-hook:
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	ln -srf '$(DESTDIR)$(pkglibexecdir)/testbeds/hosts/nethosts' '$(DESTDIR)$(bindir)/nethosts'

## What the switch says it does is what it does.
check_PROGRAMS += testbeds/hosts/tests/flood
testbeds_hosts_tests_flood_SOURCES = testbeds/hosts/tests/flood.c
TESTS += testbeds/hosts/tests/switch_test.sh
EXTRA_DIST += testbeds/hosts/tests/switch_test.sh

## Virtual machines with a kernel each: hosts with RDMA devices (verbs), a cluster with sshd (machines). They are for
## tests and benchmarks, and not installed.
EXTRA_DIST += testbeds/machine.sh testbeds/image testbeds/init \
    testbeds/verbs/verbshosts testbeds/verbs/inside testbeds/verbs/run testbeds/verbs/launch \
    testbeds/machines/machines testbeds/machines/inside testbeds/machines/monitor

## Hosts with RDMA devices are what verbshosts says they are. Run it after a change here: it is not among TESTS,
## as the whole suite has no room left in its hour for the machines that it starts.
EXTRA_DIST += testbeds/verbs/tests/verbshosts_test.sh
