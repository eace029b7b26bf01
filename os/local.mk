## SPDX-License-Identifier: BSD-3-Clause
## What all rooms may ask of the system, in one place: headers only.
noinst_HEADERS += os/calls.h os/clock.h os/futex.h os/lock.h os/netlink.h os/random.h os/thread.h
