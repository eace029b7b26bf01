/* SPDX-License-Identifier: BSD-3-Clause */
/* The NICs of this process: one NIC of each kind that is wanted and available.
 *
 * The component identifies a NIC by its number: number n is of the kind nicbarr_kinds[n - 1].
 * Number 0 is not a NIC, but stands for the processes of a node themselves (schedule.h).
 *
 * Only component.c opens and closes NICs: it opens them in one thread at a time, and closes them
 * when no thread uses them any more. */
#ifndef NICBARR_NICS_H
#define NICBARR_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/nic_kind.h"

/* defined in kinds.c; terminated by NULL */
extern const struct myr_nic_kind *const nicbarr_kinds[];

enum { NICBARR_NICS_MOST = 5 }; /* count of NIC numbers, including 0 */

struct nicbarr_nics {
    struct myr_site site;
    bool wanted[NICBARR_NICS_MOST];     /* wanted by the user */
    const char *way[NICBARR_NICS_MOST]; /* the variant; NULL: any variant */
    void *nic[NICBARR_NICS_MOST];       /* NULL: not open */
    union myr_value values[NICBARR_NICS_MOST][MYR_OPTIONS_MOST];
};

/* Returns the highest number of a NIC plus one. */
uint32_t nicbarr_nics_end(void);

/* Returns the kind of a NIC, by its number, which is not 0. */
static inline const struct myr_nic_kind *nicbarr_kind(uint32_t nic)
{
    return nicbarr_kinds[nic - 1];
}

/* Returns whether groups on this NIC can carry data. */
static inline bool nicbarr_carries_data(uint32_t nic)
{
    return 0 != nicbarr_kind(nic)->caps.buffer;
}

/* Returns the names of all kinds, for the names of choices (nicbarr_choice_nics()). */
const char *const *nicbarr_nic_names(void);

/* Parse the user's list of NICs: "auto", "none", or words for kinds, separated by commas. If a word
 * is unknown, returns false and behaves as for "auto". nicbarr_nic_words() writes all known words
 * into `text`. */
bool nicbarr_nics_parse(struct nicbarr_nics *nics, const char *words);
const char *nicbarr_nic_words(char *text, uint32_t bytes);

/* Returns whether the user wants any NIC. */
bool nicbarr_nics_wanted(const struct nicbarr_nics *nics);

/* Open all NICs that the user wants, that are available, and that are not open yet. Returns MYR_OK
 * if any NIC is open then. Otherwise returns the error of the first NIC that exists but cannot be
 * used, or, if none exists, the error of the first wanted NIC. If `site` is in a hurry, the
 * function skips NICs that do not respond at once; if there are any, `*later` becomes true, and the
 * caller must call the function again later. */
enum myr_status nicbarr_nics_open(struct nicbarr_nics *nics, const struct myr_site *site,
                                  bool *later, struct myr_error *error);
void nicbarr_nics_close(struct nicbarr_nics *nics);

/* Poll the NICs once. `awaited`: a process on this node waits for them. Returns the number of
 * packets received. */
uint32_t nicbarr_nics_run(const struct nicbarr_nics *nics, bool awaited);

#endif
