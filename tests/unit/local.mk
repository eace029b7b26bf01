## SPDX-License-Identifier: BSD-3-Clause
## Tests of the parts, without MPI: one program for a source file.
if HAVE_CMOCKA
plain_programs = \
    tests/unit/schedule_test \
    tests/unit/model_test \
    tests/unit/statistics_test \
    tests/unit/candidates_test \
    tests/unit/order_test \
    tests/unit/census_test \
    tests/unit/carry_test \
    tests/unit/nics_test \
    tests/unit/hello_test \
    tests/unit/barrier_transitions_test \
    tests/unit/contest_test \
    tests/unit/tuning_sim_test \
    tests/unit/cache_file_test \
    tests/unit/cache_lines_test \
    tests/unit/evidence_test \
    tests/unit/network_test \
    tests/unit/report_file_test \
    tests/unit/fits_test \
    tests/unit/options_test \
    tests/unit/layout_test \
    tests/unit/waiter_test \
    tests/unit/no_futex_test \
    tests/unit/group_test \
    tests/unit/slots_test \
    tests/unit/segment_test \
    tests/unit/secrets_test \
    tests/unit/seal_test \
    tests/unit/wire_test \
    tests/unit/engine_test \
    tests/unit/backoff_test \
    tests/unit/collective_test \
    tests/unit/collective_model_test \
    tests/unit/bcast_test \
    tests/unit/match_test \
    tests/unit/messages_test \
    tests/unit/inlet_test \
    tests/unit/port_test \
    tests/unit/tagged_test \
    tests/unit/addresses_test \
    tests/unit/udp_test \
    tests/unit/nic_test \
    tests/unit/nic_links_test \
    tests/unit/sim_bcast_test \
    tests/unit/sim_messages_test \
    tests/unit/sim_test \
    tests/unit/nicsim_data_test \
    tests/unit/listener_test \
    tests/unit/rights_test \
    tests/unit/unix_talk_test \
    tests/unit/kernel_nic_test \
    tests/unit/kernel_interface_test \
    tests/unit/kernel_hooks_test \
    tests/unit/kernel_server_test \
    tests/unit/library_test
if HAVE_KERNEL_NIC
plain_programs += tests/unit/kernel_test tests/unit/kernel6_test
endif
if HAVE_VERBS
plain_programs += tests/unit/verbs_test
endif
## With libraries of Open MPI; tests/musl.sh and tests/processors.sh have none, and take the others.
unit_programs = $(plain_programs) $(fuzz_programs) tests/unit/scale_test
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)

unit_crew = tests/unit/crew.h tests/unit/crew.c
unit_common = tests/unit/test.h tests/unit/test.c $(unit_crew)
unit_wire = tests/unit/wire_fake.h tests/unit/wire_fake.c \
    firmware/sim/events.h firmware/sim/events.c
unit_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
unit_libs = coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la $(CMOCKA_LIBS)

tests_unit_schedule_test_SOURCES = tests/unit/schedule_test.c $(unit_common)
tests_unit_schedule_test_CFLAGS = $(unit_cflags)
tests_unit_schedule_test_LDADD = $(unit_libs)

tests_unit_model_test_SOURCES = tests/unit/model_test.c $(unit_common)
tests_unit_model_test_CFLAGS = $(unit_cflags)
tests_unit_model_test_LDADD = $(unit_libs)

tests_unit_statistics_test_SOURCES = tests/unit/statistics_test.c $(unit_common)
tests_unit_statistics_test_CFLAGS = $(unit_cflags)
tests_unit_statistics_test_LDADD = $(unit_libs) -lm

tests_unit_census_test_SOURCES = tests/unit/census_test.c $(unit_common)
tests_unit_census_test_CFLAGS = $(unit_cflags)
tests_unit_census_test_LDADD = $(unit_libs)

tests_unit_scale_test_SOURCES = tests/unit/scale_test.c $(unit_common) \
    coll_nicbarr/across.c coll_nicbarr/suspect_nics.c coll_nicbarr/groups.c coll_nicbarr/members.c \
    coll_nicbarr/openmpi.c coll_nicbarr/peers.c coll_nicbarr/sharing.c coll_nicbarr/choice/known.c \
    coll_nicbarr/choice/measuring.c coll_nicbarr/failures.c coll_nicbarr/files/cache.c coll_nicbarr/files/cache_file.c \
    coll_nicbarr/files/cache_lines.c coll_nicbarr/files/cache_writer.c coll_nicbarr/files/node_cache.c \
    coll_nicbarr/files/json_functions.c coll_nicbarr/files/this_host.c
