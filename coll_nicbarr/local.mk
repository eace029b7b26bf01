## SPDX-License-Identifier: BSD-3-Clause
## The coll component. choice/: measuring and choosing; data/: collectives that carry data; files/: tuning
## cache and report. The pure units, which need neither Open MPI nor shared memory, are a separate library,
## because unit tests, benchmarks and tools link it as well.
noinst_LTLIBRARIES += coll_nicbarr/libnicbarr_pure.la
coll_nicbarr_libnicbarr_pure_la_SOURCES = \
    coll_nicbarr/schedule.h coll_nicbarr/schedule.c coll_nicbarr/digest.h coll_nicbarr/digest.c \
    coll_nicbarr/shape.h coll_nicbarr/shape.c coll_nicbarr/nics.h coll_nicbarr/nics.c \
    coll_nicbarr/hello.h coll_nicbarr/hello.c coll_nicbarr/census.h coll_nicbarr/census.c \
    coll_nicbarr/choice/model.h coll_nicbarr/choice/model.c coll_nicbarr/choice/candidates.h \
    coll_nicbarr/choice/candidates.c coll_nicbarr/choice/contest.h coll_nicbarr/choice/contest.c \
    coll_nicbarr/choice/comparison.h coll_nicbarr/choice/comparison.c coll_nicbarr/choice/batches.h \
    coll_nicbarr/choice/batches.c coll_nicbarr/choice/remeasure.h coll_nicbarr/choice/remeasure.c \
    coll_nicbarr/choice/order.h coll_nicbarr/choice/order.c coll_nicbarr/choice/statistics.h \
    coll_nicbarr/choice/statistics.c coll_nicbarr/choice/evidence.h coll_nicbarr/choice/evidence.c \
    coll_nicbarr/files/network.h coll_nicbarr/files/network.c coll_nicbarr/files/regular_file.h \
    coll_nicbarr/files/regular_file.c coll_nicbarr/files/cache_locations.h \
    coll_nicbarr/files/cache_locations.c coll_nicbarr/barrier_transitions.h \
    coll_nicbarr/barrier_transitions.c
coll_nicbarr_libnicbarr_pure_la_LIBADD = -lm

