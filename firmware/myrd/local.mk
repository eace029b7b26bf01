## The daemon: the soft NIC in a process of its own, by means of the host library.
bin_PROGRAMS += firmware/myrd/myrd
firmware_myrd_myrd_SOURCES = \
    firmware/myrd/server.h firmware/myrd/server.c \
    firmware/myrd/main.c
firmware_myrd_myrd_LDADD = libmyr/libmyr.la
