## SPDX-License-Identifier: BSD-3-Clause
## The control program (MCP), which is freestanding (no C library, no allocation), then the NICs that run it.
noinst_LTLIBRARIES += firmware/libmcp.la
firmware_libmcp_la_SOURCES = \
    firmware/atomics.h firmware/counters.h firmware/board.h \
    firmware/siphash.h firmware/nh.h firmware/wire.h firmware/wire.c \
    firmware/step.h firmware/missing.h firmware/backoff.h \
    firmware/engine.h firmware/engine_inside.h firmware/engine.c \
    firmware/bcast.h firmware/bcast.c firmware/policy.h \
    firmware/collective.h firmware/collective_inside.h firmware/collective.c \
    firmware/collective_bcast.c \
    firmware/match.h firmware/match.c \
    firmware/port.h firmware/port_table.c \
    firmware/messages.h firmware/connection.h firmware/connection.c \
    firmware/sdma.c firmware/send.c firmware/recv.c firmware/rdma.c \
    firmware/mcp.h firmware/mcp.c
firmware_libmcp_la_CFLAGS = $(AM_CFLAGS) -ffreestanding

## The soft NIC's sockets.
noinst_LTLIBRARIES += firmware/libsoft.la
firmware_libsoft_la_SOURCES = \
    firmware/ip.h firmware/soft/addresses.h firmware/soft/addresses.c \
    firmware/soft/udp.h firmware/soft/udp.c

## The kernel NIC: a BPF program, which needs clang whatever compiler is used otherwise, and its owner,
## which embeds the program as a skeleton. The program includes the engine's sources.
bpf_compile = $(AM_V_GEN)$(CLANG) -O2 -g -Wall -ffreestanding -target bpf -mcpu=v3 -I$(top_srcdir) \
    $(BPF_CPPFLAGS) $(LIBBPF_CFLAGS) -c -o $@
bpf_skeleton = $(AM_V_GEN)$(BPFTOOL) gen skeleton
firmware_kernel_program = \
    firmware/kernel/program/maps.h firmware/kernel/program/packets.h firmware/kernel/program/checks.h \
    firmware/kernel/program/send.h firmware/kernel/program/buffers.h firmware/kernel/program/wake.h \
    firmware/kernel/program/run.h firmware/kernel/program/bcast.h firmware/kernel/program/stuck.h \
    firmware/kernel/program/hold.h
if HAVE_KERNEL_NIC
noinst_LTLIBRARIES += firmware/libkernel.la
firmware_libkernel_la_SOURCES = \
    firmware/kernel/kernel.h firmware/kernel/bell.h \
    firmware/kernel/hooks.h firmware/kernel/hooks.c \
    firmware/kernel/pages.h firmware/kernel/pages.c \
    firmware/kernel/pins.h firmware/kernel/pins.c \
    firmware/kernel/owner.h firmware/kernel/owner_inside.h firmware/kernel/owner.c \
    firmware/kernel/owner_load.c firmware/kernel/owner_groups.c firmware/kernel/owner_neighbours.c \
    firmware/kernel/owner_kept.c
nodist_firmware_libkernel_la_SOURCES = firmware/kernel/program.skel.h
firmware_libkernel_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)
firmware_libkernel_la_CFLAGS = $(AM_CFLAGS) $(LIBBPF_CFLAGS)
firmware_libkernel_la_LIBADD = $(LIBBPF_LIBS)
BUILT_SOURCES += firmware/kernel/program.skel.h
CLEANFILES += firmware/kernel/program.bpf.o firmware/kernel/program.skel.h
firmware_kernel_needs = $(firmware_kernel_program) \
    firmware/kernel/kernel.h firmware/ip.h firmware/atomics.h firmware/counters.h \
    firmware/siphash.h firmware/nh.h firmware/wire.h firmware/step.h firmware/missing.h \
    firmware/backoff.h firmware/engine.h firmware/engine_inside.h firmware/engine.c \
    firmware/bcast.h firmware/bcast.c firmware/policy.h
firmware/kernel/program.bpf.o: firmware/kernel/program.bpf.c $(firmware_kernel_needs)
	@$(MKDIR_P) firmware/kernel
	$(bpf_compile) $(srcdir)/firmware/kernel/program.bpf.c
firmware/kernel/program.skel.h: firmware/kernel/program.bpf.o
	$(bpf_skeleton) firmware/kernel/program.bpf.o name program > $@.tmp && mv $@.tmp $@
endif
EXTRA_DIST += firmware/kernel/program.bpf.c $(firmware_kernel_program)

## The simulated cluster, for bench/nicsim and the tests; it runs the control program of libmcp.
noinst_LTLIBRARIES += firmware/libsim.la
firmware_libsim_la_SOURCES = \
    firmware/sim/events.h firmware/sim/events.c \
    firmware/sim/machine.h firmware/sim/machine_inside.h firmware/sim/machine.c firmware/sim/host.c
