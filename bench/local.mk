## SPDX-License-Identifier: BSD-3-Clause
## Benchmarks: of MPI's collectives, of the raw limit, and of messages.
bin_PROGRAMS += bench/nicbarr_bench bench/nicbarr_raw_limit bench/nicbarr_p2p
bench_nicbarr_bench_SOURCES = \
    bench/nicbarr_bench.c \
    bench/options.h bench/options.c \
    bench/raw_job.h bench/raw_job.c \
    bench/report.h bench/report.c \
    $(bench_contest_sources)
bench_nicbarr_bench_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) $(JANSSON_CFLAGS)
bench_nicbarr_bench_LDADD = coll_nicbarr/libnicbarr_pure.la $(MPI_LIBS) $(JANSSON_LIBS) -lm

bench_mpi_sources = \
    bench/operations.h bench/operations.c \
    bench/mpi_operation.h bench/mpi_operation.c \
    bench/mpi_side.h bench/mpi_side.c \
    bench/work.h bench/work.c
bench_raw_sources = \
    bench/alloc.h \
    bench/raw.h bench/raw.c \
    bench/chunk.h bench/chunk.c \
    bench/stats.h bench/stats.c
## A job in which implementations of an operation take turns.
bench_contest_sources = \
    bench/number.h \
    bench/output.h bench/output.c \
    bench/job.h bench/job.c \
    bench/contest.h bench/contest.c \
    $(bench_mpi_sources) \
    $(bench_raw_sources)
bench_nicbarr_raw_limit_SOURCES = \
    bench/raw_limit.c bench/argp_number.h bench/number.h $(bench_raw_sources)
bench_nicbarr_raw_limit_LDADD = coll_nicbarr/libnicbarr_pure.la -lm

bench_nicbarr_p2p_SOURCES = \
    bench/nicbarr_p2p.c bench/alloc.h bench/argp_number.h bench/number.h \
    bench/chunk.h bench/chunk.c bench/work.h bench/work.c \
    bench/stats.h bench/stats.c
bench_nicbarr_p2p_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_nicbarr_p2p_LDADD = coll_nicbarr/libnicbarr_pure.la $(MPI_LIBS) -lm
EXTRA_DIST += bench/p2p.sh

## A UDP packet there and back, the limit of barriers across hosts; bench/hosts.sh runs it.
bin_PROGRAMS += bench/nicbarr_raw_udp
bench_nicbarr_raw_udp_SOURCES = bench/raw_udp.c \
    bench/alloc.h bench/argp_number.h bench/number.h \
    bench/chunk.h bench/chunk.c \
    bench/stats.h bench/stats.c
bench_nicbarr_raw_udp_LDADD = coll_nicbarr/libnicbarr_pure.la -lm

## Whole jobs of a few calls, which bench/startup.sh starts.
noinst_PROGRAMS += bench/startup
bench_startup_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_startup_LDADD = $(MPI_LIBS)
EXTRA_DIST += bench/startup.sh

## The algorithms of Open MPI's coll/tuned, which `nicbarr tune --write-tuned-rules` measures.
nobase_pkglibexec_PROGRAMS += bench/tuned/nicbarr_tuned
bench_tuned_nicbarr_tuned_SOURCES = \
    bench/tuned/nicbarr_tuned.c \
    bench/tuned/algorithms.h bench/tuned/algorithms.c \
    bench/tuned/order.h bench/tuned/order.c \
    $(bench_contest_sources)
bench_tuned_nicbarr_tuned_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_tuned_nicbarr_tuned_LDADD = coll_nicbarr/libnicbarr_pure.la $(MPI_LIBS) -lm

