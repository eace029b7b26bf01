/* SPDX-License-Identifier: BSD-3-Clause */
/* IP addresses of this machine and of peers; see addresses.h. */
#include "firmware/soft/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- IP addresses ---- */

bool mcp_same_network(const struct mcp_ip *a, const struct mcp_ip *b, uint8_t prefix)
{
    uint32_t differs = mcp_ip_is_4(a) != mcp_ip_is_4(b);
    for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t before = 32 * w, bits = prefix <= before ? 0 : prefix - before;
        const uint32_t mask = 0 == bits ? 0 : bits >= 32 ? UINT32_MAX : UINT32_MAX << (32 - bits);
        differs |= (a->word[w] ^ b->word[w]) & htonl(mask);
    }
    return 0 == differs;
}

const char *mcp_ip_text(const struct mcp_ip *ip, char text[MCP_IP_TEXT])
{
    return mcp_ip_is_4(ip) ? inet_ntop(AF_INET, &ip->word[3], text, MCP_IP_TEXT)
                           : inet_ntop(AF_INET6, ip->word, text, MCP_IP_TEXT);
}

const char *mcp_network_text(const struct mcp_ip *ip, uint8_t prefix, char text[MCP_NETWORK_TEXT])
{
    char address[MCP_IP_TEXT];
    snprintf(text, MCP_NETWORK_TEXT, "%s/%u", mcp_ip_text(ip, address),
             (unsigned)mcp_prefix_written(ip, prefix));
    return text;
}

const char *mcp_address_text(const struct mcp_ip *ip, uint16_t port, char text[MCP_ADDRESS_TEXT])
{
    char address[MCP_IP_TEXT];
    snprintf(text, MCP_ADDRESS_TEXT, mcp_ip_is_4(ip) ? "%s:%u" : "[%s]:%u",
             mcp_ip_text(ip, address), (unsigned)ntohs(port));
    return text;
}

/* ---- socket addresses ---- */

struct mcp_address mcp_address_for(int family, const struct mcp_ip *ip, uint16_t port)
{
    struct mcp_address address;
    memset(&address, 0, sizeof(address));
    if (AF_INET6 == family) {
        address.at.ip6.sin6_family = AF_INET6;
        address.at.ip6.sin6_port = port;
        memcpy(&address.at.ip6.sin6_addr, ip, sizeof(*ip));
    } else {
        address.at.ip4.sin_family = AF_INET;
        address.at.ip4.sin_port = port;
        address.at.ip4.sin_addr.s_addr = mcp_ip_to_4(ip);
    }
    return address;
}

struct mcp_ip mcp_address_ip(const struct mcp_address *address)
{
    struct mcp_ip ip = mcp_ip_none();
    if (AF_INET6 == address->at.any.sa_family) {
        memcpy(&ip, &address->at.ip6.sin6_addr, sizeof(ip));
    } else if (AF_INET == address->at.any.sa_family) {
        ip = mcp_ip_of_4(address->at.ip4.sin_addr.s_addr);
    }
    return ip;
}

static struct mcp_ip ip_of(const struct sockaddr *address, int family)
{
    struct mcp_address copy = {.at.any.sa_family = (sa_family_t)family};
    memcpy(&copy, address, mcp_address_bytes(&copy));
    return mcp_address_ip(&copy);
}

bool mcp_sockaddr_is(const struct sockaddr *address, const struct mcp_ip *ip)
{
    const int family = mcp_ip_family(ip);
    if (NULL == address || family != address->sa_family) {
        return false;
    }
    const struct mcp_ip other = ip_of(address, family);
    return mcp_same_ip(ip, &other);
}

/* ip_of() turns an IPv4 mask into a mapped address, in which 16 of the first 96 bits are set. */
uint8_t mcp_mask_prefix(const struct sockaddr *mask, int family)
{
    const struct mcp_ip ip = ip_of(mask, family);
    int bits = mcp_ip_is_4(&ip) ? MCP_IP_BEFORE_4 - 16 : 0;
    for (int w = 0; w < 4; ++w) {
        bits += __builtin_popcount(ip.word[w]);
    }
    return (uint8_t)bits;
}

/* ---- addresses of this machine ---- */

/* An entry of the user's list: an interface, or a network in CIDR notation. */
struct wanted {
    bool network;
    struct mcp_ip ip;
    uint8_t prefix;
};

/* Parses a word of the list. Returns false if the word is neither the name of an interface nor an
 * address or network. */
static bool parse_wanted(const char *word, struct wanted *wanted)
{
    char text[MCP_IP_TEXT];
    struct in_addr ip4;
    const char *slash = strchr(word, '/');
    const size_t length = NULL == slash ? strlen(word) : (size_t)(slash - word);
    snprintf(text, sizeof(text), "%.*s", (int)length, word);
    const bool fits = length < sizeof(text), is_4 = fits && 1 == inet_pton(AF_INET, text, &ip4);
    const long before = is_4 ? MCP_IP_BEFORE_4 : 0;
    long prefix = MCP_IP_BITS - before;
    if (NULL != slash) {
        char *end;
        prefix = strtol(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || '\0' != *end || prefix > MCP_IP_BITS - before) {
            return false;
        }
    }
    if (is_4) {
        wanted->ip = mcp_ip_of_4(ip4.s_addr);
    }
    wanted->network = is_4 || (fits && 1 == inet_pton(AF_INET6, text, &wanted->ip));
    wanted->prefix = (uint8_t)(before + prefix);
    return wanted->network || (NULL == slash && length < IFNAMSIZ);
}

