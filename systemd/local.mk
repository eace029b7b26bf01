## The daemon as a service of the user's: systemctl --user enable --now myrd
userunitdir = $(prefix)/lib/systemd/user
userunit_DATA = systemd/myrd.service
CLEANFILES += systemd/myrd.service
EXTRA_DIST += systemd/myrd.service.in
systemd/myrd.service: systemd/myrd.service.in Makefile
	@$(MKDIR_P) systemd
	$(AM_V_GEN)sed 's|@''bindir@|$(bindir)|' $(srcdir)/systemd/myrd.service.in > $@.tmp && mv $@.tmp $@
