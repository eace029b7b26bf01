## SPDX-License-Identifier: BSD-3-Clause
## Random programs whose ranks are fibres of one thread. The code under test is compiled separately, so
## that it calls the scheduler of the fibres at each basic block.
fibre_programs =
if HAVE_CMOCKA
if HAVE_TRACE_PC
fibre_programs += tests/fibres/node_test
check_LTLIBRARIES += tests/fibres/libfibres.la
endif
## mpi_fake.c replaces functions of Open MPI 4.1.
if HAVE_MPI_DOUBLE
fibre_programs += tests/fibres/module_test
check_LTLIBRARIES += tests/fibres/mca_coll_nicbarr.la
endif
check_PROGRAMS += $(fibre_programs)
TESTS += $(fibre_programs)
endif

tests_fibres_libfibres_la_SOURCES = tests/fibres/fibres.h tests/fibres/fibres.c $(unit_crew)
tests_fibres_libfibres_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -U_FORTIFY_SOURCE

tests_fibres_node_test_SOURCES = tests/fibres/node_test.c \
    libmyr/node/process.c libmyr/node/segment.c libmyr/node/processors.c libmyr/node/blocks.c \
    libmyr/node/records.c libmyr/node/kv.c libmyr/node/waiter.c libmyr/node/waits.c libmyr/node/plan.c \
    libmyr/node/node_group.c libmyr/node/exchange.c libmyr/node/ring.c
tests_fibres_node_test_CFLAGS = $(unit_cflags) -fsanitize-coverage=trace-pc
tests_fibres_node_test_LDADD = tests/fibres/libfibres.la $(unit_libs)

## The component as Open MPI loads it, with the soft NIC and a fake one as its kinds of NICs. The test
## program provides the functions that depend on Open MPI's release.
tests_fibres_mca_coll_nicbarr_la_SOURCES = $(coll_nicbarr_sources) tests/fibres/kinds.c \
    tests/fibres/copy.h tests/fibres/copy.c \
    tests/unit/nic_fake.h tests/unit/nic_fake.c \
    $(coll_nicbarr_libnicbarr_pure_la_SOURCES) $(libmyr_libmyr_la_SOURCES) ompi/number.c ompi/pvars.c
tests_fibres_mca_coll_nicbarr_la_CPPFLAGS = $(coll_nicbarr_cppflags) $(SODIUM_CFLAGS) $(VERBS_CFLAGS)
tests_fibres_mca_coll_nicbarr_la_CFLAGS = $(coll_nicbarr_cflags) -fsanitize-coverage=trace-pc
tests_fibres_mca_coll_nicbarr_la_LDFLAGS = -module -avoid-version -rpath /nowhere $(OMPI_LDFLAGS)
tests_fibres_mca_coll_nicbarr_la_LIBADD = firmware/libsoft.la firmware/libmcp.la $(SODIUM_LIBS) \
    $(OMPI_LIBS) $(JANSSON_LIBS) -lm

tests_fibres_module_test_SOURCES = tests/fibres/module_test.c tests/fibres/mpi_fake.h \
    tests/fibres/mpi_fake.c tests/fibres/copy.h tests/fibres/heap.h tests/fibres/heap.c
tests_fibres_module_test_CPPFLAGS = $(coll_nicbarr_cppflags)
tests_fibres_module_test_CFLAGS = $(unit_cflags) -fvisibility=default
tests_fibres_module_test_LDFLAGS = -export-dynamic $(OMPI_LDFLAGS)
tests_fibres_module_test_LDADD = tests/fibres/libfibres.la $(unit_libs) $(OMPI_LIBS) -ldl
EXTRA_tests_fibres_module_test_DEPENDENCIES = tests/fibres/mca_coll_nicbarr.la
