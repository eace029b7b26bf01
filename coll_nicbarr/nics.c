/* SPDX-License-Identifier: BSD-3-Clause */
/* See nics.h. */
#include "coll_nicbarr/nics.h"

#include <stdio.h>
#include <string.h>

uint32_t nicbarr_nics_end(void)
{
    uint32_t end = 1;
    while (end < NICBARR_NICS_MOST && NULL != nicbarr_kinds[end - 1]) {
        ++end;
    }
    return end;
}

const char *const *nicbarr_nic_names(void)
{
    static const char *names[NICBARR_NICS_MOST]; /* from NIC 1 on; terminated by NULL */
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        names[nic - 1] = nicbarr_kind(nic)->name;
    }
    return names;
}

/* ---- parsing coll_nicbarr_nic ---- */

static bool word_equals(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && 0 == memcmp(word, wanted, length);
}

/* Returns the kind's own constant for the user's word, or NULL if the word does not belong to this
 * kind. */
static const char *variant_of(const struct myr_nic_kind *kind, const char *word, size_t length)
{
    if (word_equals(word, length, kind->name)) {
        return kind->name;
    }
    for (const char *const *way = kind->ways; NULL != *way; ++way) {
        if (word_equals(word, length, *way)) {
            return *way;
        }
    }
    return NULL;
}

static void select_all_kinds(struct nicbarr_nics *nics)
{
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        nics->wanted[nic] = true;
        nics->way[nic] = NULL;
    }
}

/* Parse one word. Returns false if it is unknown. */
static bool select_kind(struct nicbarr_nics *nics, const char *word, size_t length)
{
    bool known = word_equals(word, length, "none");
    if (word_equals(word, length, "auto")) {
        select_all_kinds(nics);
        return true;
    }
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const char *way = variant_of(nicbarr_kind(nic), word, length);
        if (NULL != way) {
            nics->wanted[nic] = known = true;
            nics->way[nic] = way;
        }
    }
    return known;
}

bool nicbarr_nics_parse(struct nicbarr_nics *nics, const char *words)
{
    bool good = true;
    memset(nics->wanted, 0, sizeof(nics->wanted));
    if (NULL == words || '\0' == *words) {
        select_all_kinds(nics);
        return true;
    }
    while (good && '\0' != *words) {
        const size_t length = strcspn(words, ",");
        good = select_kind(nics, words, length);
        words += length + (',' == words[length]);
    }
    if (!good) {
        select_all_kinds(nics);
    }
    return good;
}

const char *nicbarr_nic_words(char *text, uint32_t bytes)
{
    int length = snprintf(text, bytes, "auto, none");
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_nic_kind *kind = nicbarr_kind(nic);
        const char *word = kind->name;
        for (const char *const *way = kind->ways; NULL != word; word = *way++) {
            length += snprintf(text + length, length < (int)bytes ? bytes - (uint32_t)length : 0,
                               ", %s", word);
        }
    }
    return text;
}

bool nicbarr_nics_wanted(const struct nicbarr_nics *nics)
{
    bool any = false;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        any = any || nics->wanted[nic];
    }
    return any;
}

/* ---- opening and closing ---- */

enum myr_status nicbarr_nics_open(struct nicbarr_nics *nics, const struct myr_site *site,
                                  bool *later, struct myr_error *error)
{
    bool any = false;
    nics->site = *site;
    *later = false;
    *error = (struct myr_error){.status = MYR_ERR_NOT_THERE};
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        struct myr_error why = {0};
        void *opened = NULL;
        if (NULL != nics->nic[nic]) {
            any = true;
            continue;
        }
        const enum myr_status status =
            !nics->wanted[nic] ? MYR_ERR_NOT_THERE
                               : nicbarr_kind(nic)->open(&nics->site, nics->way[nic],
                                                         nics->values[nic], &opened, &why);
        any = any || MYR_OK == status;
        nics->nic[nic] = MYR_OK == status ? opened : NULL;
        *later = *later || MYR_ERR_NOT_YET == status;
        if (MYR_OK == status) {
            continue;
        }
        if (MYR_ERR_NOT_THERE != status && MYR_ERR_NOT_YET != status) {
            site->print(1, why.text);
        }
        /* Return the error of the first kind of NIC that cannot be opened. However, the error of a
         * NIC that exists but cannot be used takes precedence over the error of a NIC that does not
         * exist. */
        if (nics->wanted[nic] && ('\0' == error->text[0] || (MYR_ERR_NOT_THERE == error->status &&
                                                             MYR_ERR_NOT_THERE != status))) {
            *error = why;
            error->status = status;
        }
    }
    return any ? MYR_OK : error->status;
}

void nicbarr_nics_close(struct nicbarr_nics *nics)
{
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        if (NULL != nics->nic[nic]) {
            nicbarr_kind(nic)->close(nics->nic[nic]);
            nics->nic[nic] = NULL;
        }
    }
}

uint32_t nicbarr_nics_run(const struct nicbarr_nics *nics, bool awaited)
{
    uint32_t taken = 0;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_nic_kind *kind = nicbarr_kind(nic);
        uint32_t (*const run)(void *) = awaited ? kind->poll : kind->tend;
        if (NULL != nics->nic[nic] && NULL != run) {
            taken += run(nics->nic[nic]);
        }
    }
    return taken;
}
