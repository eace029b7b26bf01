/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes the long waits of a process in the segment, so that `nicbarr status` (nic_inspect.h)
 * can show the user of a hanging job which ranks are waiting, and where.
 *
 * A process publishes a wait once it has lasted MYR_LONG_WAIT_US; shorter waits cost nothing. The
 * process writes its entries without a lock, so a reader may get a mixture of an old and a new
 * entry. The memory for the entries is allocated at the first long wait; if this fails, nothing is
 * published.
 *
 * Any thread may publish a wait; at most MYR_WAITS of a process are published at the same time. */
#ifndef MYR_WAITS_H
#define MYR_WAITS_H

#include <stdint.h>

#include "libmyr/node/segment.h"

enum {
    MYR_LONG_WAIT_US = 1000000,
    MYR_WAITS = 4,       /* per process; any further waits are not published */
    MYR_WAITS_LAYOUT = 1 /* increment it with any change here */
};

struct myr_shown_wait {
    _Atomic uint64_t since_ms; /* CLOCK_MONOTONIC; 0 if the entry is free. Written last */
    uint64_t group[3];         /* scope, id and members of the communicator's key */
    uint32_t size;             /* number of processes of the communicator */
    char call[28];             /* "MPI_Barrier"; "" if not known */
    char caller[96]; /* the code that called it: "file+0x1234 (function)"; "": not known */
    char name[80];   /* of the communicator */
    char ranks[104]; /* its members by their ranks in the job, "0-3,8"; "": not known */
};

struct myr_shown_waits {
    uint32_t layout; /* MYR_WAITS_LAYOUT */
    uint32_t pid;
    struct myr_shown_wait wait[MYR_WAITS];
};

/* Returns the key of a process's record, by its index and number in the segment. */
static inline struct myr_key myr_waits_key(uint32_t index, uint32_t number)
{
    return (struct myr_key){.scope = index, .id = 0x57 /* "W" */, .sequence = number};
}

/* Publishes a wait that began MYR_LONG_WAIT_US ago. The caller fills in all fields of `wait` except
 * since_ms, which this function derives. Returns the published entry, or NULL if there is no space.
 * In either case the caller passes the result to myr_wait_hide() when the wait ends. */
struct myr_shown_wait *myr_wait_show(struct myr_segment *segment,
                                     const struct myr_shown_wait *wait);
void myr_wait_hide(struct myr_shown_wait *entry);

/* Frees the process's record, before it leaves the segment. */
void myr_waits_end(struct myr_segment *segment);

#endif
