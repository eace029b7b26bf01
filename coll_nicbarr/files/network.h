/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the network of this host, on which measurements across nodes depend, by the kind and
 * speed of its fastest interfaces as reported by the kernel. Called by cache.c.
 *
 * The information is read from a few files in /sys. If there are physical interfaces, virtual ones
 * (bridges, veth) are ignored. May be called by any thread. */
#ifndef NICBARR_NETWORK_H
#define NICBARR_NETWORK_H

#include <stddef.h>

enum { NICBARR_NETWORK_TEXT = 160 };

/* Write the description into text[NICBARR_NETWORK_TEXT], such as "Ethernet at 10000 Mb/s, RDMA at
 * 100 Gb/sec (4X EDR)"; returns text. `system` is the root of sysfs: "/sys". */
const char *nicbarr_network_name(const char *system, char *text);

#endif
