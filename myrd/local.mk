## SPDX-License-Identifier: BSD-3-Clause
## The daemon: it runs a user's soft NIC, as a user service (systemctl --user enable --now myrd), or, with
## --kernel, owns the kernel NIC, as a system service (systemctl enable --now myrd-kernel).
bin_PROGRAMS += myrd/myrd
myrd_myrd_SOURCES = \
    myrd/listener.h myrd/listener.c \
    myrd/log.h myrd/log.c \
    myrd/owner.h myrd/server.c \
    myrd/rights.h myrd/rights.c \
    myrd/main.c $(myrd_filter_sources)
myrd_myrd_LDADD = libmyr/libmyr.la $(SECCOMP_LIBS)
if HAVE_SECCOMP
myrd_filter_sources = myrd/filter.h myrd/filter.c
else
myrd_filter_sources = myrd/filter.h myrd/filter_none.c
endif
myrd_kernel_sources = \
    myrd/kernel_plan.h myrd/kernel_plan.c \
    myrd/kernel_hosts.h myrd/kernel_hosts.c \
    myrd/kernel_interface.h myrd/kernel_interface.c \
    myrd/kernel_guard.h myrd/kernel_guard.c \
    myrd/kernel_meeting.h myrd/kernel_meeting.c \
    myrd/share.h myrd/users.h myrd/users.c \
    myrd/accounts.h myrd/accounts.c \
    myrd/kernel_holders.h myrd/kernel_holders.c \
    myrd/kernel_groups.h myrd/kernel_groups_inside.h myrd/kernel_groups.c \
    myrd/kernel_groups_kept.c myrd/kernel_groups_due.c myrd/kernel_groups_report.c \
    myrd/kernel_clients.h myrd/kernel_clients.c \
    myrd/kernel_server.c
if HAVE_KERNEL_NIC
myrd_myrd_SOURCES += $(myrd_kernel_sources)
myrd_myrd_LDADD += firmware/libkernel.la
else
myrd_myrd_SOURCES += myrd/kernel_none.c
endif

userunitdir = $(prefix)/lib/systemd/user
userunit_DATA = myrd/myrd.service
if HAVE_KERNEL_NIC
systemunitdir = $(prefix)/lib/systemd/system
systemunit_DATA = myrd/myrd-kernel.service
endif
## systemd rejects paths that contain `..`.
make_unit = $(AM_V_GEN)sed "s|@""bindir@|$$(realpath -m $(bindir))|; s|@""sysconfdir@|$$(realpath -m $(sysconfdir))|" \
    $(srcdir)/$@.in > $@.tmp && mv $@.tmp $@
CLEANFILES += myrd/myrd.service myrd/myrd-kernel.service
EXTRA_DIST += myrd/myrd.service.in myrd/myrd-kernel.service.in myrd/myrd.conf
myrd/myrd.service: myrd/myrd.service.in Makefile
	@$(MKDIR_P) myrd
	$(make_unit)
myrd/myrd-kernel.service: myrd/myrd-kernel.service.in Makefile
	@$(MKDIR_P) myrd
	$(make_unit)
