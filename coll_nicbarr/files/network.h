/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What network this host has, in words: kind and speed of its fastest interfaces, as the kernel
 * tells them. A measurement across nodes depends on it. Called by cache.c.
 *
 * Looking takes some reads in /sys. Where there are real interfaces, those that are made of
 * software (bridges, containers' ends) do not count. Threads: any.
 */
#ifndef NICBARR_NETWORK_H
#define NICBARR_NETWORK_H

#include <stddef.h>

enum { NICBARR_NETWORK_TEXT = 160 };

/* Write it into text[NICBARR_NETWORK_TEXT], such as "Ethernet at 10000 Mb/s, RDMA at 100 Gb/sec (4X
 * EDR)"; returns text. `system` is where the kernel tells it: "/sys". */
const char *nicbarr_network_name(const char *system, char *text);

#endif
