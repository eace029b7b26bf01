/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol between the daemon and its clients over a Unix socket (SOCK_SEQPACKET). The client
 * sends a connect request (struct myr_daemon_hello). The daemon replies with a welcome message; if
 * its status is MYR_OK, the descriptors of the memory and of the UDP socket are attached. The
 * client sends a close message (a "goodbye") before it closes the connection, so that the daemon
 * can distinguish this from the death of the client. */
#ifndef MYR_DAEMON_WORDS_H
#define MYR_DAEMON_WORDS_H

#include <stdint.h>

#include "libmyr/node/sram.h"
#include "libmyr/soft/nic_inside.h"

#define MYR_DAEMON_MAGIC UINT32_C(0x6d797264) /* "myrd" */

enum { MYR_DAEMON_MEMORY, MYR_DAEMON_SOCKET, MYR_DAEMON_DESCRIPTORS };

/* Returns a digest of the layouts, which must be equal on both sides because they share memory. */
static inline uint32_t myr_daemon_layout(void)
{
    return myr_soft_layout() ^ UINT32_C(0x1000193) * MYR_SRAM_LAYOUT ^
           (uint32_t)sizeof(struct myr_sram);
}

struct myr_daemon_hello {
    uint32_t magic;
    uint32_t layout;
    int32_t pid;
    uint32_t goodbye; /* not 0 if this is a close message */
};

struct myr_daemon_welcome {
    uint32_t magic;
    uint32_t status; /* enum myr_status */
    char why[200];   /* the error, if not MYR_OK */
};

#endif
