## Tests: programs that know MPI only (tests/mpi) and scripts that run them in all ways
## (tests/component). The parts have their own (tests/unit).
mpi_programs = \
    tests/mpi/barrier_ledger \
    tests/mpi/barrier_shapes \
    tests/mpi/ibarrier \
    tests/mpi/progress \
    tests/mpi/threads \
    tests/mpi/soak \
    tests/mpi/killed \
    tests/mpi/pt2pt \
    tests/mpi/cputime \
    tests/mpi/pvars
check_PROGRAMS += $(mpi_programs)
mpi_common = tests/mpi/common.h tests/mpi/common.c
mpi_cflags = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread

tests_mpi_barrier_ledger_SOURCES = tests/mpi/barrier_ledger.c $(mpi_common)
tests_mpi_barrier_ledger_CFLAGS = $(mpi_cflags)
tests_mpi_barrier_ledger_LDADD = $(MPI_LIBS)
tests_mpi_barrier_shapes_SOURCES = tests/mpi/barrier_shapes.c $(mpi_common)
tests_mpi_barrier_shapes_CFLAGS = $(mpi_cflags)
tests_mpi_barrier_shapes_LDADD = $(MPI_LIBS)
tests_mpi_ibarrier_SOURCES = tests/mpi/ibarrier.c $(mpi_common)
tests_mpi_ibarrier_CFLAGS = $(mpi_cflags)
tests_mpi_ibarrier_LDADD = $(MPI_LIBS)
tests_mpi_progress_SOURCES = tests/mpi/progress.c $(mpi_common)
tests_mpi_progress_CFLAGS = $(mpi_cflags)
tests_mpi_progress_LDADD = $(MPI_LIBS)
tests_mpi_threads_SOURCES = tests/mpi/threads.c $(mpi_common)
tests_mpi_threads_CFLAGS = $(mpi_cflags)
tests_mpi_threads_LDADD = $(MPI_LIBS)
tests_mpi_soak_SOURCES = tests/mpi/soak.c $(mpi_common)
tests_mpi_soak_CFLAGS = $(mpi_cflags)
tests_mpi_soak_LDADD = $(MPI_LIBS)
tests_mpi_killed_SOURCES = tests/mpi/killed.c $(mpi_common)
tests_mpi_killed_CFLAGS = $(mpi_cflags)
tests_mpi_killed_LDADD = $(MPI_LIBS)
tests_mpi_pt2pt_SOURCES = tests/mpi/pt2pt.c $(mpi_common)
tests_mpi_pt2pt_CFLAGS = $(mpi_cflags)
tests_mpi_pt2pt_LDADD = $(MPI_LIBS)
tests_mpi_cputime_SOURCES = tests/mpi/cputime.c $(mpi_common)
tests_mpi_cputime_CFLAGS = $(mpi_cflags)
tests_mpi_cputime_LDADD = $(MPI_LIBS)
tests_mpi_pvars_SOURCES = tests/mpi/pvars.c $(mpi_common)
tests_mpi_pvars_CFLAGS = $(mpi_cflags)
tests_mpi_pvars_LDADD = $(MPI_LIBS)

## The hosts on one machine, installed for `nicbarr evaluate`: their switch, and what tests it and the NICs with it.
nobase_pkglibexec_PROGRAMS += tests/nethosts/switch
nobase_dist_pkglibexec_SCRIPTS += tests/nethosts/nethosts tests/nethosts/inside tests/nethosts/run \
    tests/nethosts/agent tests/nethosts/launch
nobase_dist_libexecdata_DATA += tests/jobs.sh
nethosts_frames = \
    tests/nethosts/frame.h tests/nethosts/frame.c \
    tests/nethosts/capture.h tests/nethosts/capture.c
tests_nethosts_switch_SOURCES = tests/nethosts/switch.c \
    tests/nethosts/faults.h tests/nethosts/faults.c \
    tests/nethosts/held.h tests/nethosts/held.c \
    $(nethosts_frames)
## ... and one for measurements, which is in the kernel.
if HAVE_KERNEL_NIC
noinst_PROGRAMS += tests/nethosts/redirect
tests_nethosts_redirect_SOURCES = tests/nethosts/redirect.c
nodist_tests_nethosts_redirect_SOURCES = tests/nethosts/redirect.skel.h
tests_nethosts_redirect_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)
tests_nethosts_redirect_CFLAGS = $(AM_CFLAGS) $(LIBBPF_CFLAGS)
tests_nethosts_redirect_LDADD = $(LIBBPF_LIBS)
BUILT_SOURCES += tests/nethosts/redirect.skel.h
CLEANFILES += tests/nethosts/redirect.bpf.o tests/nethosts/redirect.skel.h
tests/nethosts/redirect.bpf.o: tests/nethosts/redirect.bpf.c
	@$(MKDIR_P) tests/nethosts
	$(bpf_compile) $(srcdir)/tests/nethosts/redirect.bpf.c
tests/nethosts/redirect.skel.h: tests/nethosts/redirect.bpf.o
	$(bpf_skeleton) tests/nethosts/redirect.bpf.o name redirect > $@.tmp && mv $@.tmp $@
endif
EXTRA_DIST += tests/nethosts/redirect.bpf.c
check_PROGRAMS += tests/nethosts/flood tests/nethosts/spray
tests_nethosts_flood_SOURCES = tests/nethosts/flood.c
tests_nethosts_spray_SOURCES = tests/nethosts/spray.c $(nethosts_frames)
tests_nethosts_spray_LDADD = firmware/libmcp.la

component_tests = \
    tests/component/properties.sh \
    tests/component/faults.sh \
    tests/component/resources.sh \
    tests/component/same.sh \
    tests/component/parameters.sh \
    tests/component/tuning.sh \
    tests/component/declining.sh \
    tests/nethosts/switch_test.sh \
    tests/component/hosts.sh \
    tests/component/lossy.sh \
    tests/component/strangers.sh \
    tests/component/network.sh \
    tests/component/programs.sh \
    tests/component/experiments.sh \
    tests/component/btl.sh \
    tests/component/myrd.sh \
    tests/component/myrd_kernel.sh \
    tests/component/kernel.sh
TESTS += $(component_tests)
EXTRA_DIST += tests/tap.sh $(component_tests) tests/component/common.sh tests/debian13.sh \
    tests/component/hosts_common.sh tests/component/playing_common.sh

## What searches for what no test thought of: a fuzzer, and a model of the protocol. Each needs a tool
## of its own and is skipped without it.
search_tests = \
    tests/fuzz/run.sh \
    tests/spin/run.sh
TESTS += $(search_tests)
EXTRA_DIST += $(search_tests) tests/fuzz/packet_fuzz.c tests/spin/collective.pml

## Scripts find the build by these; jobs are started one after the other, as they share the machine.
AM_TESTS_ENVIRONMENT = builddir='$(abs_top_builddir)' srcdir='$(abs_top_srcdir)'; export builddir srcdir;