tests_unit_scale_test_CPPFLAGS = $(coll_nicbarr_cppflags)
tests_unit_scale_test_CFLAGS = $(unit_cflags) $(OMPI_CFLAGS)
## It counts who reads the tuning cache.
tests_unit_scale_test_LDFLAGS = $(OMPI_LDFLAGS) -Wl,--wrap=nicbarr_cache_file_text
tests_unit_scale_test_LDADD = $(unit_libs) $(OMPI_LIBS) $(JANSSON_LIBS)

tests_unit_nics_test_SOURCES = tests/unit/nics_test.c $(unit_common)
tests_unit_nics_test_CFLAGS = $(unit_cflags)
tests_unit_nics_test_LDADD = $(unit_libs)

tests_unit_hello_test_SOURCES = tests/unit/hello_test.c $(unit_common)
tests_unit_hello_test_CFLAGS = $(unit_cflags)
tests_unit_hello_test_LDADD = $(unit_libs)

tests_unit_candidates_test_SOURCES = tests/unit/candidates_test.c $(unit_common)
tests_unit_candidates_test_CFLAGS = $(unit_cflags)
tests_unit_candidates_test_LDADD = $(unit_libs)

tests_unit_barrier_transitions_test_SOURCES = tests/unit/barrier_transitions_test.c $(unit_common)
tests_unit_barrier_transitions_test_CFLAGS = $(unit_cflags)
tests_unit_barrier_transitions_test_LDADD = $(unit_libs)

tests_unit_contest_test_SOURCES = tests/unit/contest_test.c $(unit_common)
tests_unit_contest_test_CFLAGS = $(unit_cflags)
tests_unit_contest_test_LDADD = $(unit_libs) -lm

tests_unit_tuning_sim_test_SOURCES = tests/unit/tuning_sim_test.c $(unit_common)
tests_unit_tuning_sim_test_CFLAGS = $(unit_cflags)
tests_unit_tuning_sim_test_LDADD = $(unit_libs) -lm

tests_unit_cache_file_test_SOURCES = tests/unit/cache_file_test.c $(unit_common) \
    coll_nicbarr/files/cache_file.h coll_nicbarr/files/cache_file.c \
    coll_nicbarr/files/cache_lines.h coll_nicbarr/files/cache_lines.c
tests_unit_cache_file_test_CFLAGS = $(unit_cflags) $(JANSSON_CFLAGS)
tests_unit_cache_file_test_LDADD = $(unit_libs) $(JANSSON_LIBS)

tests_unit_cache_lines_test_SOURCES = tests/unit/cache_lines_test.c $(unit_common) \
    coll_nicbarr/files/cache_lines.h coll_nicbarr/files/cache_lines.c
tests_unit_cache_lines_test_CFLAGS = $(unit_cflags) $(JANSSON_CFLAGS)
tests_unit_cache_lines_test_LDADD = $(unit_libs) $(JANSSON_LIBS)

tests_unit_evidence_test_SOURCES = tests/unit/evidence_test.c $(unit_common)
tests_unit_evidence_test_CFLAGS = $(unit_cflags)
tests_unit_evidence_test_LDADD = $(unit_libs) -lm

tests_unit_network_test_SOURCES = tests/unit/network_test.c $(unit_common)
tests_unit_network_test_CFLAGS = $(unit_cflags)
tests_unit_network_test_LDADD = $(unit_libs)

tests_unit_report_file_test_SOURCES = tests/unit/report_file_test.c $(unit_common) \
    coll_nicbarr/files/report_file.h coll_nicbarr/files/report_file.c
tests_unit_report_file_test_CFLAGS = $(unit_cflags) $(JANSSON_CFLAGS)
tests_unit_report_file_test_LDADD = $(unit_libs) $(JANSSON_LIBS)

tests_unit_fits_test_SOURCES = tests/unit/fits_test.c $(unit_common) \
    bench/experiments/fits.h bench/experiments/fits.c
tests_unit_fits_test_CFLAGS = $(unit_cflags)
tests_unit_fits_test_LDADD = $(unit_libs) -lm

tests_unit_options_test_SOURCES = tests/unit/options_test.c $(unit_common) \
    bench/options.h bench/options.c bench/number.h bench/operations.h bench/operations.c
tests_unit_options_test_CFLAGS = $(unit_cflags)
tests_unit_options_test_LDADD = $(unit_libs)

