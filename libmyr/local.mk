## SPDX-License-Identifier: BSD-3-Clause
## The host library, independent of MPI. node/: the node's shared memory, and groups on one node; groups/: groups
## across nodes, independent of the kind of NIC; soft/, kernel/, verbs/: one kind of NIC each; messages/: ports and
## matching.
noinst_LTLIBRARIES += libmyr/libmyr.la
libmyr_libmyr_la_SOURCES = \
    libmyr/status.h libmyr/status.c libmyr/option.h libmyr/schedule.h libmyr/schedule.c \
    libmyr/waiting.h libmyr/unix_talk.h libmyr/unix_talk.c libmyr/nic_kind.h libmyr/nic_name.h \
    libmyr/node/sram.h libmyr/node/process.h libmyr/node/process.c libmyr/node/segment_inside.h \
    libmyr/node/segment.h libmyr/node/segment.c libmyr/node/processors.c libmyr/node/blocks.c \
    libmyr/node/records.c libmyr/node/kv.c libmyr/node/waiter.h libmyr/node/waiter.c \
    libmyr/node/waits.h libmyr/node/waits.c \
    libmyr/node/plan.h libmyr/node/plan.c libmyr/node/node_group.h libmyr/node/node_group.c \
    libmyr/node/slot.h libmyr/node/exchange.h libmyr/node/exchange.c libmyr/node/ring.h \
    libmyr/node/ring.c libmyr/node/direct.h libmyr/node/direct.c \
    libmyr/groups/secrets.h libmyr/groups/secrets.c libmyr/groups/carry.h libmyr/groups/carry.c \
    libmyr/groups/spread.h libmyr/groups/spread.c libmyr/groups/group_member.h \
    libmyr/groups/group_ops.h libmyr/groups/group_ops.c libmyr/groups/group_tables.h libmyr/groups/group_tables.c \
    libmyr/groups/nic_group.h libmyr/groups/nic_group.c libmyr/groups/nic_data.h \
    libmyr/groups/nic_data.c libmyr/groups/nic_bcast.h libmyr/groups/nic_bcast.c \
    libmyr/soft/nic.h libmyr/soft/nic.c libmyr/soft/nic_inside.h libmyr/soft/nic_parts.h \
    libmyr/soft/nic_open.c libmyr/soft/nic_lock.c libmyr/soft/nic_board.c libmyr/soft/nic_poll.c \
    libmyr/soft/nic_leave.c libmyr/soft/nic_sleep.c libmyr/soft/nic_links.h libmyr/soft/nic_links.c \
    libmyr/soft/nic_thread.h libmyr/soft/nic_thread.c libmyr/soft/daemon_words.h \
    libmyr/soft/nic_daemon.h libmyr/soft/nic_daemon.c libmyr/soft/nic_inspect.h \
    libmyr/soft/nic_inspect.c libmyr/soft/soft_group.h libmyr/soft/soft_group.c libmyr/soft/soft_kind.c \
    libmyr/kernel/kernel_words.h libmyr/kernel/kernel_inside.h libmyr/kernel/kernel_nic.h \
    libmyr/kernel/kernel_nic.c libmyr/kernel/kernel_group.c libmyr/kernel/kernel_kind.c \
    libmyr/messages/inlet.h libmyr/messages/inlet.c libmyr/messages/port.h libmyr/messages/port.c \
    libmyr/messages/port_inside.h libmyr/messages/port_remote.c \
    libmyr/messages/pace.h libmyr/messages/pace.c libmyr/messages/tagged_inside.h \
    libmyr/messages/tagged.h libmyr/messages/tagged.c libmyr/messages/tagged_send.c \
    libmyr/messages/tagged_receive.c libmyr/messages/tagged_read.c \
    libmyr/verbs/shown.h
if HAVE_VERBS
libmyr_libmyr_la_SOURCES += \
    libmyr/verbs/calls.h libmyr/verbs/calls.c \
    libmyr/verbs/verbs.h libmyr/verbs/device.c libmyr/verbs/near.c libmyr/verbs/link.c \
    libmyr/verbs/data_messages.c libmyr/verbs/words.c libmyr/verbs/verbs_group.c libmyr/verbs/join.c \
    libmyr/verbs/thread.c libmyr/verbs/verbs_kind.c
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
