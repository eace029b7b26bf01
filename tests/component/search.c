/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches a capture of all traffic between the hosts for the secrets of groups, which must never
 * be on the wire. tests/component/strangers.sh calls it: search FILE
 *
 * Any 16 bytes of the capture may be the secret of a communicator. The keys of its groups derive
 * from the secret and are contained in packets, so that each candidate can be checked; the program
 * therefore tries all sequences of 16 bytes. It succeeds if the capture has packets of groups and
 * no secret.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firmware/wire.h"
#include "libmyr/groups/secrets.h"

enum {
    KEYS_MOST = 4096,
    GROUPS = 2 /* groups of each communicator: those that are not for tuning */
};

static uint64_t keys[KEYS_MOST];
static size_t nkeys;

static bool is_key(uint64_t key)
{
    size_t k = 0;
    while (k < nkeys && key != keys[k]) {
        ++k;
    }
    return k < nkeys;
}

static void take_keys(const uint8_t *bytes, size_t count)
{
    for (size_t at = 0; at + MCP_COLLECTIVE_BYTES <= count; ++at) {
        struct mcp_header header;
        if (nkeys < KEYS_MOST && mcp_parse(bytes + at, MCP_COLLECTIVE_BYTES, &header) &&
            !is_key(header.key)) {
            keys[nkeys++] = header.key;
        }
    }
}

static size_t try_all(const uint8_t *bytes, size_t count)
{
    size_t found = 0;
    for (size_t at = 0; at + sizeof(struct mcp_secret) <= count; ++at) {
        struct mcp_secret guess, secret;
        memcpy(&guess, bytes + at, sizeof(guess));
        for (uint64_t group = 0; group < GROUPS; ++group) {
            found += is_key(myr_secret_derive(&guess, group, &secret));
        }
    }
    return found;
}

int main(int argc, char **argv)
{
    FILE *file = 2 == argc ? fopen(argv[1], "rb") : NULL;
    if (NULL == file || 0 != fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "usage: search FILE\n");
        return 64;
    }
    const size_t count = (size_t)ftell(file);
    uint8_t *bytes = malloc(count + 1);
    rewind(file);
    if (NULL == bytes || count != fread(bytes, 1, count, file)) {
        perror("search");
        return EXIT_FAILURE;
    }
    fclose(file);
    take_keys(bytes, count);
    const size_t found = try_all(bytes, count);
    printf("%zu bytes, %zu keys of groups, secrets found %zu times\n", count, nkeys, found);
    free(bytes);
    return 0 != nkeys && 0 == found ? EXIT_SUCCESS : EXIT_FAILURE;
}