tests_unit_layout_test_SOURCES = tests/unit/layout_test.c $(unit_common)
tests_unit_layout_test_CFLAGS = $(unit_cflags)
tests_unit_layout_test_LDADD = $(unit_libs)

tests_unit_backoff_test_SOURCES = tests/unit/backoff_test.c $(unit_common)
tests_unit_backoff_test_CFLAGS = $(unit_cflags)
tests_unit_backoff_test_LDADD = $(unit_libs)

tests_unit_waiter_test_SOURCES = tests/unit/waiter_test.c $(unit_common)
tests_unit_waiter_test_CFLAGS = $(unit_cflags)
tests_unit_waiter_test_LDADD = $(unit_libs)

tests_unit_no_futex_test_SOURCES = tests/unit/no_futex_test.c $(unit_common)
tests_unit_no_futex_test_CFLAGS = $(unit_cflags)
tests_unit_no_futex_test_LDADD = $(unit_libs)

tests_unit_order_test_SOURCES = tests/unit/order_test.c $(unit_common)
tests_unit_order_test_CFLAGS = $(unit_cflags)
tests_unit_order_test_LDADD = $(unit_libs)

tests_unit_group_test_SOURCES = tests/unit/group_test.c $(unit_common)
tests_unit_group_test_CFLAGS = $(unit_cflags)
tests_unit_group_test_LDADD = $(unit_libs)

tests_unit_slots_test_SOURCES = tests/unit/slots_test.c $(unit_common)
tests_unit_slots_test_CFLAGS = $(unit_cflags)
tests_unit_slots_test_LDADD = $(unit_libs)

## As other programs are linked.
tests_unit_library_test_SOURCES = tests/unit/library_test.c $(unit_common)
tests_unit_library_test_CFLAGS = $(unit_cflags)
tests_unit_library_test_LDADD = myr/libmyr.la $(CMOCKA_LIBS)

tests_unit_segment_test_SOURCES = tests/unit/segment_test.c $(unit_common)
tests_unit_segment_test_CFLAGS = $(unit_cflags)
tests_unit_segment_test_LDADD = $(unit_libs)

## The control program, over a fake board.
unit_groups = $(unit_wire) tests/unit/wire_group.h tests/unit/wire_group.c
firmware_libs = firmware/libmcp.la $(unit_libs)

tests_unit_secrets_test_SOURCES = tests/unit/secrets_test.c $(unit_common)
tests_unit_secrets_test_CFLAGS = $(unit_cflags)
tests_unit_secrets_test_LDADD = $(unit_libs)

tests_unit_seal_test_SOURCES = tests/unit/seal_test.c $(unit_common)
tests_unit_seal_test_CFLAGS = $(unit_cflags)
tests_unit_seal_test_LDADD = $(unit_libs)

tests_unit_wire_test_SOURCES = tests/unit/wire_test.c $(unit_common)
tests_unit_wire_test_CFLAGS = $(unit_cflags)
tests_unit_wire_test_LDADD = $(firmware_libs)

tests_unit_engine_test_SOURCES = tests/unit/engine_test.c $(unit_common)
tests_unit_engine_test_CFLAGS = $(unit_cflags)
tests_unit_engine_test_LDADD = $(firmware_libs)

tests_unit_carry_test_SOURCES = tests/unit/carry_test.c $(unit_common)
tests_unit_carry_test_CFLAGS = $(unit_cflags)
tests_unit_carry_test_LDADD = $(firmware_libs)
## It pretends that there is no memory.
tests_unit_carry_test_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

tests_unit_collective_test_SOURCES = tests/unit/collective_test.c $(unit_common) $(unit_groups)
tests_unit_collective_test_CFLAGS = $(unit_cflags)
tests_unit_collective_test_LDADD = $(firmware_libs)

tests_unit_collective_model_test_SOURCES = tests/unit/collective_model_test.c $(unit_common) \
    $(unit_groups)
tests_unit_collective_model_test_CFLAGS = $(unit_cflags)
tests_unit_collective_model_test_LDADD = $(firmware_libs)

tests_unit_bcast_test_SOURCES = tests/unit/bcast_test.c $(unit_common) $(unit_groups)
tests_unit_bcast_test_CFLAGS = $(unit_cflags)
tests_unit_bcast_test_LDADD = $(firmware_libs)

tests_unit_match_test_SOURCES = tests/unit/match_test.c tests/unit/takes.h $(unit_common)
tests_unit_match_test_CFLAGS = $(unit_cflags)
tests_unit_match_test_LDADD = firmware/libmcp.la $(CMOCKA_LIBS)

