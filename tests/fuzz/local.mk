## SPDX-License-Identifier: BSD-3-Clause
## Each build contains the fuzzers as programs that run the inputs of the corpus and random ones (play.c). run.sh, whose
## runs are guided by coverage, compiles them separately.
fuzz_programs = \
    tests/fuzz/messages_fuzz tests/fuzz/bcast_fuzz tests/fuzz/collective_fuzz tests/fuzz/tagged_fuzz \
    tests/fuzz/kernel_server_fuzz tests/fuzz/hello_fuzz
fuzz_common = tests/fuzz/fuzz.h tests/fuzz/play.c $(unit_crew)

tests_fuzz_messages_fuzz_SOURCES = tests/fuzz/messages_fuzz.c $(fuzz_common) $(unit_wire)
tests_fuzz_messages_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_messages_fuzz_LDADD = $(firmware_libs)

tests_fuzz_bcast_fuzz_SOURCES = tests/fuzz/bcast_fuzz.c $(fuzz_common)
tests_fuzz_bcast_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_bcast_fuzz_LDADD = $(unit_libs) firmware/libmcp.la

tests_fuzz_collective_fuzz_SOURCES = tests/fuzz/collective_fuzz.c $(fuzz_common)
tests_fuzz_collective_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_collective_fuzz_LDADD = $(firmware_libs)

tests_fuzz_tagged_fuzz_SOURCES = tests/fuzz/tagged_fuzz.c $(fuzz_common)
tests_fuzz_tagged_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_tagged_fuzz_LDADD = $(unit_libs) firmware/libmcp.la

tests_fuzz_hello_fuzz_SOURCES = tests/fuzz/hello_fuzz.c $(fuzz_common)
tests_fuzz_hello_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_hello_fuzz_LDADD = $(unit_libs)

tests_fuzz_kernel_server_fuzz_SOURCES = tests/fuzz/kernel_server_fuzz.c $(fuzz_common) \
    tests/fuzz/daemon.h tests/fuzz/daemon.c tests/unit/kernel_fake.h tests/unit/kernel_fake.c \
    myrd/listener.h myrd/listener.c myrd/rights.h myrd/rights.c myrd/filter_none.c $(myrd_kernel_sources) \
    firmware/kernel/hooks.h firmware/kernel/hooks.c firmware/kernel/pins.h firmware/kernel/pins.c
tests_fuzz_kernel_server_fuzz_CFLAGS = $(unit_cflags)
tests_fuzz_kernel_server_fuzz_LDFLAGS = -Wl,--wrap=poll,--wrap=clock_gettime,--wrap=myr_talk_peer
tests_fuzz_kernel_server_fuzz_LDADD = $(unit_libs)

## Sources that only run.sh compiles, with sanitizers.
EXTRA_DIST += tests/fuzz/json.dict tests/fuzz/soft_server_fuzz.c tests/fuzz/cache_fuzz.c tests/fuzz/report_fuzz.c \
    tests/fuzz/corpus
