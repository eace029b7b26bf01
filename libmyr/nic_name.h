/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of a NIC of any kind, by which other processes reach it. */
#ifndef MYR_NIC_NAME_H
#define MYR_NIC_NAME_H

#include <stdint.h>

#include "firmware/ip.h"

enum { MYR_NIC_ADDRESSES = 4 };

/* The addresses of a NIC, as plain data, and a key that identifies it. (In GM, the name of the
 * node.) */
struct myr_nic_name {
    uint64_t key;
    uint32_t count;
    struct {
        struct mcp_ip ip; /* network byte order, as the port */
        uint16_t port;
        uint8_t prefix; /* bits of the network part, of 128 */
        uint8_t zero;
    } address[MYR_NIC_ADDRESSES];
    uint32_t zero;
};

#endif
