/* SPDX-License-Identifier: BSD-3-Clause */
/* Words into which other nodes write to report a missing node; see verbs.h.
 *
 * The words into which other nodes write reports are reused in the order in which they were freed,
 * so thousands of groups are opened and closed before a word is used again. By then a late report
 * to its former group has usually arrived; if not, its generation shows that it is not meant for
 * the new group. */
#include <stdlib.h>
#include <string.h>

#include "libmyr/verbs/verbs.h"

enum { PAGE = 4096, BYTES = MYR_VERBS_WORDS * sizeof(myr_word) };

enum myr_status myr_verbs_words_open(struct myr_verbs *nic, struct myr_error *error)
{
    struct myr_verbs_words *words = &nic->words;
    /* The words have pages of their own, because a forked child does not inherit registered
     * pages. */
    words->word = aligned_alloc(PAGE, BYTES);
    if (NULL == words->word) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    memset(words->word, 0, BYTES);
    words->memory = myr_verbs_register(&nic->device, words->word, BYTES, error);
    if (NULL == words->memory) {
        free(words->word);
        return MYR_ERR_SYSTEM;
    }
    for (uint32_t w = 0; w < MYR_VERBS_WORDS; ++w) {
        words->free[w] = (uint16_t)w;
    }
    words->given = MYR_VERBS_WORDS;
    return MYR_OK;
}

void myr_verbs_words_close(struct myr_verbs *nic)
{
    (void)nic->device.calls->dereg_mr(nic->words.memory);
    free(nic->words.word);
}

enum myr_status myr_verbs_word_take(struct myr_verbs *nic, struct myr_verbs_group *own,
                                    struct myr_error *error)
{
    struct myr_verbs_words *words = &nic->words;
    if (words->taken == words->given) {
        return myr_fail(error, MYR_ERR_FULL, 0, "the RDMA NIC has its maximum of %d groups already",
                        (int)MYR_VERBS_WORDS);
    }
    const uint32_t w = words->free[words->taken++ % MYR_VERBS_WORDS];
    words->generation[w] = (uint16_t)(words->generation[w] % (MYR_VERBS_GENERATIONS - 1) + 1);
    own->report = &words->word[w];
    own->generation = words->generation[w];
    return MYR_OK;
}

void myr_verbs_word_give(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    struct myr_verbs_words *words = &nic->words;
    if (NULL != own->report) {
        words->free[words->given++ % MYR_VERBS_WORDS] = (uint16_t)(own->report - words->word);
        own->report = NULL;
    }
}
