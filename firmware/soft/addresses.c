/* SPDX-License-Identifier: BSD-3-Clause */
/* This machine's addresses; see addresses.h. */
#include "firmware/soft/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
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

/* Does `word` name this interface's address? */
static bool named(const struct ifaddrs *one, const char *word)
{
    char network[INET_ADDRSTRLEN];
    const char *slash = strchr(word, '/');
    struct in_addr ip;
    if (NULL == slash) {
        return 0 == strcmp(word, one->ifa_name) ||
               (1 == inet_pton(AF_INET, word, &ip) && ip.s_addr == ip_of(one->ifa_addr));
    }
    const int prefix = atoi(slash + 1);
    if ((size_t)(slash - word) >= sizeof(network) || prefix < 0 || prefix > 32) {
        return false;
    }
    memcpy(network, word, (size_t)(slash - word));
    network[slash - word] = '\0';
    return 1 == inet_pton(AF_INET, network, &ip) &&
           mcp_same_network(ip.s_addr, ip_of(one->ifa_addr), (uint8_t)prefix);
}

static bool ordinary(const struct ifaddrs *one)
{
    return 0 == (one->ifa_flags & (IFF_LOOPBACK | IFF_POINTOPOINT));
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
    char *words = strdup(NULL == networks || '\0' == *networks ? "," : networks);
    if (NULL == words || getifaddrs(&all) < 0) {
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
