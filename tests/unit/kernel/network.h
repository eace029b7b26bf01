/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network that the test makes, in a namespace of its own: two pairs of virtual interfaces
 * (veth), the NIC in it, and the sockets that stand for everybody else.
 */
#ifndef TESTS_UNIT_KERNEL_NETWORK_H
#define TESTS_UNIT_KERNEL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"

#ifdef NETWORK_OF_6
enum { SIX = 1, FAMILY = AF_INET6 };
#else
enum { SIX = 0, FAMILY = AF_INET };
#endif

enum {
    PORT = 7077,
    OTHER_PORT = 7999, /* of no NIC */
    MOST_NODES = 20,
    OWN = 1,        /* our place in the network 10.78.0.0/24 */
    FIRST_PEER = 10 /* that of node 0 where it is a peer */
};

/* The network, and the NIC in it. */
extern struct mcp_kernel *kernel;
extern int wire;                  /* the other end: in go the peers' frames, out come the NIC's */
extern struct sockaddr_ll far;    /* ... and where that is */
extern int behind;                /* the other network's wire */
extern struct sockaddr_ll beyond; /* ... and where that is */
extern int passed;                /* sees what comes in and the program has let pass */
extern int nic_socket;            /* has the NIC's port, so that nobody else gets it */
extern int other_socket;          /* has OTHER_PORT */

/* An address of the network by its last number; and that of the node there where it is a peer. */
uint32_t ip_of(uint32_t place);
uint32_t peer_ip(uint32_t node);

/* The address that stands for it in the network: itself, or fd00:4e::10.78.0.1. */
struct mcp_ip address_of(uint32_t ip);

/* The same with a port, as sockets have it. 0: any. */
struct mcp_address place_of(uint32_t ip, uint16_t port);

/* Have the NIC know the host with this address. -1: it cannot, and this is why. */
int meet(uint32_t ip, char *why);

/* The hardware address of whoever has this place. */
void mac_of(uint32_t place, uint8_t mac[ETH_ALEN]);

/* Both ends of the wire, neighbours that nobody has to be asked for, and another network behind
 * this host, which forwards packets from there. */
bool make_network(void);

/* A socket that sees the IP packets coming in at an interface, behind the programs there. */
int make_tap(const char *interface, struct sockaddr_ll *at);

/* A UDP socket without checksums, at this port of ours, connected to a peer's (0: any; not). */
int make_socket(uint16_t port, uint32_t to_ip, uint16_t to_port);

#endif
