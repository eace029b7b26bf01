/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the MCA parameters of the NIC that the two point-to-point components, btl/myr and
 * mtl/myr, have in common, and contains the messages that both of them print: errors for parameters
 * out of range, and warnings about lost messages and unresponsive nodes. */
#ifndef NICBARR_NIC_OPTIONS_H
#define NICBARR_NIC_OPTIONS_H

#include "ompi/release.h"

#include <stdbool.h>

struct nicbarr_nic_options {
    int memory; /* MiB of shared memory, in total */
    char *network;
    int port;
    int warn; /* seconds */
};

/* Registers these parameters for a component, with their defaults. */
void nicbarr_nic_options_add(const mca_base_component_t *component,
                             struct nicbarr_nic_options *options);

/* Reports a problem for a component. */
typedef void (*nicbarr_complain_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether a parameter of `component` (such as "btl_myr") is in its range. If it is not,
 * calls `complain`. */
bool nicbarr_within(nicbarr_complain_fn complain, const char *component, const char *name,
                    int value, int least, int most);

/* Like nicbarr_within(), for a parameter that may also be 0, which means the component's
 * default. */
bool nicbarr_zero_or_within(nicbarr_complain_fn complain, const char *component, const char *name,
                            int value, int least, int most);

/* Like nicbarr_within(), for all parameters of the NIC. */
bool nicbarr_nic_options_fit(nicbarr_complain_fn complain, const char *component,
                             const struct nicbarr_nic_options *options);

/* Returns the default limit (bytes) of the memory for messages that one process may allocate: half
 * of the node's shared memory, divided by the number of this job's processes on the node. */
size_t nicbarr_memory_share(size_t shared_bytes);

/* Writes the message that tells users that messages to process `name` have been lost. `framework`
 * is that of the calling component, such as "mtl". */
void nicbarr_nic_lost(char *text, size_t room, const char *framework,
                      const opal_process_name_t *name);

/* Prints the warning that MPI_Finalize waits for a process of another job. */
void nicbarr_nic_not_received(const char *framework, const opal_process_name_t *name);

/* Prints the warning that the node of a process with outstanding messages is unresponsive. */
struct myr_unresponsive;
void nicbarr_nic_unresponsive(const char *framework, const opal_process_name_t *name,
                              const struct myr_unresponsive *unresponsive);

#endif
