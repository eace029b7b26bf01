/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's NICs: one of each kind that is wanted and there.
 *
 * A NIC is known by its number all over the component: n is of nicbarr_kinds[n - 1], and 0 stands
 * for no NIC at all, but the processes of a node themselves (schedule.h).
 *
 * Called by component.c (opening, closing), and by all who play, tell or count. Opened and closed
 * by one thread, before and after everything else.
 */
#ifndef NICBARR_NICS_H
#define NICBARR_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/nic_kind.h"

extern const struct myr_nic_kind *const nicbarr_kinds[]; /* kinds.c; NULL ends them */

enum { NICBARR_NICS_MOST = 5 }; /* numbers of NICs, 0 included */

struct nicbarr_nics {
    struct myr_site site;
    bool wanted[NICBARR_NICS_MOST];     /* by the user, if there is a use for it */
    const char *way[NICBARR_NICS_MOST]; /* how; NULL: any way */
    void *nic[NICBARR_NICS_MOST];       /* NULL: not open */
    union myr_value values[NICBARR_NICS_MOST][MYR_OPTIONS_MOST];
};

/* One more than the greatest number of a NIC. */
uint32_t nicbarr_nics_end(void);

/* Of a NIC by its number, which is not 0. */
static inline const struct myr_nic_kind *nicbarr_kind(uint32_t nic)
{
    return nicbarr_kinds[nic - 1];
}

/* The names of all, for choices (nicbarr_choice_nics()). */
const char *const *nicbarr_nic_names(void);

/*
 * Read which are wanted: "auto", "none", or words for kinds, separated by commas. False, and as for
 * "auto", if a word is none; nicbarr_nic_words() writes all that there are into `text`.
 */
bool nicbarr_nics_want(struct nicbarr_nics *nics, const char *words);
const char *nicbarr_nic_words(char *text, uint32_t bytes);

/* Is any wanted? */
bool nicbarr_nics_wanted(const struct nicbarr_nics *nics);

/*
 * Open what is wanted and there, and not open yet. MYR_OK if any is open now; else what kept the
 * first of them away. `later`: of some nobody can tell yet, and it should be tried once more. Only
 * a site in a hurry has such.
 */
enum myr_status nicbarr_nics_open(struct nicbarr_nics *nics, const struct myr_site *site,
                                  bool *later, struct myr_error *error);
void nicbarr_nics_close(struct nicbarr_nics *nics);

/* Run them for a moment. `awaited`: somebody here waits for what they play. Returns how many
 * packets were taken. */
uint32_t nicbarr_nics_run(const struct nicbarr_nics *nics, bool awaited);

#endif
