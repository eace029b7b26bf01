## SPDX-License-Identifier: BSD-3-Clause
## The coll component. What needs neither Open MPI nor shared memory is a library of its own, which
## the tests and benchmarks of the parts link as well.
noinst_LTLIBRARIES += coll_nicbarr/libnicbarr_pure.la
coll_nicbarr_libnicbarr_pure_la_SOURCES = \
    coll_nicbarr/schedule.h coll_nicbarr/schedule.c \
    coll_nicbarr/model.h coll_nicbarr/model.c \
    coll_nicbarr/digest.h coll_nicbarr/digest.c \
    coll_nicbarr/shape.h coll_nicbarr/shape.c \
    coll_nicbarr/nics.h coll_nicbarr/nics.c \
    coll_nicbarr/hello.h coll_nicbarr/hello.c \
    coll_nicbarr/census.h coll_nicbarr/census.c \
    coll_nicbarr/candidates.h coll_nicbarr/candidates.c \
    coll_nicbarr/contest.h coll_nicbarr/contest.c \
    coll_nicbarr/duel.h coll_nicbarr/duel.c \
    coll_nicbarr/portions.h coll_nicbarr/portions.c \
    coll_nicbarr/anew.h coll_nicbarr/anew.c \
    coll_nicbarr/order.h coll_nicbarr/order.c \
    coll_nicbarr/statistics.h coll_nicbarr/statistics.c \
    coll_nicbarr/evidence.h coll_nicbarr/evidence.c \
    coll_nicbarr/network.h coll_nicbarr/network.c \
    coll_nicbarr/regular_file.h coll_nicbarr/regular_file.c \
    coll_nicbarr/cache_places.h coll_nicbarr/cache_places.c
coll_nicbarr_libnicbarr_pure_la_LIBADD = -lm

## All but the list of kinds of NICs, which tests replace.
coll_nicbarr_sources = \
    coll_nicbarr/coll_nicbarr.h \
    coll_nicbarr/component.c \
    coll_nicbarr/parameters.h coll_nicbarr/parameters.c \
    coll_nicbarr/peers.h coll_nicbarr/peers.c \
    coll_nicbarr/members.h coll_nicbarr/members.c \
    coll_nicbarr/module.h coll_nicbarr/module.c \
    coll_nicbarr/across.h coll_nicbarr/across.c \
    coll_nicbarr/sharing.h coll_nicbarr/sharing.c \
    coll_nicbarr/groups.h coll_nicbarr/groups.c \
    coll_nicbarr/entrants.h coll_nicbarr/entrants.c \
    coll_nicbarr/overdue.h coll_nicbarr/overdue.c \
    coll_nicbarr/barrier.h coll_nicbarr/barrier.c coll_nicbarr/ibarrier.c \
    coll_nicbarr/requests.h coll_nicbarr/requests.c \
    coll_nicbarr/rooted.h coll_nicbarr/rooted.c \
    coll_nicbarr/persistent.h coll_nicbarr/persistent.c \
    coll_nicbarr/reduction.h coll_nicbarr/reduction.c \
    coll_nicbarr/user_op.h coll_nicbarr/user_op.c \
    coll_nicbarr/packing.h coll_nicbarr/packing.c coll_nicbarr/stream.h coll_nicbarr/stream.c \
    coll_nicbarr/streamed.h coll_nicbarr/streamed.c \
    coll_nicbarr/data.h coll_nicbarr/data.c coll_nicbarr/data_tune.c \
    coll_nicbarr/data_watch.h coll_nicbarr/data_watch.c \
    coll_nicbarr/trial.h coll_nicbarr/trial.c \
    coll_nicbarr/allreduce.c coll_nicbarr/bcast.c coll_nicbarr/gather.c coll_nicbarr/scatter.c \
    coll_nicbarr/data_across.c coll_nicbarr/allreduce_across.c coll_nicbarr/bcast_across.c \
    coll_nicbarr/carrier.h coll_nicbarr/carrier.c \
    coll_nicbarr/layout.h coll_nicbarr/layout.c \
    coll_nicbarr/tuning.h coll_nicbarr/tune.h coll_nicbarr/tune.c \
    coll_nicbarr/watch.h coll_nicbarr/watch.c \
    coll_nicbarr/together.h coll_nicbarr/together.c \
    coll_nicbarr/limits.h coll_nicbarr/limits.c coll_nicbarr/round_trips.c \
    coll_nicbarr/pvars.h coll_nicbarr/pvars.c \
    coll_nicbarr/cache.h coll_nicbarr/cache.c \
    coll_nicbarr/cache_file.h coll_nicbarr/cache_file.c \
    coll_nicbarr/this_host.h coll_nicbarr/this_host.c \
    coll_nicbarr/report_file.h coll_nicbarr/report_file.c \
    coll_nicbarr/report.h coll_nicbarr/report.c
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
## Hosts that load MPI with RTLD_LOCAL (Python) resolve the component's symbols only so.
coll_nicbarr_mca_coll_nicbarr_la_LDFLAGS = $(coll_nicbarr_ldflags)
coll_nicbarr_mca_coll_nicbarr_la_LIBADD = $(coll_nicbarr_libadd)
