/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NIC's own port. nic_port.c has the functions of libmyr/messages/port.h,
 * libmyr/messages/pace.h and libmyr/soft/nic.h that endpoints for tagged messages call. So nicsim
 * links libmyr's endpoints, the same object code, and they run on the NIC: its processor puts
 * tokens into the rings itself, and finds events there without a bus between.
 *
 * Each node has one port. Its memory is the NIC's.
 */
#ifndef NICSIM_NIC_PORT_H
#define NICSIM_NIC_PORT_H

#include "firmware/sim/machine.h"
#include "libmyr/messages/port.h"

/* A NIC as its endpoint knows it. */
struct myr_soft_nic {
    struct sim_node *node;
};

/* Bytes of a node's memory for a port with so many tokens, and buffers of so many bytes. */
size_t nicsim_nic_port_bytes(uint32_t sends, uint32_t receives, size_t buffers);

#endif
