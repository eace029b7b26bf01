/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port of a simulated NIC. nic_port.c implements the functions of libmyr/messages/port.h,
 * libmyr/messages/pace.h and libmyr/soft/nic.h that libmyr's endpoints for tagged messages call. In
 * this way nicsim runs the unmodified object code of these endpoints on the simulated NIC. Since
 * they run on the processor of the NIC, they write tokens into the rings and read events without
 * crossing a bus.
 *
 * Each node has one port, in the NIC's memory. */
#ifndef NICSIM_NIC_PORT_H
#define NICSIM_NIC_PORT_H

#include "firmware/sim/machine.h"
#include "libmyr/messages/port.h"

/* The NIC in the form in which its endpoint accesses it. */
struct myr_soft_nic {
    struct sim_node *node;
};

/* Returns the memory that a node needs for a port with that many tokens, and with buffers of that
 * many bytes. */
size_t nicsim_nic_port_bytes(uint32_t sends, uint32_t receives, size_t buffers);

#endif
