## SPDX-License-Identifier: BSD-3-Clause
## Tests: programs that know MPI only (tests/mpi) and scripts that run them in all ways
## (tests/component). The parts have their own (tests/unit).
mpi_programs = \
    tests/mpi/barrier_ledger \
    tests/mpi/progress \
    tests/mpi/soak \
    tests/mpi/killed \
    tests/mpi/overdue \
    tests/mpi/asynchronous \
    tests/mpi/cputime \
    tests/mpi/pvars \
    tests/mpi/watched \
    tests/mpi/short_job \
    tests/mpi/signals \
    tests/mpi/survivors \
    tests/mpi/moving \
    tests/mpi/message_pvars \
    tests/mpi/absent tests/mpi/mistakes tests/mpi/mismatched \
    tests/mpi/sessions \
    tests/mpi/late_receiver \
    tests/mpi/early_sends \
    tests/mpi/attached \
    tests/mpi/spawned
check_PROGRAMS += $(mpi_programs)
mpi_common = tests/mpi/common.h tests/mpi/common.c
mpi_cflags = $(AM_CFLAGS) $(MPI_CFLAGS) -pthread

tests_mpi_barrier_ledger_SOURCES = tests/mpi/barrier_ledger.c $(mpi_common)
tests_mpi_barrier_ledger_CFLAGS = $(mpi_cflags)
tests_mpi_barrier_ledger_LDADD = $(MPI_LIBS)
tests_mpi_progress_SOURCES = tests/mpi/progress.c $(mpi_common)
tests_mpi_progress_CFLAGS = $(mpi_cflags)
tests_mpi_progress_LDADD = $(MPI_LIBS)
tests_mpi_soak_SOURCES = tests/mpi/soak.c $(mpi_common)
tests_mpi_soak_CFLAGS = $(mpi_cflags)
tests_mpi_soak_LDADD = $(MPI_LIBS)
tests_mpi_killed_SOURCES = tests/mpi/killed.c $(mpi_common)
tests_mpi_killed_CFLAGS = $(mpi_cflags)
tests_mpi_killed_LDADD = $(MPI_LIBS)
tests_mpi_overdue_SOURCES = tests/mpi/overdue.c $(mpi_common)
tests_mpi_overdue_CFLAGS = $(mpi_cflags)
tests_mpi_overdue_LDADD = $(MPI_LIBS)
tests_mpi_asynchronous_SOURCES = tests/mpi/asynchronous.c $(mpi_common)
tests_mpi_asynchronous_CFLAGS = $(mpi_cflags)
tests_mpi_asynchronous_LDADD = $(MPI_LIBS)
tests_mpi_cputime_SOURCES = tests/mpi/cputime.c $(mpi_common)
tests_mpi_cputime_CFLAGS = $(mpi_cflags)
tests_mpi_cputime_LDADD = $(MPI_LIBS)
tests_mpi_pvars_SOURCES = tests/mpi/pvars.c $(mpi_common)
tests_mpi_pvars_CFLAGS = $(mpi_cflags)
tests_mpi_pvars_LDADD = $(MPI_LIBS)
tests_mpi_watched_SOURCES = tests/mpi/watched.c $(mpi_common)
tests_mpi_watched_CFLAGS = $(mpi_cflags)
tests_mpi_watched_LDADD = $(MPI_LIBS)
tests_mpi_short_job_SOURCES = tests/mpi/short_job.c $(mpi_common)
tests_mpi_short_job_CFLAGS = $(mpi_cflags)
tests_mpi_short_job_LDADD = $(MPI_LIBS)

