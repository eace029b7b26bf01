/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets up the network of the test in a separate namespace: two veth pairs, the NIC on one of them,
 * and the sockets of all other participants.
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
    OTHER_PORT = 7999, /* a port that no NIC has */
    MOST_NODES = 20,
    OWN = 1,        /* this host's number in the network 10.78.0.0/24 */
    FIRST_PEER = 10 /* the number of node 0 as a peer */
};

/* Filled by kernel_test.c. */
extern struct mcp_kernel *kernel;
/* the peers' end: frames written here go to the NIC, and its packets are read here */
extern int wire;
extern struct sockaddr_ll far;    /* its address */
extern int behind;                /* the peers' end of the other network */
extern struct sockaddr_ll beyond; /* its address */
extern int passed;                /* receives packets that arrive and that the program has passed */
extern int nic_socket;            /* bound to the NIC's port, so that no other process gets it */
extern int other_socket;          /* bound to OTHER_PORT */

/* Return the IPv4 address with this number in the network, and that of a node as a peer. */
uint32_t ip_of(uint32_t place);
uint32_t peer_ip(uint32_t node);

/* Returns the network's address for an IPv4 address: the same, or fd00:4e::10.78.0.1. */
struct mcp_ip address_of(uint32_t ip);

/* Returns the network's address with a port as a socket address. IP 0 is the wildcard address. */
struct mcp_address udp_address(uint32_t ip, uint16_t port);

/* Have the NIC resolve the hardware address of this host. Returns -1 if that failed, with the
 * reason in `why`. */
int meet(uint32_t ip, char *why);

/* Write the hardware address of this number. */
void mac_of(uint32_t place, uint8_t mac[ETH_ALEN]);

/* Create both networks, with static neighbours. This host forwards packets from the other one. */
bool make_network(void);

/* Create a packet socket at an interface, which receives packets after the programs there. */
int make_tap(const char *interface, struct sockaddr_ll *at);

/* Create a UDP socket without checksums, bound to this port and connected to a peer (IP 0: not
 * connected). */
int make_socket(uint16_t port, uint32_t to_ip, uint16_t to_port);

#endif
