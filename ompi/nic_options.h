/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of the components that carry messages: those of the node's NIC, which are the same for
 * all of them, and what a user reads where one is out of its range, or may have to be changed.
 */
#ifndef NICBARR_NIC_OPTIONS_H
#define NICBARR_NIC_OPTIONS_H

#include "ompi/release.h"

#include <stdbool.h>

struct nicbarr_nic_options {
    int memory; /* MiB, of all shared memory */
    char *network;
    int port;
    int warn; /* seconds */
};

/* Register them for a component, with their defaults. */
void nicbarr_nic_options_add(const mca_base_component_t *component,
                             struct nicbarr_nic_options *options);

/* How a component tells what is wrong. */
typedef void (*nicbarr_complain_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is a component's ("btl_myr") parameter in its range? If not, that is told. */
bool nicbarr_within(nicbarr_complain_fn complain, const char *component, const char *name,
                    int value, int least, int most);

/* The same where 0 stands for what the component finds best. */
bool nicbarr_zero_or_within(nicbarr_complain_fn complain, const char *component, const char *name,
                            int value, int least, int most);

/* The same for those of the NIC. */
bool nicbarr_nic_options_fit(nicbarr_complain_fn complain, const char *component,
                             const struct nicbarr_nic_options *options);

/* How much of the node's shared memory one process's messages take by default (bytes): such that
 * those of all of the job's processes on this node have room in one half of it. */
size_t nicbarr_memory_share(size_t shared_bytes);

/* Messages of a component ("mtl") to a process were lost: what a user reads. */
void nicbarr_nic_lost(char *text, size_t room, const char *framework,
                      const opal_process_name_t *name);

/* The same where nothing comes of the node of a process, which messages are under way to. */
struct myr_unheard;
void nicbarr_nic_unheard(const char *framework, const opal_process_name_t *name,
                         const struct myr_unheard *unheard);

#endif
