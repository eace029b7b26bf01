## SPDX-License-Identifier: BSD-3-Clause
## Random programs whose ranks are fibres of one thread: what is tested is compiled anew, so that it
## calls their scheduler at each basic block.
if HAVE_CMOCKA
if HAVE_TRACE_PC
fibre_programs = tests/fibres/node_test
check_PROGRAMS += $(fibre_programs)
TESTS += $(fibre_programs)
check_LTLIBRARIES += tests/fibres/libfibres.la
endif
endif

tests_fibres_libfibres_la_SOURCES = tests/fibres/fibres.h tests/fibres/fibres.c $(unit_common)

tests_fibres_node_test_SOURCES = tests/fibres/node_test.c \
    libmyr/node/process.c libmyr/node/segment.c libmyr/node/processors.c libmyr/node/blocks.c \
    libmyr/node/records.c libmyr/node/notes.c libmyr/node/waiter.c libmyr/node/plan.c \
    libmyr/node/group.c libmyr/node/exchange.c libmyr/node/ring.c
tests_fibres_node_test_CFLAGS = $(unit_cflags) -fsanitize-coverage=trace-pc
tests_fibres_node_test_LDADD = tests/fibres/libfibres.la $(unit_libs)