tests_mpi_signals_SOURCES = tests/mpi/signals.c $(mpi_common)
tests_mpi_signals_CFLAGS = $(mpi_cflags)
tests_mpi_signals_LDADD = $(MPI_LIBS)
tests_mpi_survivors_SOURCES = tests/mpi/survivors.c $(mpi_common)
tests_mpi_survivors_CFLAGS = $(mpi_cflags)
tests_mpi_survivors_LDADD = $(MPI_LIBS)
tests_mpi_message_pvars_SOURCES = tests/mpi/message_pvars.c $(mpi_common)
tests_mpi_message_pvars_CFLAGS = $(mpi_cflags)
tests_mpi_message_pvars_LDADD = $(MPI_LIBS)
tests_mpi_moving_SOURCES = tests/mpi/moving.c $(mpi_common)
tests_mpi_moving_CFLAGS = $(mpi_cflags)
tests_mpi_moving_LDADD = $(MPI_LIBS)
tests_mpi_mistakes_SOURCES = tests/mpi/mistakes.c $(mpi_common)
tests_mpi_mistakes_CFLAGS = $(mpi_cflags)
tests_mpi_mistakes_LDADD = $(MPI_LIBS)
tests_mpi_absent_SOURCES = tests/mpi/absent.c
tests_mpi_absent_CFLAGS = $(mpi_cflags)
tests_mpi_absent_LDADD = $(MPI_LIBS)
tests_mpi_mismatched_SOURCES = tests/mpi/mismatched.c $(mpi_common)
tests_mpi_mismatched_CFLAGS = $(mpi_cflags)
tests_mpi_mismatched_LDADD = $(MPI_LIBS)
tests_mpi_sessions_SOURCES = tests/mpi/sessions.c tests/mpi/common.h
tests_mpi_sessions_CFLAGS = $(mpi_cflags)
tests_mpi_sessions_LDADD = $(MPI_LIBS)
tests_mpi_late_receiver_SOURCES = tests/mpi/late_receiver.c $(mpi_common)
tests_mpi_late_receiver_CFLAGS = $(mpi_cflags)
tests_mpi_late_receiver_LDADD = $(MPI_LIBS)
tests_mpi_early_sends_SOURCES = tests/mpi/early_sends.c $(mpi_common)
tests_mpi_early_sends_CFLAGS = $(mpi_cflags)
tests_mpi_early_sends_LDADD = $(MPI_LIBS)
tests_mpi_attached_SOURCES = tests/mpi/attached.c $(mpi_common)
tests_mpi_attached_CFLAGS = $(mpi_cflags)
tests_mpi_attached_LDADD = $(MPI_LIBS)

tests_mpi_spawned_SOURCES = tests/mpi/spawned.c $(mpi_common)
tests_mpi_spawned_CFLAGS = $(mpi_cflags)
tests_mpi_spawned_LDADD = $(MPI_LIBS)

## Random programs: the player is MPI's part, the rest is tests/programs/machine.
check_PROGRAMS += tests/programs/player
tests_programs_player_SOURCES = tests/programs/player.c \
    tests/programs/program.h tests/programs/program.c \
    tests/programs/places.h tests/programs/places.c \
    tests/programs/layout.h tests/programs/layout.c \
    tests/programs/collective.h tests/programs/collective.c \
    tests/programs/payload.h tests/programs/payload.c \
    tests/programs/messages.h tests/programs/messages_parts.h tests/programs/messages.c \
    tests/programs/messages_plan.h tests/programs/messages_plan.c \
    tests/programs/messages_receive.c tests/programs/messages_complete.c \
    tests/programs/exchange.h tests/programs/exchange.c \
    tests/programs/window.h tests/programs/window.c \
    tests/programs/window_parts.h tests/programs/window_parts.c \
    tests/programs/data_types.h tests/programs/data_types.c $(mpi_common)
tests_programs_player_CFLAGS = $(mpi_cflags)
tests_programs_player_LDADD = $(MPI_LIBS) -lm

EXTRA_DIST += tests/programs/run.sh tests/programs/odd.sh tests/programs/killing.sh tests/programs/daemons.sh tests/programs/machine tests/programs/cases
EXTRA_DIST += tests/mutations/run.sh tests/mutations/mutate.py tests/mutations/list

