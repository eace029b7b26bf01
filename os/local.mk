## SPDX-License-Identifier: BSD-3-Clause
## System calls that several directories need; headers only.
noinst_HEADERS += os/calls.h os/clock.h os/futex.h os/lock.h os/netlink.h os/random.h os/thread.h
