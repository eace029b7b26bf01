/* SPDX-License-Identifier: BSD-3-Clause */
/* See network.h. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firmware/kernel/bell.h"
#include "tests/unit/kernel/network.h"

enum {
    ETHER_TYPE = SIX ? ETH_P_IPV6 : ETH_P_IP,
    BUFFER = 8 * 1048576 /* size of a tap's receive buffer */
};

struct mcp_kernel *kernel;
int wire;
struct sockaddr_ll far;
int behind;
struct sockaddr_ll beyond;
int passed;
int nic_socket;
int other_socket;

uint32_t ip_of(uint32_t place)
{
    return htonl(0x0a4e0000 + place);
}

uint32_t peer_ip(uint32_t node)
{
    return ip_of(FIRST_PEER + node);
}

struct mcp_ip address_of(uint32_t ip)
{
    const struct mcp_ip of_6 = {{htonl(0xfd000000 | (ntohl(ip) >> 16 & 0xff)), 0, 0, ip}};
    return SIX ? of_6 : mcp_ip_of_4(ip);
}

struct mcp_address udp_address(uint32_t ip, uint16_t port)
{
    const struct mcp_ip address = 0 == ip ? mcp_ip_none() : address_of(ip);
    return mcp_address_for(FAMILY, &address, htons(port));
}

int meet(uint32_t ip, char *why)
{
    const struct mcp_ip address = address_of(ip);
    return mcp_kernel_meet(kernel, &address, why);
}

void mac_of(uint32_t place, uint8_t mac[ETH_ALEN])
{
    const uint8_t made[ETH_ALEN] = {0x02, 0x4e, 0x42, 0, 0, (uint8_t)place};
    memcpy(mac, made, ETH_ALEN);
}

static bool set(const char *name, const char *value)
{
    char path[100];
    snprintf(path, sizeof(path), "/proc/sys/net/ipv%d/%s", SIX ? 6 : 4, name);
    FILE *file = fopen(path, "w");
    return NULL != file && (fputs(value, file) >= 0) + (0 == fclose(file)) == 2;
}

/* Run `ip` with these words. %s is the IPv4 address, or the IPv6 address for it. */
static bool run_ip(const char *format, uint32_t ip, uint32_t number)
{
    const struct mcp_ip address = address_of(ip);
    char text[MCP_IP_TEXT], words[100], line[200];
    snprintf(words, sizeof(words), format, mcp_ip_text(&address, text), number);
    snprintf(line, sizeof(line), "ip %s >/dev/null 2>&1", words);
    return 0 == system(line);
}

/* Create both ends of a veth pair; the first one gets the address. */
static bool make_wire(uint32_t first, uint32_t ip)
{
    char line[200];
    snprintf(line, sizeof(line),
             "ip link add nicbarr%u address 02:4e:42:00:00:%02x type veth peer name nicbarr%u"
             " address 02:4e:42:00:00:%02x >/dev/null 2>&1",
             first, first + 1, first + 1, first + 2);
    return 0 == system(line) &&
           run_ip(SIX ? "addr add %s/64 dev nicbarr%u nodad" : "addr add %s/24 dev nicbarr%u", ip,
                  first) &&
           run_ip("link set nicbarr%2$u up", ip, first) &&
           run_ip("link set nicbarr%2$u up", ip, first + 1);
}

bool make_network(void)
{
    if (SIX && !(set("conf/default/disable_ipv6", "0") && set("conf/all/disable_ipv6", "0"))) {
        return false;
    }
    if (!make_wire(0, ip_of(OWN))) {
        return false;
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        if (!run_ip("neigh add %s lladdr 02:4e:42:00:00:%02x dev nicbarr0 nud permanent",
                    peer_ip(n), FIRST_PEER + n)) {
            return false;
        }
    }
    /* A new namespace may inherit this from the machine's network. */
    return set(SIX ? "conf/all/forwarding" : "ip_forward", SIX ? "1" : "0") &&
           make_wire(2, htonl(0x0a4f0001)) && set("conf/nicbarr0/forwarding", "1") &&
           set("conf/nicbarr2/forwarding", "1");
}

int make_tap(const char *interface, struct sockaddr_ll *at)
{
    const int bytes = BUFFER;
    const int tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_ll){
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETHER_TYPE),
        .sll_ifindex = (int)if_nametoindex(interface),
    };
    (void)setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    if (tap < 0 || bind(tap, (const struct sockaddr *)at, sizeof(*at)) < 0) {
        perror("a packet socket");
        abort();
    }
    return tap;
}

int make_socket(uint16_t port, uint32_t to_ip, uint16_t to_port)
{
    const struct mcp_address own = udp_address(ip_of(OWN), port),
                             peer = udp_address(to_ip, to_port);
    const int made = socket(FAMILY, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made < 0 || !mcp_bell_disable_checksums(made, FAMILY) ||
        bind(made, &own.at.any, mcp_address_bytes(&own)) < 0 ||
        (0 != to_ip && connect(made, &peer.at.any, mcp_address_bytes(&peer)) < 0)) {
        perror("a UDP socket");
        abort();
    }
    return made;
}