## A stranger on the network, who sends packets of his own to the NICs of a job.
check_PROGRAMS += tests/component/spray tests/component/sniffer tests/component/search
tests_component_spray_SOURCES = tests/component/spray.c $(nethosts_frames)
tests_component_spray_LDADD = firmware/libmcp.la
tests_component_sniffer_SOURCES = tests/component/sniffer.c
tests_component_sniffer_LDADD = firmware/libmcp.la
tests_component_search_SOURCES = tests/component/search.c
tests_component_search_LDADD = libmyr/libmyr.la

## A user of the kernel NIC who does its worst to others.
check_PROGRAMS += tests/component/worst_user
tests_component_worst_user_SOURCES = tests/component/worst_user.c
tests_component_worst_user_CFLAGS = $(AM_CFLAGS) -pthread
tests_component_worst_user_LDADD = libmyr/libmyr.la

## A client of myrd that is a bad neighbour of later clients.
check_PROGRAMS += tests/component/daemon_client
tests_component_daemon_client_SOURCES = tests/component/daemon_client.c
tests_component_daemon_client_LDADD = libmyr/libmyr.la

## A process of a program without MPI.
check_PROGRAMS += tests/component/members
tests_component_members_SOURCES = tests/component/members.c
tests_component_members_LDADD = myr/libmyr.la

## Runs a command without some system calls.
check_PROGRAMS += tests/component/without
tests_component_without_SOURCES = tests/component/without.c

## The time of day is set, for a program that this is preloaded into.
check_LTLIBRARIES = tests/component/clock_jumps.la tests/component/wrong_results.la tests/component/other_structures.la \
    tests/component/hung_file.la tests/component/few_threads.la tests/component/bound_unevenly.la \
    tests/component/json_names.la tests/component/no_memory.la
tests_component_json_names_la_SOURCES = tests/component/json_names.c
tests_component_json_names_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_component_bound_unevenly_la_SOURCES = tests/component/bound_unevenly.c
tests_component_bound_unevenly_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_component_few_threads_la_SOURCES = tests/component/few_threads.c
tests_component_few_threads_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_component_no_memory_la_SOURCES = tests/component/no_memory.c
tests_component_no_memory_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_component_hung_file_la_SOURCES = tests/component/hung_file.c
tests_component_hung_file_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_component_clock_jumps_la_SOURCES = tests/component/clock_jumps.c
tests_component_clock_jumps_la_LDFLAGS = -module -avoid-version -rpath /nowhere

## An MPI whose results are wrong, for a program that this is preloaded into.
tests_component_wrong_results_la_SOURCES = tests/component/wrong_results.c
tests_component_wrong_results_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_component_wrong_results_la_LIBADD = $(MPI_LIBS)
tests_component_wrong_results_la_LDFLAGS = -module -avoid-version -rpath /nowhere

## An Open MPI of another release, for a component that this is preloaded beside.
tests_component_other_structures_la_SOURCES = tests/component/other_structures.c
tests_component_other_structures_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
tests_component_other_structures_la_CFLAGS = $(AM_CFLAGS) $(OMPI_CFLAGS)
tests_component_other_structures_la_LIBADD = $(MPI_LIBS)
tests_component_other_structures_la_LDFLAGS = -module -avoid-version -rpath /nowhere

component_tests = \
    tests/component/each_nic.sh \
    tests/component/commands.sh \
    tests/component/properties.sh \
    tests/component/data.sh \
    tests/component/data_hosts.sh \
    tests/component/faults.sh \
    tests/component/resources.sh \
    tests/component/short_jobs.sh \
    tests/component/machine_faults.sh \
    tests/component/leftovers.sh \
    tests/component/same.sh \
    tests/component/parameters.sh \
    tests/component/tuning.sh \
    tests/component/tuned_rules.sh \
    tests/component/declining.sh \
    tests/component/odd.sh \
    tests/component/doctor.sh \
    tests/component/hosts.sh \
    tests/component/spawn.sh \
    tests/component/programs.sh \
    tests/component/random_programs.sh \
    tests/component/btl.sh \
    tests/component/windows.sh \
    tests/component/mtl.sh
