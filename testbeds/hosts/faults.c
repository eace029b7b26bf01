/* SPDX-License-Identifier: BSD-3-Clause */
/* Random faults of packets; see faults.h. */
#include "testbeds/hosts/faults.h"

/* splitmix64 */
static uint64_t draw(struct faults *faults)
{
    uint64_t x = faults->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool chance(struct faults *faults, double share)
{
    return (double)(draw(faults) >> 11) * 0x1p-53 < share;
}

void faults_next(struct faults *faults, struct fate *fate)
{
    fate->lost = chance(faults, faults->loss);
    fate->doubled = chance(faults, faults->duplicate);
    fate->held_back = chance(faults, faults->reorder);
    fate->corrupted = chance(faults, faults->corrupt);
    const uint64_t back_ns = 1 + draw(faults) % FAULTS_HOLD_NS;
    fate->hold_ns = faults->delay_ns + (fate->held_back ? back_ns : 0);
    fate->copy_hold_ns = faults->delay_ns + 1 + draw(faults) % FAULTS_HOLD_NS;
    fate->bit = draw(faults);
    fate->repaired = 0 != (draw(faults) & 1);
}

bool faults_cut(const struct faults *faults, uint64_t count, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < faults->cuts && count > faults->cut_after; ++i) {
        if ((faults->cut[i].one == from && faults->cut[i].other == to) ||
            (faults->cut[i].one == to && faults->cut[i].other == from)) {
            return true;
        }
    }
    return false;
}