tests_unit_messages_test_SOURCES = tests/unit/messages_test.c $(unit_common) $(unit_wire)
tests_unit_messages_test_CFLAGS = $(unit_cflags)
tests_unit_messages_test_LDADD = firmware/libmcp.la $(CMOCKA_LIBS)

tests_unit_nic_links_test_SOURCES = tests/unit/nic_links_test.c $(unit_common)
tests_unit_nic_links_test_CFLAGS = $(unit_cflags)
tests_unit_nic_links_test_LDADD = $(unit_libs)

tests_unit_inlet_test_SOURCES = tests/unit/inlet_test.c $(unit_common)
tests_unit_inlet_test_CFLAGS = $(unit_cflags)
tests_unit_inlet_test_LDADD = libmyr/libmyr.la $(CMOCKA_LIBS)

unit_nics = tests/unit/nics_fake.h tests/unit/nics_fake.c $(unit_wire)
tests_unit_port_test_SOURCES = tests/unit/port_test.c $(unit_common) $(unit_nics)
tests_unit_port_test_CFLAGS = $(unit_cflags)
tests_unit_port_test_LDADD = libmyr/libmyr.la firmware/libmcp.la $(CMOCKA_LIBS)

tests_unit_tagged_test_SOURCES = tests/unit/tagged_test.c tests/unit/takes.h $(unit_common) $(unit_nics)
tests_unit_tagged_test_CFLAGS = $(unit_cflags)
tests_unit_tagged_test_LDADD = libmyr/libmyr.la firmware/libmcp.la $(CMOCKA_LIBS)

tests_unit_addresses_test_SOURCES = tests/unit/addresses_test.c tests/unit/ip_of.h $(unit_common)
tests_unit_addresses_test_CFLAGS = $(unit_cflags)
tests_unit_addresses_test_LDADD = firmware/libsoft.la $(CMOCKA_LIBS)

tests_unit_udp_test_SOURCES = tests/unit/udp_test.c tests/unit/ip_of.h $(unit_common)
tests_unit_udp_test_CFLAGS = $(unit_cflags)
tests_unit_udp_test_LDADD = firmware/libsoft.la firmware/libmcp.la $(CMOCKA_LIBS)
## It says what the kernel refuses.
tests_unit_udp_test_LDFLAGS = -Wl,--wrap=sendmmsg,--wrap=sendmsg

tests_unit_verbs_test_SOURCES = \
    tests/unit/verbs_test.c tests/unit/verbs_fake.h tests/unit/verbs_fake.c $(unit_common)
tests_unit_verbs_test_CFLAGS = $(unit_cflags) $(VERBS_CFLAGS)
if HAVE_RDMACM
tests_unit_verbs_test_SOURCES += tests/unit/verbs_fake_cm.c
tests_unit_verbs_test_CFLAGS += -DWITH_LIBRDMACM
endif
tests_unit_verbs_test_LDADD = $(unit_libs)

tests_unit_nic_test_SOURCES = tests/unit/nic_test.c tests/unit/ip_of.h \
    tests/unit/nic/machine.h tests/unit/nic/machine.c \
    tests/unit/nic/world.h tests/unit/nic/world.c \
    tests/unit/nic/member.h tests/unit/nic/member.c \
    tests/unit/nic/play.h tests/unit/nic/play.c \
    tests/unit/nic/refusals.h tests/unit/nic/refusals.c \
    tests/unit/nic/strangers.h tests/unit/nic/strangers.c \
    tests/unit/nic/barriers.c tests/unit/nic/data.c tests/unit/nic/broadcasts.c \
    tests/unit/nic/closing.c tests/unit/nic/threads.c tests/unit/nic/comers.c \
    tests/unit/nic/watch.c tests/unit/nic/failures.c tests/unit/nic/killed.c \
    tests/unit/nic/addresses.c tests/unit/nic/inspections.c $(unit_common)
tests_unit_nic_test_CFLAGS = $(unit_cflags)
tests_unit_nic_test_LDADD = $(unit_libs)
## It pretends that the machine has other interfaces, no memory, and another time.
tests_unit_nic_test_LDFLAGS = \
    -Wl,--wrap=getifaddrs,--wrap=freeifaddrs,--wrap=malloc,--wrap=calloc,--wrap=ppoll

## The simulated cluster, and what nicsim plays on it; the files that nicsim reads.
sim_test_sources = tests/unit/sim_machines.h tests/unit/sim_machines.c \
    bench/nicsim/port.h bench/nicsim/port.c \
    bench/nicsim/play.h bench/nicsim/play.c
