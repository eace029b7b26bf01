/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tracks the network interface to which the kernel NIC is attached. It may be deleted, its name and
 * MTU may change, and it may lose the NIC's address. The NIC's programs are attached by interface
 * index, so a new name does not affect them. Without the interface or the address, however,
 * barriers cannot proceed. Called by kernel_server.c.
 *
 * After start-up, the state is derived only from the kernel's netlink messages about this
 * interface. It is not queried, because the daemon is confined by then. The functions do not block,
 * and are not thread-safe. */
#ifndef MYRD_KERNEL_INTERFACE_H
#define MYRD_KERNEL_INTERFACE_H

#include <net/if.h>
#include <stdint.h>

#include "firmware/ip.h"
#include "libmyr/status.h"

enum {
    /* An address may be removed and restored immediately, for example when a network manager
     * restarts, so a missing address is tolerated for this time. */
    MYRD_INTERFACE_GRACE_MS = 5000,
};

enum myrd_interface_end {
    MYRD_INTERFACE_STAYS,
    MYRD_INTERFACE_DELETED,
    MYRD_INTERFACE_MOVED, /* moved to another network namespace */
    MYRD_INTERFACE_DEAF,  /* netlink messages were lost, so the state is unknown */
};

struct myrd_interface {
    int socket; /* netlink; polled and closed by the caller */
    uint32_t index;
    struct mcp_ip ip;
    char name[IF_NAMESIZE];
    uint32_t mtu;
    enum myrd_interface_end end;
    /* Bit N % 64 is set if the interface has the address with a prefix of N bits. (IPv4 permits
     * several prefixes of one address, IPv6 does not.) */
    uint64_t prefixes;
    uint64_t bare_at_ms; /* if `prefixes` is 0: time since which the address has been missing */
};

/* Starts tracking the interface with this name and address. Returns an error, with a message, if it
 * no longer exists. In any case the caller must close `socket`, unless it is -1. */
enum myr_status myrd_interface_open(struct myrd_interface *interface, const char *name,
                                    const struct mcp_ip *ip, struct myr_error *error);

/* Processes netlink messages. */
void myrd_interface_receive(struct myrd_interface *interface, uint64_t now_ms);

/* Returns MYR_OK if the NIC can stay. Otherwise the error message explains why it cannot, and what
 * to do. */
enum myr_status myrd_interface_judge(const struct myrd_interface *interface, uint64_t now_ms,
                                     struct myr_error *error);

/* Returns the number of milliseconds after which myrd_interface_judge() must be called even if no
 * message arrives; -1: never. */
int myrd_interface_timeout(const struct myrd_interface *interface, uint64_t now_ms);

#endif
