## SPDX-License-Identifier: BSD-3-Clause
## The host library: the node's shared memory, waiting, groups. No MPI in it.
noinst_LTLIBRARIES += libmyr/libmyr.la
libmyr_libmyr_la_SOURCES = \
    libmyr/sram.h \
    libmyr/schedule.h libmyr/schedule.c \
    libmyr/carry.h libmyr/carry.c \
    libmyr/nic_data.h libmyr/nic_data.c \
    libmyr/spread.h libmyr/spread.c \
    libmyr/nic_bcast.h libmyr/nic_bcast.c \
    libmyr/status.h libmyr/status.c \
    libmyr/process.h libmyr/process.c \
    libmyr/segment.h libmyr/segment_inside.h libmyr/segment.c \
    libmyr/processors.c libmyr/blocks.c libmyr/records.c libmyr/notes.c \
    libmyr/waiting.h libmyr/waiter.h libmyr/waiter.c \
    libmyr/plan.h libmyr/plan.c \
    libmyr/group.h libmyr/group.c \
    libmyr/slot.h libmyr/exchange.h libmyr/exchange.c libmyr/ring.h libmyr/ring.c \
    libmyr/nic.h libmyr/nic_inside.h libmyr/nic_parts.h libmyr/nic.c \
    libmyr/nic_open.c libmyr/nic_lock.c libmyr/nic_board.c libmyr/nic_poll.c libmyr/nic_sleep.c \
    libmyr/nic_links.h libmyr/nic_links.c \
    libmyr/secrets.h libmyr/secrets.c \
    libmyr/nic_group.h libmyr/group_player.h libmyr/nic_group.c \
    libmyr/soft_group.c libmyr/kernel_group.c \
    libmyr/option.h libmyr/nic_kind.h libmyr/soft_kind.c libmyr/kernel_kind.c \
    libmyr/unix_talk.h libmyr/unix_talk.c \
    libmyr/kernel_words.h libmyr/kernel_nic.h libmyr/kernel_inside.h libmyr/kernel_nic.c \
    libmyr/inlet.h libmyr/inlet.c \
    libmyr/port.h libmyr/port.c \
    libmyr/direct.h libmyr/direct.c libmyr/pace.h libmyr/pace.c \
    libmyr/tagged.h libmyr/tagged_inside.h \
    libmyr/tagged.c libmyr/tagged_send.c libmyr/tagged_receive.c libmyr/tagged_read.c \
    libmyr/nic_thread.h libmyr/nic_thread.c \
    libmyr/nic_look.h libmyr/nic_look.c libmyr/verbs/shown.h \
    libmyr/daemon_words.h libmyr/nic_daemon.h libmyr/nic_daemon.c
if HAVE_VERBS
libmyr_libmyr_la_SOURCES += \
    libmyr/verbs/calls.h libmyr/verbs/calls.c \
    libmyr/verbs/verbs.h libmyr/verbs/device.c libmyr/verbs/near.c libmyr/verbs/link.c \
    libmyr/verbs/parcels.c libmyr/verbs/group.c libmyr/verbs/join.c \
    libmyr/verbs/thread.c libmyr/verbs/kind.c
if HAVE_RDMACM
libmyr_libmyr_la_SOURCES += libmyr/verbs/cm.h libmyr/verbs/route.c
else
libmyr_libmyr_la_SOURCES += libmyr/verbs/no_route.c
endif
else
libmyr_libmyr_la_SOURCES += libmyr/verbs/none.c
endif
libmyr_libmyr_la_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS) $(VERBS_CFLAGS)
libmyr_libmyr_la_LIBADD = firmware/libsoft.la firmware/libmcp.la $(SODIUM_LIBS)
if HAVE_SODIUM
libmyr_libmyr_la_SOURCES += libmyr/seal.h libmyr/seal.c
else
libmyr_libmyr_la_SOURCES += libmyr/seal.h libmyr/seal_none.c
endif