tests_unit_sim_test_SOURCES = tests/unit/sim_test.c $(unit_common) $(sim_test_sources)
tests_unit_sim_test_CFLAGS = $(unit_cflags)
tests_unit_sim_test_LDADD = firmware/libsim.la $(firmware_libs) -lm

tests_unit_sim_bcast_test_SOURCES = tests/unit/sim_bcast_test.c $(unit_common) $(sim_test_sources) \
    bench/nicsim/play_bcast.h bench/nicsim/play_bcast.c
tests_unit_sim_bcast_test_CFLAGS = $(unit_cflags)
tests_unit_sim_bcast_test_LDADD = firmware/libsim.la $(firmware_libs) -lm

tests_unit_sim_messages_test_SOURCES = tests/unit/sim_messages_test.c $(unit_common) \
    $(sim_test_sources) \
    bench/nicsim/nic_port.h bench/nicsim/nic_port.c \
    bench/nicsim/play_messages.h bench/nicsim/play_messages.c
tests_unit_sim_messages_test_CFLAGS = $(unit_cflags)
tests_unit_sim_messages_test_LDADD = firmware/libsim.la $(firmware_libs) -lm

tests_unit_nicsim_data_test_SOURCES = tests/unit/nicsim_data_test.c $(unit_common) \
    bench/nicsim/parameters.h bench/nicsim/parameters.c \
    bench/nicsim/csv.h bench/nicsim/csv.c
tests_unit_nicsim_data_test_CFLAGS = $(unit_cflags) $(JANSSON_CFLAGS)
tests_unit_nicsim_data_test_LDADD = $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_listener_test_SOURCES = tests/unit/listener_test.c $(unit_common) myrd/listener.h myrd/listener.c
tests_unit_listener_test_CFLAGS = $(unit_cflags)
tests_unit_listener_test_LDADD = $(unit_libs)

tests_unit_rights_test_SOURCES = tests/unit/rights_test.c $(unit_common) \
    myrd/rights.h myrd/rights.c $(myrd_filter_sources)
tests_unit_rights_test_CFLAGS = $(unit_cflags)
tests_unit_rights_test_CPPFLAGS = $(AM_CPPFLAGS) $(with_seccomp)
tests_unit_rights_test_LDADD = $(unit_libs) $(SECCOMP_LIBS)
if HAVE_SECCOMP
with_seccomp = -DHAVE_SECCOMP
endif

tests_unit_unix_talk_test_SOURCES = tests/unit/unix_talk_test.c $(unit_common)
tests_unit_unix_talk_test_CFLAGS = $(unit_cflags)
tests_unit_unix_talk_test_LDADD = $(unit_libs)

tests_unit_kernel_nic_test_SOURCES = tests/unit/kernel_nic_test.c $(unit_common)
tests_unit_kernel_nic_test_CFLAGS = $(unit_cflags)
tests_unit_kernel_nic_test_LDADD = $(unit_libs)

## The component with a fake NIC as its only kind; tests/component/fake_nic.sh runs jobs with it.
check_LTLIBRARIES += tests/unit/fake/mca_coll_nicbarr.la
tests_unit_fake_mca_coll_nicbarr_la_SOURCES = $(coll_nicbarr_sources) tests/unit/nic_fake.h tests/unit/nic_fake.c \
    tests/unit/fake_kind.c
tests_unit_fake_mca_coll_nicbarr_la_CPPFLAGS = $(coll_nicbarr_cppflags)
tests_unit_fake_mca_coll_nicbarr_la_CFLAGS = $(coll_nicbarr_cflags)
tests_unit_fake_mca_coll_nicbarr_la_LDFLAGS = $(coll_nicbarr_ldflags) -rpath /nowhere
tests_unit_fake_mca_coll_nicbarr_la_LIBADD = $(coll_nicbarr_libadd)

## The owner of the kernel NIC, over a fake of that NIC; also where the build has no such NIC.
tests_unit_kernel_interface_test_SOURCES = tests/unit/kernel_interface_test.c $(unit_common) \
    myrd/kernel_interface.h myrd/kernel_interface.c
tests_unit_kernel_interface_test_CFLAGS = $(unit_cflags)
tests_unit_kernel_interface_test_LDADD = $(unit_libs)

