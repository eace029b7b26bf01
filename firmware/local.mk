## The control program (MCP), freestanding: no C library, no allocation. Its NICs come after it.
noinst_LTLIBRARIES += firmware/libmcp.la
firmware_libmcp_la_SOURCES = \
    firmware/atomics.h firmware/counters.h firmware/board.h \
    firmware/wire.h firmware/wire.c \
    firmware/engine.h firmware/engine.c \
    firmware/collective.h firmware/collective.c \
    firmware/port.h firmware/port.c \
    firmware/messages.h firmware/connection.h firmware/connection.c \
    firmware/sdma.c firmware/send.c firmware/recv.c firmware/rdma.c \
    firmware/mcp.h firmware/mcp.c
firmware_libmcp_la_CFLAGS = $(AM_CFLAGS) -ffreestanding

## The soft NIC's wire.
noinst_LTLIBRARIES += firmware/libsoft.la
firmware_libsoft_la_SOURCES = \
    firmware/soft/addresses.h firmware/soft/addresses.c \
    firmware/soft/udp.h firmware/soft/udp.c
