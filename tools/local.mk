## SPDX-License-Identifier: BSD-3-Clause
## The user's tool: nicbarr, one file for each subcommand.
bin_PROGRAMS += tools/nicbarr
tools_nicbarr_SOURCES = \
    tools/nicbarr.c \
    tools/commands.h \
    tools/script.h tools/script.c tools/by_script.c \
    tools/report.c \
    tools/segments.h tools/segments.c tools/status.c tools/snapshot.h tools/snapshot.c tools/status_forms.h \
    tools/status_text.c tools/status_json.c tools/status_metrics.c \
    tools/waiting.h tools/waiting.c tools/calls.h tools/calls.c tools/metrics.h tools/metrics.c \
    tools/run.h tools/run.c tools/findings.h tools/findings.c \
    tools/doctor.h tools/doctor.c tools/doctor_ompi.c tools/doctor_job.c tools/probe/probe.h \
    $(tools_report_sources)
tools_nicbarr_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBEXECDIR='"$(pkglibexecdir)"' \
    -DPKGDATADIR='"$(pkgdatadir)"' -DDOCDIR='"$(docdir)"'
tools_nicbarr_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tools_nicbarr_LDADD = libmyr/libmyr.la $(JANSSON_LIBS) -lm

## Completion in bash, which looks for a file by the command's name.
bashcompletiondir = $(datadir)/bash-completion/completions
completed = nicsim nethosts myrd
EXTRA_DIST += tools/completion.bash tools/ccache.sh
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bashcompletiondir)'
	$(INSTALL_DATA) '$(srcdir)/tools/completion.bash' '$(DESTDIR)$(bashcompletiondir)/nicbarr'
	cd '$(DESTDIR)$(bashcompletiondir)' && for command in $(completed); do ln -sf nicbarr $$command; done
uninstall-local:
	-cd '$(DESTDIR)$(bashcompletiondir)' && rm -f nicbarr $(completed)

## What all scripts say of themselves; nethosts is installed.
nobase_dist_libexecdata_DATA += tools/usage.sh

## What `nicbarr trace` runs.
nobase_dist_pkglibexec_SCRIPTS += tools/trace.sh

## The job of `nicbarr doctor`, and how it is started.
nobase_dist_pkglibexec_SCRIPTS += tools/job.sh
nobase_pkglibexec_PROGRAMS += tools/probe/nicbarr_probe
tools_probe_nicbarr_probe_SOURCES = \
    tools/probe/probe.h tools/probe/probe.c tools/probe/pairs.c tools/probe/tournament.h tools/probe/tournament.c \
    tools/findings.h tools/findings.c \
    tools/alloc.h tools/text.h tools/text.c \
    coll_nicbarr/files/cache_file.h coll_nicbarr/files/cache_file.c \
    coll_nicbarr/files/cache_lines.h coll_nicbarr/files/cache_lines.c coll_nicbarr/kinds.c
tools_probe_nicbarr_probe_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) $(JANSSON_CFLAGS)
tools_probe_nicbarr_probe_LDADD = coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la \
    $(MPI_LIBS) $(JANSSON_LIBS) -lm

tools_report_sources = \
    tools/alloc.h \
    tools/text.h tools/text.c \
    tools/table.h tools/table.c \
    tools/report_file.h tools/report_file.c \
    tools/report_text.h tools/report_text.c \
    tools/plot.h tools/plot.c

## Their tests: the whole by a script, on the program in $NICBARR or the one just built (automake
## runs tests where its Makefile is); the parts by cmocka.
TESTS += tools/tests/report_test.sh tools/tests/status_test.sh tools/tests/trace_test.sh tools/tests/evaluate_test.sh \
    tools/tests/tune_test.sh tools/tests/tuned_rules_test.sh tools/tests/pages_test.sh
EXTRA_DIST += \
    tools/tests/tune_test.sh tools/tests/tuned_rules_test.sh \
    tools/tests/pages_test.sh \
    tools/tests/evaluate_test.sh \
    tools/tests/sample_experiments.sh \
    tools/tests/status_test.sh \
    tools/tests/trace_test.sh \
    tools/tests/report_test.sh \
    tools/tests/across.json \
    tools/tests/collectives.json \
    tools/tests/every_source.json

## Processes for `nicbarr status` to look at.
check_PROGRAMS += tools/tests/status_subject
tools_tests_status_subject_SOURCES = tools/tests/status_subject.c
tools_tests_status_subject_LDADD = coll_nicbarr/libnicbarr_pure.la libmyr/libmyr.la

if HAVE_CMOCKA
check_PROGRAMS += tools/tests/tools_test
TESTS += tools/tests/tools_test
tools_tests_tools_test_SOURCES = tools/tests/tools_test.c $(unit_common) $(tools_report_sources) \
    tools/probe/tournament.h tools/probe/tournament.c tools/findings.h tools/findings.c
tools_tests_tools_test_CFLAGS = $(unit_cflags) $(JANSSON_CFLAGS)
tools_tests_tools_test_LDADD = $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm
endif