EXTRA_DIST += bench/lj.in bench/built.sh bench/data.sh bench/data_table.sh bench/data_hosts.sh bench/regret.sh bench/rivals.sh bench/other_mpi.sh bench/other_mpi.c bench/petsc.sh bench/hosts.sh bench/kernel.sh bench/machines.sh bench/nics.sh bench/foreign.sh bench/neighbour.sh bench/verbs.sh \
    bench/quantiles.sh bench/udp_round_trip.sh bench/figures.py bench/pictures.py \
    bench/results/hosts.json bench/results/kernel.json bench/results/kernel_redirected.json bench/results/machines.json bench/results/node.json \
    bench/results/regret.json bench/results/rivals.json bench/results/startup.json

## What `nicbarr evaluate` and `nicbarr tune` run; with nethosts it is installed in the order of the source tree.
nobase_dist_pkglibexec_SCRIPTS += bench/report/evaluate.sh bench/report/tune.sh
nobase_dist_libexecdata_DATA += \
    bench/report/page.sh bench/report/page.css bench/report/papers.sh bench/report/command.sh \
    bench/report/tuned_rules.sh bench/report/tuned_rules.awk \
    bench/report/style.gp \
    bench/report/latency.gp bench/report/latency_factor.gp \
    bench/report/overhead.gp bench/report/overhead_difference.gp \
    bench/report/granularity.gp bench/report/efficiency.gp \
    bench/report/arrival.gp bench/report/arrival_difference.gp \
    bench/report/applications.gp bench/report/applications_factor.gp bench/report/applications_efficiency.gp \
    bench/report/rtt.gp bench/report/rtt_per_peer.gp \
    bench/report/bcast.gp bench/report/bcast_factor.gp \
    bench/report/fuzzy.gp bench/report/tuned.gp

EXTRA_DIST += bench/report/page_checks.sh bench/report/svg_texts.py bench/report/open_pages.py

## Benchmarks of the parts, with Google Benchmark; C++ only where that wants it.
if HAVE_BENCHMARK
noinst_PROGRAMS += bench/parts
bench_parts_SOURCES = bench/parts.h bench/parts_inside.h bench/parts.c bench/parts_pair.c bench/parts.cpp
bench_parts_CXXFLAGS = $(AM_CXXFLAGS) $(BENCHMARK_CFLAGS)
bench_parts_LDADD = coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la firmware/libmcp.la $(BENCHMARK_LIBS)
endif

## nicsim: barriers on simulated clusters, and the papers' figures beside them.
bin_PROGRAMS += bench/nicsim/nicsim
bench_nicsim_sources = \
    bench/nicsim/port.h bench/nicsim/port.c \
    bench/nicsim/play.h bench/nicsim/play.c \
    bench/nicsim/play_bcast.h bench/nicsim/play_bcast.c \
    bench/nicsim/nic_port.h bench/nicsim/nic_port.c \
    bench/nicsim/play_messages.h bench/nicsim/play_messages.c \
    bench/nicsim/parameters.h bench/nicsim/parameters.c \
    bench/nicsim/csv.h bench/nicsim/csv.c \
    bench/nicsim/paper.h bench/nicsim/paper.c
bench_nicsim_nicsim_SOURCES = \
    bench/nicsim/nicsim.c \
    bench/nicsim/commands.h \
    bench/nicsim/barrier.c bench/nicsim/bcast.c bench/nicsim/table.c bench/nicsim/scale.c \
    bench/nicsim/memory.c bench/nicsim/evaluate.c bench/nicsim/studies.c \
    bench/nicsim/broadcasts.c bench/nicsim/messages.c bench/nicsim/report.c \
    tools/script.h tools/script.c \
    bench/nicsim/fit.h bench/nicsim/fit.c \
    $(bench_nicsim_sources)
bench_nicsim_nicsim_CPPFLAGS = $(AM_CPPFLAGS) -DNICSIM_DATA='"$(pkgdatadir)/nicsim"' \
    -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
bench_nicsim_nicsim_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
bench_nicsim_nicsim_LDADD = \
    coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la firmware/libsim.la firmware/libmcp.la \
    $(JANSSON_LIBS) -lm
