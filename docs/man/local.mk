## SPDX-License-Identifier: BSD-3-Clause
## Man pages. Each is what --help of the program (or of its subcommand) says, in the form that help2man
## gives it, and what NAME.SECTION.h2m adds. nicbarr(7) is what ompi_info says of the components; those of
## section 3 are what the public header says.
man_of_programs = \
    docs/man/nicbarr.1 \
    docs/man/nicbarr-doctor.1 \
    docs/man/nicbarr-evaluate.1 \
    docs/man/nicbarr-report.1 \
    docs/man/nicbarr-status.1 \
    docs/man/nicbarr-trace.1 \
    docs/man/nicbarr-tune.1 \
    docs/man/nicbarr_bench.1 \
    docs/man/nicbarr_experiments.1 \
    docs/man/nicbarr_p2p.1 \
    docs/man/nicbarr_raw_limit.1 \
    docs/man/nicbarr_raw_udp.1 \
    docs/man/nicsim.1 \
    docs/man/nicsim-report.1 \
    docs/man/nethosts.1 \
    docs/man/myrd.8
## libmyr's functions, and an overview.
man_of_functions = \
    docs/man/libmyr.3 \
    docs/man/myr_host_open.3 \
    docs/man/myr_host_close.3 \
    docs/man/myr_barrier_create.3 \
    docs/man/myr_barrier_free.3 \
    docs/man/myr_barrier_arrive.3 \
    docs/man/myr_barrier_test.3 \
    docs/man/myr_barrier_wait.3 \
    docs/man/myr_barrier_missing.3 \
    docs/man/myr_barrier_give_up.3 \
    docs/man/myr_barrier_failed.3
EXTRA_DIST += $(man_of_programs:=.h2m) docs/man/parameters.sh docs/man/functions.awk

if HAVE_MAN
man_MANS = $(man_of_programs) $(man_of_functions) docs/man/nicbarr.7
CLEANFILES += $(man_MANS)

man_date = "$$(LC_ALL=C date -u -d "@$${SOURCE_DATE_EPOCH:-$$(date +%s)}" '+%B %Y')"

## nicbarr-report.1 is of `nicbarr report`: of the nicbarr just built. Commands that are scripts are those
## of the source tree.
man_command = $(subst -, ,$(basename $(notdir $@)))
man_program = $(filter %/$(firstword $(man_command)),$(bin_PROGRAMS) $(srcdir)/testbeds/hosts/nethosts)
docs/man/%: docs/man/%.h2m $(bin_PROGRAMS) $(nobase_dist_pkglibexec_SCRIPTS)
	@$(MKDIR_P) docs/man
	$(AM_V_GEN)NICBARR_LIBEXECDIR=$(abs_srcdir) $(HELP2MAN) --no-info --section=$(subst .,,$(suffix $@)) \
	    --source='nicbarr $(VERSION)' --version-string='$(basename $(notdir $@)) $(VERSION)' --include=$< --output=$@ \
	    '$(man_program) $(wordlist 2,9,$(man_command))'
$(man_of_functions): docs/man/functions.awk myr/myr.h
	@$(MKDIR_P) docs/man
	$(AM_V_GEN)$(AWK) -v name=$(basename $(notdir $@)) -v version=$(VERSION) -v date=$(man_date) \
	    -f $(srcdir)/docs/man/functions.awk $(srcdir)/myr/myr.h > $@.tmp && mv $@.tmp $@
docs/man/nicbarr.7: docs/man/parameters.sh $(component_LTLIBRARIES)
	@$(MKDIR_P) docs/man
	$(AM_V_GEN)$(srcdir)/docs/man/parameters.sh $(OMPI_INFO) $(abs_builddir) $(VERSION) $(man_date) > $@.tmp && mv $@.tmp $@
endif