static bool report_wrong_entry(const char *word, char *why, size_t bytes)
{
    snprintf(why, bytes,
             "\"%s\" is neither an interface nor a network such as 10.0.0.0/8 or fd00::/64", word);
    return true;
}

bool mcp_networks_wrong(const char *networks, char *why, size_t bytes)
{
    enum { WORD_BYTES = 64 }; /* longer than any valid entry */
    char word[WORD_BYTES];
    const char *rest = NULL == networks ? "" : networks;
    bool any = '\0' == *rest;
    for (rest += strspn(rest, ", "); '\0' != *rest; rest += strspn(rest, ", ")) {
        struct wanted wanted;
        const size_t length = strcspn(rest, ", ");
        snprintf(word, sizeof(word), "%.*s", (int)length, rest);
        if (length >= sizeof(word) || !parse_wanted(word, &wanted)) {
            return report_wrong_entry(word, why, bytes);
        }
        rest += length;
        any = true;
    }
    return !any && report_wrong_entry(networks, why, bytes);
}

static bool is_ordinary(const struct ifaddrs *one)
{
    return 0 == (one->ifa_flags & (IFF_LOOPBACK | IFF_POINTOPOINT));
}

/* Returns whether `word` selects this address of the interface. */
static bool is_selected(const struct ifaddrs *one, const struct mcp_ip *ip, const char *word)
{
    struct wanted wanted;
    return parse_wanted(word, &wanted) &&
           (wanted.network ? mcp_same_network(&wanted.ip, ip, wanted.prefix)
                           : 0 == strcmp(word, one->ifa_name));
}

uint32_t mcp_interface_of(const struct mcp_ip *ip, char *name)
{
    struct ifaddrs *all = NULL;
    uint32_t number = 0;
    if (getifaddrs(&all) < 0) {
        return 0;
    }
    for (const struct ifaddrs *one = all; NULL != one && 0 == number; one = one->ifa_next) {
        if (mcp_sockaddr_is(one->ifa_addr, ip)) {
            number = if_nametoindex(one->ifa_name);
            if (NULL != name) {
                snprintf(name, IF_NAMESIZE, "%s", one->ifa_name);
            }
        }
    }
    freeifaddrs(all);
    return number;
}

static bool is_link_local(const struct mcp_ip *ip)
{
    return htonl(0xfe800000) == (ip->word[0] & htonl(0xffc00000));
}

static void add_address(const struct ifaddrs *one, const struct mcp_ip *ip,
                        struct mcp_local_address *addresses, uint32_t *count)
{
    for (uint32_t i = 0; i < *count; ++i) {
        if (mcp_same_ip(ip, &addresses[i].ip)) {
            return; /* selected twice */
        }
    }
    uint8_t prefix = MCP_IP_BITS;
    if (NULL != one->ifa_netmask) {
        prefix = mcp_mask_prefix(one->ifa_netmask, one->ifa_addr->sa_family);
    }
    addresses[(*count)++] = (struct mcp_local_address){*ip, prefix};
}

/* Adds the addresses of one family that `word` selects, of interfaces in this state (IFF_UP and
 * other flags). Returns false if there is none. */
static bool add_family(const struct ifaddrs *all, int family, unsigned state, const char *word,
                       struct mcp_local_address *addresses, uint32_t *count, uint32_t most)
{
    bool any = false;
    for (const struct ifaddrs *one = all; NULL != one && *count < most; one = one->ifa_next) {
        if (NULL == one->ifa_addr || family != one->ifa_addr->sa_family ||
            state != (one->ifa_flags & state)) {
            continue;
        }
        const struct mcp_ip ip = ip_of(one->ifa_addr, family);
        if (!is_link_local(&ip) && is_selected(one, &ip, word)) {
            add_address(one, &ip, addresses, count);
            any = true;
        }
    }
    return any;
}

static void add_word(const struct ifaddrs *all, unsigned state, const char *word,
                     struct mcp_local_address *addresses, uint32_t *count, uint32_t most)
{
    if (!add_family(all, AF_INET, state, word, addresses, count, most)) {
        (void)add_family(all, AF_INET6, state, word, addresses, count, most);
    }
}

/* Adds the addresses of all ordinary interfaces. */
static void add_ordinary(const struct ifaddrs *all, unsigned state,
                         struct mcp_local_address *addresses, uint32_t *count, uint32_t most)
{
    for (const struct ifaddrs *one = all; NULL != one; one = one->ifa_next) {
        if (is_ordinary(one)) {
            add_word(all, state, one->ifa_name, addresses, count, most);
        }
    }
}

uint32_t mcp_local_addresses(const char *networks, struct mcp_local_address *addresses,
                             uint32_t most)
{
    struct ifaddrs *all = NULL;
    uint32_t count = 0;
    char why[1];
    char *words = strdup(NULL == networks || '\0' == *networks ? "," : networks);
    if (NULL == words || mcp_networks_wrong(networks, why, sizeof(why)) || getifaddrs(&all) < 0) {
        free(words);
        return 0;
    }
    char *rest = NULL;
    const char *word = strtok_r(words, ", ", &rest);
    if (NULL == word) {
        /* IFF_RUNNING excludes bridges without ports. However, an interface that has just been
         * brought up also lacks this flag for about a second. */
        add_ordinary(all, IFF_UP | IFF_RUNNING, addresses, &count, most);
        if (0 == count) {
            add_ordinary(all, IFF_UP, addresses, &count, most);
        }
    }
    for (; NULL != word; word = strtok_r(NULL, ", ", &rest)) {
        add_word(all, IFF_UP, word, addresses, &count, most);
    }
    freeifaddrs(all);
    free(words);
    return count;
}
