## The daemon: the soft NIC in a process of its own, by means of the host library; and its service of
## the user's: systemctl --user enable --now myrd
bin_PROGRAMS += myrd/myrd
myrd_myrd_SOURCES = \
    myrd/server.h myrd/server.c \
    myrd/main.c
myrd_myrd_LDADD = libmyr/libmyr.la

userunitdir = $(prefix)/lib/systemd/user
userunit_DATA = myrd/myrd.service
CLEANFILES += myrd/myrd.service
EXTRA_DIST += myrd/myrd.service.in
myrd/myrd.service: myrd/myrd.service.in Makefile
	@$(MKDIR_P) myrd
	$(AM_V_GEN)sed 's|@''bindir@|$(bindir)|' $(srcdir)/myrd/myrd.service.in > $@.tmp && mv $@.tmp $@
