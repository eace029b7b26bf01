/* SPDX-License-Identifier: BSD-3-Clause */
/* See suspect_nics.h. */
#include "coll_nicbarr/suspect_nics.h"

#include <pthread.h>

#include "coll_nicbarr/nics.h"

static struct {
    pthread_mutex_t lock;
    struct {
        uint32_t failures; /* number of consecutive failures */
        uint32_t skip;     /* number of next communicators that exclude this NIC */
    } of[NICBARR_NICS_MOST];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { DOUBLINGS_MOST = 10 };

void nicbarr_record_nic_test(uint32_t nic, bool good)
{
    pthread_mutex_lock(&state.lock);
    uint32_t *failures = &state.of[nic].failures;
    *failures = good ? 0 : *failures < DOUBLINGS_MOST ? *failures + 1 : *failures;
    state.of[nic].skip = good ? 0 : (UINT32_C(1) << *failures) - 1;
    pthread_mutex_unlock(&state.lock);
}

uint32_t nicbarr_suspect_nics(uint32_t nics)
{
    uint32_t suspect = 0;
    pthread_mutex_lock(&state.lock);
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        if (0 != (nics >> nic & 1) && 0 != state.of[nic].skip) {
            --state.of[nic].skip;
            suspect |= UINT32_C(1) << nic;
        }
    }
    pthread_mutex_unlock(&state.lock);
    return suspect;
}
