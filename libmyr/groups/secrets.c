/* SPDX-License-Identifier: BSD-3-Clause */
/* Derivation of groups' secrets; see secrets.h. */
#include "libmyr/groups/secrets.h"

#include "os/random.h"

bool myr_secret_draw(struct mcp_secret *secret)
{
    return os_draw_key(&secret->word[0], sizeof(secret->word[0])) &&
           os_draw_key(&secret->word[1], sizeof(secret->word[1]));
}

/* Returns the SipHash-2-4 of the group's number and of the word's index. */
static uint64_t word_of(const struct mcp_secret *of, uint64_t number, uint8_t which)
{
    struct mcp_sip sip = mcp_sip_begin(of);
    mcp_sip_word(&sip, 2, number);
    return mcp_sip_end(sip, 2, 4, which | (uint64_t)(sizeof(number) + sizeof(which)) << 56);
}

uint64_t myr_secret_derive(const struct mcp_secret *of, uint64_t number, struct mcp_secret *secret)
{
    const uint64_t key = word_of(of, number, 0);
    *secret = (struct mcp_secret){{word_of(of, number, 1), word_of(of, number, 2)}};
    return key + (0 == key);
}