## What lies below Open MPI: NICs, daemons, tools. It is the same whatever release runs above it.
below_tests = \
    tests/component/waiting.sh tests/component/calls.sh \
    tests/component/fake_nic.sh \
    tests/component/overdue.sh \
    tests/component/lost_node.sh \
    tests/component/myrd_kernel.sh \
    tests/component/myrd_restart.sh \
    tests/component/kernel.sh \
    tests/component/lossy.sh \
    tests/component/strangers.sh \
    tests/component/library.sh \
    tests/component/network.sh \
    tests/component/ipv6.sh \
    tests/component/experiments.sh \
    tests/component/bench.sh \
    tests/component/myrd.sh \
    tests/component/units.sh \
    tests/component/slurm.sh \
    tests/component/solver.sh \
    tests/component/neighbour.sh \
    tests/component/trace.sh
## Those that take virtual machines, and mpirun of Open MPI 4.1.
machine_tests = tests/component/verbs.sh tests/machines/machines.sh
TESTS += $(component_tests) $(below_tests) $(machine_tests)
EXTRA_DIST += tests/parts tests/again.sh tests/tap.sh tests/style.sh tests/layers.py tests/paragraphs.py tests/messages.py tests/messages.txt $(component_tests) $(below_tests) $(machine_tests) tests/component/common.sh tests/rewrite_cache.sh tests/chroot.sh tests/debian.sh tests/packages.sh tests/rpm.sh tests/tarball.sh tests/processors.sh tests/musl.sh tests/unit/emulated.c \
    tests/component/verbs_common.sh tests/component/verbs_kernels.sh tests/component/verbs_many.sh \
    tests/fetched tests/machines/launching.sh \
    tests/component/hosts_common.sh tests/component/random_common.sh tests/component/drawn_common.sh tests/component/playing_common.sh tests/component/carried_common.sh tests/component/traced_common.sh \
    tests/component/messages_common.sh tests/component/odd_common.sh tests/component/abi.sh \
    tests/component/inside.sh tests/component/programs_common.sh \
    tests/mpi/mpi4py_same.py tests/mpi/run_broken.sh tests/mpi/run_killed.sh

## What the scripts say of themselves, what `configure` says, what is installed, man pages, libmyr for other
## programs, what makes packages; starts no job.
script_tests = tests/scripts_test.sh tests/install_test.sh tests/man_test.sh tests/library_test.sh tests/recipes_test.sh
TESTS += $(script_tests)
EXTRA_DIST += $(script_tests) tests/library_layout.c tests/recipes.py

## Those whose result may depend on the release of Open MPI.
check-mpi:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(component_tests)'
.PHONY: check-mpi

## What searches for what no test thought of: fuzzers, and models of the protocol and of memory.
## Each needs a tool of its own and is skipped without it.
search_tests = \
    tests/fuzz/run.sh \
    tests/litmus/run.sh \
    tests/spin/run.sh
TESTS += $(search_tests)
EXTRA_DIST += $(search_tests) tests/spin/collective.pml tests/spin/data.pml tests/spin/bcast.pml tests/spin/match.pml \
    tests/spin/search.sh tests/litmus/memory.pml tests/litmus/shapes.pml \
    tests/litmus/release.pml tests/litmus/lock.pml tests/litmus/inlet.pml tests/litmus/sleep.pml

## Scripts find the build by these; jobs are started one after the other, as they share the machine.
AM_TESTS_ENVIRONMENT = builddir='$(abs_top_builddir)' srcdir='$(abs_top_srcdir)'; export builddir srcdir;
