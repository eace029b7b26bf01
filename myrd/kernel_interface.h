/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the interface at which the kernel's NIC stands: it may get another name or MTU,
 * or be gone, or lose the NIC's address. The NIC's programs stand there by the interface's number,
 * so another name changes nothing for them. Without interface or address no barrier can go on.
 * Called by kernel_server.c.
 *
 * Invariants: only what the system itself tells counts (netlink), and of that only what is about
 * this interface. After the opening, nothing is asked of the system: the daemon is confined by
 * then. Nothing in here waits. Not for several threads at once.
 */
#ifndef MYRD_KERNEL_INTERFACE_H
#define MYRD_KERNEL_INTERFACE_H

#include <net/if.h>
#include <stdint.h>

#include "firmware/ip.h"
#include "libmyr/status.h"

enum {
    /* An address may be taken away and given back at once, as when a network manager restarts. */
    MYRD_INTERFACE_PATIENCE_MS = 5000,
};

enum myrd_interface_end {
    MYRD_INTERFACE_STAYS,
    MYRD_INTERFACE_DELETED,
    MYRD_INTERFACE_MOVED, /* to another network namespace */
    MYRD_INTERFACE_DEAF,  /* the system has told more than there was room for: who knows? */
};

struct myrd_interface {
    int socket; /* netlink; to be watched, and closed, by the caller */
    uint32_t index;
    struct mcp_ip ip;
    char name[IF_NAMESIZE];
    uint32_t mtu;
    enum myrd_interface_end end;
    /* Bit N % 64: it has the address, with a network part of N bits. (It may have an address of
     * IPv4 with several such parts, and one of IPv6 once.) */
    uint64_t prefixes;
    uint64_t bare_at_ms; /* since when it does not have the address, if prefixes is 0 */
};

/* Begin to listen. The interface has this name and this address. It fails with a line if it is
 * gone already. `socket` is -1 then, or is to be closed. */
enum myr_status myrd_interface_open(struct myrd_interface *interface, const char *name,
                                    const struct mcp_ip *ip, struct myr_error *error);

/* Take what the system has told. */
void myrd_interface_receive(struct myrd_interface *interface, uint64_t now_ms);

/* MYR_OK: the NIC can stay. Otherwise a line says why it cannot, and what to do. */
enum myr_status myrd_interface_judge(const struct myrd_interface *interface, uint64_t now_ms,
                                     struct myr_error *error);

/* After how many ms is it to be judged again, even if the system tells nothing? -1: never. */
int myrd_interface_timeout(const struct myrd_interface *interface, uint64_t now_ms);

#endif
