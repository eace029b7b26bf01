/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine's addresses; see addresses.h. */
#include "firmware/soft/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mcp_same_network(uint32_t a, uint32_t b, uint8_t prefix)
{
    const uint32_t mask = 0 == prefix ? 0 : htonl(UINT32_MAX << (32 - prefix));
    return 0 == ((a ^ b) & mask);
}

static uint32_t ip_of(const struct sockaddr *address)
{
    struct sockaddr_in in;
    memcpy(&in, address, sizeof(in));
    return in.sin_addr.s_addr;
}

/* What a word of the list asks for: an interface, or all addresses of a network. */
struct wanted {
    bool network;
    struct in_addr ip;
    uint8_t prefix;
};

/* False: no interface has such a name, and it is no address or network. */
static bool understand(const char *word, struct wanted *wanted)
{
    char ip[INET_ADDRSTRLEN];
    const char *slash = strchr(word, '/');
    const size_t length = NULL == slash ? strlen(word) : (size_t)(slash - word);
    long prefix = 32;
    if (NULL != slash) {
        char *end;
        prefix = strtol(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || '\0' != *end || prefix > 32) {
            return false;
        }
    }
    snprintf(ip, sizeof(ip), "%.*s", (int)length, word);
    wanted->network = length < sizeof(ip) && 1 == inet_pton(AF_INET, ip, &wanted->ip);
    wanted->prefix = (uint8_t)prefix;
    return wanted->network || (NULL == slash && length < IFNAMSIZ);
}

bool mcp_networks_wrong(const char *networks, char word[MCP_NETWORK_WORD])
{
    const char *rest = NULL == networks ? "" : networks;
    bool any = '\0' == *rest;
    snprintf(word, MCP_NETWORK_WORD, "%s", rest);
    for (rest += strspn(rest, ", "); '\0' != *rest; rest += strspn(rest, ", ")) {
        struct wanted wanted;
        const size_t length = strcspn(rest, ", ");
        snprintf(word, MCP_NETWORK_WORD, "%.*s", (int)length, rest);
        if (length >= MCP_NETWORK_WORD || !understand(word, &wanted)) {
            return true;
        }
        rest += length;
        any = true;
    }
    return !any;
}

/* Does `word` name this interface's address? */
static bool named(const struct ifaddrs *one, const char *word)
{
    struct wanted wanted;
    return understand(word, &wanted) &&
           (wanted.network ? mcp_same_network(wanted.ip.s_addr, ip_of(one->ifa_addr), wanted.prefix)
                           : 0 == strcmp(word, one->ifa_name));
}

/* (A bridge that nothing is connected to is up, and does not run.) */
static bool ordinary(const struct ifaddrs *one)
{
    return IFF_RUNNING == (one->ifa_flags & (IFF_RUNNING | IFF_LOOPBACK | IFF_POINTOPOINT));
}

static void add(const struct ifaddrs *one, struct mcp_local_address *addresses, uint32_t *count)
{
    const uint32_t ip = ip_of(one->ifa_addr);
    for (uint32_t i = 0; i < *count; ++i) {
        if (ip == addresses[i].ip) {
            return; /* named twice */
        }
    }
    const uint32_t mask = NULL == one->ifa_netmask ? UINT32_MAX : ip_of(one->ifa_netmask);
    addresses[(*count)++] = (struct mcp_local_address){ip, (uint8_t)__builtin_popcount(mask)};
}

uint32_t mcp_local_addresses(const char *networks, struct mcp_local_address *addresses,
                             uint32_t most)
{
    struct ifaddrs *all = NULL;
    uint32_t count = 0;
    char wrong[MCP_NETWORK_WORD];
    char *words = strdup(NULL == networks || '\0' == *networks ? "," : networks);
    if (NULL == words || mcp_networks_wrong(networks, wrong) || getifaddrs(&all) < 0) {
        free(words);
        return 0;
    }
    char *rest = NULL;
    const char *word = strtok_r(words, ", ", &rest);
    do {
        for (const struct ifaddrs *one = all; NULL != one && count < most; one = one->ifa_next) {
            if (NULL != one->ifa_addr && AF_INET == one->ifa_addr->sa_family &&
                0 != (one->ifa_flags & IFF_UP) &&
                (NULL == word ? ordinary(one) : named(one, word))) {
                add(one, addresses, &count);
            }
        }
        word = strtok_r(NULL, ", ", &rest);
    } while (NULL != word);
    freeifaddrs(all);
    free(words);
    return count;
}