if HAVE_GSL
bench_nicsim_nicsim_CPPFLAGS += -DHAVE_GSL
bench_nicsim_nicsim_CFLAGS += $(GSL_CFLAGS)
bench_nicsim_nicsim_LDADD += $(GSL_LIBS)
endif
nicsim_machinesdir = $(pkgdatadir)/nicsim/machines
dist_nicsim_machines_DATA = \
    bench/nicsim/machines/lanai43.json \
    bench/nicsim/machines/lanai72.json \
    bench/nicsim/machines/npii.json \
    bench/nicsim/machines/bluefield.json \
    bench/nicsim/machines/ethernet.json \
    bench/nicsim/machines/infiniband.json
nicsim_paperdir = $(pkgdatadir)/nicsim/paper
dist_nicsim_paper_DATA = \
    bench/nicsim/paper/barrier_latency.csv \
    bench/nicsim/paper/bcast_latency.csv \
    bench/nicsim/paper/bcast_root_overhead.csv \
    bench/nicsim/paper/comm_create.csv \
    bench/nicsim/paper/granularity.csv \
    bench/nicsim/paper/mpi_overhead.csv \
    bench/nicsim/paper/synthetic_apps.csv \
    bench/nicsim/paper/unicast.csv \
    bench/nicsim/paper/waiting.csv \
    bench/nicsim/paper/fitted.txt
TESTS += bench/nicsim/tests/nicsim_test.sh bench/nicsim/tests/report_test.sh
EXTRA_DIST += bench/nicsim/tests/nicsim_test.sh bench/nicsim/tests/report_test.sh

## What `nicsim report` runs, beside what `nicbarr evaluate` does.
nobase_dist_pkglibexec_SCRIPTS += bench/nicsim/report.sh
nobase_dist_libexecdata_DATA += \
    bench/nicsim/plots/figures.gp bench/nicsim/plots/errors.gp bench/nicsim/plots/factors.gp \
    bench/nicsim/plots/latency.gp bench/nicsim/plots/factor.gp bench/nicsim/plots/optimum.gp \
    bench/nicsim/plots/lop.gp bench/nicsim/plots/formula.gp \
    bench/nicsim/plots/bcast_bytes.gp bench/nicsim/plots/bcast_root.gp \
    bench/nicsim/plots/bcast_nodes.gp \
    bench/nicsim/plots/message_bytes.gp bench/nicsim/plots/message_nodes.gp \
    bench/nicsim/plots/groups.gp bench/nicsim/plots/packets.gp bench/nicsim/plots/ports.gp \
    bench/nicsim/plots/mpi_latency.gp bench/nicsim/plots/mpi_granularity.gp \
    bench/nicsim/plots/mpi_efficiency.gp bench/nicsim/plots/mpi_arrival.gp \
    bench/nicsim/plots/mpi_difference.gp bench/nicsim/plots/mpi_applications.gp

## The papers' experiments.
bin_PROGRAMS += bench/nicbarr_experiments
bench_nicbarr_experiments_SOURCES = \
    bench/experiments/nicbarr_experiments.c \
    bench/experiments/experiments.h \
    bench/experiments/latency.c \
    bench/experiments/overhead.c \
    bench/experiments/granularity.c \
    bench/experiments/arrival.c \
    bench/experiments/applications.c \
    bench/experiments/bcast.c \
    bench/experiments/rtt.c \
    bench/experiments/fuzzy.c \
    bench/experiments/settings.h bench/experiments/settings.c \
    bench/experiments/table.h bench/experiments/table.c \
    bench/experiments/sides.h bench/experiments/sides.c \
    bench/experiments/loops.h bench/experiments/loops.c \
    bench/experiments/library.h bench/experiments/library.c \
    bench/experiments/fits.h bench/experiments/fits.c \
    $(bench_contest_sources)
bench_nicbarr_experiments_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
bench_nicbarr_experiments_LDADD = coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la $(MPI_LIBS) -lm