## All files except the list of kinds of NICs, which tests replace.
coll_nicbarr_sources = \
    coll_nicbarr/coll_nicbarr.h coll_nicbarr/component.c coll_nicbarr/parameters.h \
    coll_nicbarr/parameters.c coll_nicbarr/pvars.h coll_nicbarr/pvars.c coll_nicbarr/peers.h \
    coll_nicbarr/peers.c coll_nicbarr/members.h coll_nicbarr/members.c coll_nicbarr/module.h \
    coll_nicbarr/module.c coll_nicbarr/fallback.h coll_nicbarr/fallback.c coll_nicbarr/openmpi.h \
    coll_nicbarr/openmpi.c coll_nicbarr/declining.h \
    coll_nicbarr/declining.c coll_nicbarr/barrier_state.h coll_nicbarr/barrier_state.c \
    coll_nicbarr/split.h coll_nicbarr/split.c coll_nicbarr/setup.h \
    coll_nicbarr/setup.c coll_nicbarr/suspect_nics.h coll_nicbarr/suspect_nics.c coll_nicbarr/layout.h coll_nicbarr/layout.c coll_nicbarr/across.h \
    coll_nicbarr/across.c coll_nicbarr/sharing.h coll_nicbarr/sharing.c coll_nicbarr/groups.h \
    coll_nicbarr/groups.c coll_nicbarr/candidate_groups.h coll_nicbarr/candidate_groups.c coll_nicbarr/checking.h coll_nicbarr/checking.c \
    coll_nicbarr/failures.h coll_nicbarr/failures.c coll_nicbarr/surviving.h coll_nicbarr/surviving.c \
    coll_nicbarr/dead_members.h coll_nicbarr/dead_members.c coll_nicbarr/no_memory.h coll_nicbarr/no_memory.c \
    coll_nicbarr/long_waits.h \
    coll_nicbarr/long_waits.c coll_nicbarr/overdue.h coll_nicbarr/overdue.c coll_nicbarr/barrier.h coll_nicbarr/barrier.c coll_nicbarr/ibarrier.c \
    coll_nicbarr/requests.h coll_nicbarr/requests.c \
    coll_nicbarr/choice/known.h coll_nicbarr/choice/known.c \
    coll_nicbarr/choice/tuning.h coll_nicbarr/choice/tune.h coll_nicbarr/choice/tune.c \
    coll_nicbarr/choice/watch.h coll_nicbarr/choice/watch.c coll_nicbarr/choice/measuring.h \
    coll_nicbarr/choice/measuring.c coll_nicbarr/choice/limits.h coll_nicbarr/choice/limits.c \
    coll_nicbarr/choice/round_trips.c coll_nicbarr/choice/expense.h coll_nicbarr/choice/expense.c \
    coll_nicbarr/data/data.h coll_nicbarr/data/data.c coll_nicbarr/data/data_across.c \
    coll_nicbarr/data/data_tune.c coll_nicbarr/data/data_watch.h coll_nicbarr/data/data_watch.c \
    coll_nicbarr/data/trial.h coll_nicbarr/data/trial.c coll_nicbarr/data/reduction.h \
    coll_nicbarr/data/reduction.c coll_nicbarr/data/scattered.h coll_nicbarr/data/scattered.c \
    coll_nicbarr/data/user_op.h coll_nicbarr/data/user_op.c \
    coll_nicbarr/data/packing.h coll_nicbarr/data/packing.c coll_nicbarr/data/stream.h \
    coll_nicbarr/data/stream.c coll_nicbarr/data/streamed.h coll_nicbarr/data/streamed.c \
    coll_nicbarr/data/classes.h coll_nicbarr/data/classes.c coll_nicbarr/data/memory.h \
    coll_nicbarr/data/memory.c coll_nicbarr/data/carriers.h coll_nicbarr/data/carriers.c \
    coll_nicbarr/data/carrier.h coll_nicbarr/data/carrier.c coll_nicbarr/data/rooted.h \
    coll_nicbarr/data/rooted.c coll_nicbarr/data/traits.h coll_nicbarr/data/traits.c \
    coll_nicbarr/data/persistent.h coll_nicbarr/data/persistent.c \
    coll_nicbarr/data/allreduce.c coll_nicbarr/data/allreduce_across.c coll_nicbarr/data/bcast.c \
    coll_nicbarr/data/bcast_across.c coll_nicbarr/data/gather.c coll_nicbarr/data/scatter.c \
    coll_nicbarr/files/cache.h coll_nicbarr/files/cache.c coll_nicbarr/files/node_cache.h \
    coll_nicbarr/files/node_cache.c coll_nicbarr/files/cache_writer.h \
    coll_nicbarr/files/cache_writer.c coll_nicbarr/files/cache_trouble.h coll_nicbarr/files/cache_file.h \
    coll_nicbarr/files/cache_file.c coll_nicbarr/files/cache_lines.h coll_nicbarr/files/cache_lines.c \
    coll_nicbarr/files/this_host.h coll_nicbarr/files/this_host.c \
    coll_nicbarr/files/report.h coll_nicbarr/files/report.c coll_nicbarr/files/report_file.h \
    coll_nicbarr/files/report_file.c coll_nicbarr/files/json_functions.h \
    coll_nicbarr/files/json_functions.c
coll_nicbarr_cppflags = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(JANSSON_CFLAGS)
coll_nicbarr_cflags = $(AM_CFLAGS) $(OMPI_CFLAGS)
coll_nicbarr_ldflags = -module -avoid-version -no-undefined -Wl,-z,defs $(stay_loaded) $(OMPI_LDFLAGS) \
    -export-symbols-regex '^mca_coll_nicbarr_component$$'
coll_nicbarr_libadd = \
    coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la ompi/libompi_release.la \
    $(OMPI_LIBS) $(JANSSON_LIBS)

component_LTLIBRARIES += coll_nicbarr/mca_coll_nicbarr.la
coll_nicbarr_mca_coll_nicbarr_la_SOURCES = $(coll_nicbarr_sources) coll_nicbarr/kinds.c
coll_nicbarr_mca_coll_nicbarr_la_CPPFLAGS = $(coll_nicbarr_cppflags)
coll_nicbarr_mca_coll_nicbarr_la_CFLAGS = $(coll_nicbarr_cflags)
## The component is linked with MPI's libraries, because a program that loads MPI with RTLD_LOCAL (Python)
## does not provide their symbols.
coll_nicbarr_mca_coll_nicbarr_la_LDFLAGS = $(coll_nicbarr_ldflags)
coll_nicbarr_mca_coll_nicbarr_la_LIBADD = $(coll_nicbarr_libadd)