## Where that stands at an interface, and who cleans up there.
tests_unit_kernel_hooks_test_SOURCES = tests/unit/kernel_hooks_test.c $(unit_common) \
    firmware/kernel/hooks.h firmware/kernel/hooks.c firmware/kernel/pins.h firmware/kernel/pins.c \
    myrd/kernel_guard.h myrd/kernel_guard.c myrd/rights.h myrd/rights.c $(myrd_filter_sources)
tests_unit_kernel_hooks_test_CFLAGS = $(unit_cflags)
tests_unit_kernel_hooks_test_CPPFLAGS = $(AM_CPPFLAGS) $(with_seccomp)
tests_unit_kernel_hooks_test_LDADD = $(unit_libs) $(SECCOMP_LIBS)

tests_unit_kernel_server_test_SOURCES = tests/unit/kernel_server_test.c $(unit_common) \
    tests/unit/ip_of.h \
    tests/unit/kernel_server/questions.h tests/unit/kernel_server/questions.c \
    tests/unit/kernel_server/groups.h tests/unit/kernel_server/groups.c \
    tests/unit/kernel_server/server.h tests/unit/kernel_server/server.c \
    tests/unit/kernel_server/plans.c tests/unit/kernel_server/closing.c \
    tests/unit/kernel_server/shares.c tests/unit/kernel_server/stuck.c \
    tests/unit/kernel_server/meetings.c tests/unit/kernel_server/clients.c \
    tests/unit/kernel_server/nonsense.c tests/unit/kernel_server/hosts.c \
    tests/unit/kernel_server/takeovers.c tests/unit/kernel_server/connections.c tests/unit/kernel_server/processes.c \
    tests/unit/kernel_fake.h tests/unit/kernel_fake.c \
    myrd/listener.h myrd/listener.c myrd/log.h myrd/log.c myrd/rights.h myrd/rights.c $(myrd_kernel_sources) \
    firmware/kernel/hooks.h firmware/kernel/hooks.c firmware/kernel/pins.h firmware/kernel/pins.c \
    $(myrd_filter_sources)
tests_unit_kernel_server_test_CFLAGS = $(unit_cflags)
tests_unit_kernel_server_test_LDADD = $(unit_libs) $(SECCOMP_LIBS)

## The kernel NIC itself, where this machine has one and lets us; else the test skips itself.
unit_kernel = tests/unit/kernel_test.c \
    tests/unit/kernel/network.h tests/unit/kernel/network.c \
    tests/unit/kernel/frames.h tests/unit/kernel/frames.c \
    tests/unit/kernel/expected.h tests/unit/kernel/expected.c \
    tests/unit/kernel/pair.h tests/unit/kernel/pair.c \
    tests/unit/kernel/reference.h tests/unit/kernel/reference.c \
    tests/unit/kernel/packets.h tests/unit/kernel/packets.c \
    tests/unit/kernel/events.h tests/unit/kernel/events.c \
    tests/unit/kernel/plans.h tests/unit/kernel/plans.c \
    tests/unit/kernel/small.h tests/unit/kernel/small.c \
    tests/unit/kernel/elements.h tests/unit/kernel/elements.c \
    tests/unit/kernel/traces.c tests/unit/kernel/members.c tests/unit/kernel/broadcasts.c \
    tests/unit/kernel/strangers.c tests/unit/kernel/users.c tests/unit/kernel/sleepers.c \
    tests/unit/kernel/endings.c tests/unit/kernel/neighbours.c tests/unit/kernel/takeover.c
## Tests that do not depend on the address family. The last ones use up the buffers.
unit_kernel4 = tests/unit/kernel/reused.c tests/unit/kernel/processors.c tests/unit/kernel/stuck.c \
    tests/unit/kernel/memory.c
if HAVE_KERNEL_NIC
tests_unit_kernel_test_SOURCES = $(unit_kernel) $(unit_kernel4) $(unit_common)
tests_unit_kernel_test_CFLAGS = $(unit_cflags) $(LIBBPF_CFLAGS)
tests_unit_kernel_test_LDADD = firmware/libkernel.la $(firmware_libs) $(LIBBPF_LIBS)

## The same on a network of IPv6.
tests_unit_kernel6_test_SOURCES = $(unit_kernel) $(unit_common)
tests_unit_kernel6_test_CPPFLAGS = $(AM_CPPFLAGS) -DNETWORK_OF_6
tests_unit_kernel6_test_CFLAGS = $(unit_cflags) $(LIBBPF_CFLAGS)
tests_unit_kernel6_test_LDADD = firmware/libkernel.la $(firmware_libs) $(LIBBPF_LIBS)
endif
endif
