/* SPDX-License-Identifier: BSD-3-Clause */
/* This process's NICs: one of each kind that is wanted and available.
 *
 * The component identifies a NIC by its number: n is of nicbarr_kinds[n - 1], and 0 is no NIC, but
 * the processes of a node themselves (schedule.h).
 *
 * Called by component.c (opening, closing), and by the files that play, report or count. One thread
 * opens and closes, before and after everything else. */
#ifndef NICBARR_NICS_H
#define NICBARR_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/nic_kind.h"

extern const struct myr_nic_kind *const nicbarr_kinds[]; /* kinds.c; NULL ends them */

enum { NICBARR_NICS_MOST = 5 }; /* numbers of NICs, including 0 */

struct nicbarr_nics {
    struct myr_site site;
    bool wanted[NICBARR_NICS_MOST];     /* by the user */
    const char *way[NICBARR_NICS_MOST]; /* the variant; NULL: any */
    void *nic[NICBARR_NICS_MOST];       /* NULL: not open */
    union myr_value values[NICBARR_NICS_MOST][MYR_OPTIONS_MOST];
};

/* One more than the highest number of a NIC. */
uint32_t nicbarr_nics_end(void);

/* By the number of a NIC, which is not 0. */
static inline const struct myr_nic_kind *nicbarr_kind(uint32_t nic)
{
    return nicbarr_kinds[nic - 1];
}

/* The names of all kinds, for choices (nicbarr_choice_nics()). */
const char *const *nicbarr_nic_names(void);

/* Parse the user's list of NICs: "auto", "none", or words for kinds, separated by commas. If a word
 * is unknown, returns false and behaves as for "auto". nicbarr_nic_words() writes all known words
 * into `text`. */
bool nicbarr_nics_want(struct nicbarr_nics *nics, const char *words);
const char *nicbarr_nic_words(char *text, uint32_t bytes);

/* Is any wanted? */
bool nicbarr_nics_wanted(const struct nicbarr_nics *nics);

/* Open the wanted and available NICs that are not open yet. Returns MYR_OK if any NIC is open now,
 * else the error of the first. `*later` becomes true, only with a site in a hurry, if it is not
 * known yet whether some NIC is available; then call this again later. */
enum myr_status nicbarr_nics_open(struct nicbarr_nics *nics, const struct myr_site *site,
                                  bool *later, struct myr_error *error);
void nicbarr_nics_close(struct nicbarr_nics *nics);

/* Run the NICs for a moment. `awaited`: a process here waits for them. Returns the number of
 * packets received. */
uint32_t nicbarr_nics_run(const struct nicbarr_nics *nics, bool awaited);

#endif
