/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting peers; see kernel_meeting.h. */
#include "myrd/kernel_meeting.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum {
    PATIENCE_MS = 2500,  /* ARP asks once a second: one question may be lost */
    PAUSE_FIRST_MS = 2,  /* twice as long each time, */
    PAUSE_MOST_MS = 256, /* ... up to this */
};

struct myrd_meeting *myrd_meeting_make(const struct mcp_kernel_plan *plan, uint64_t now_ms)
{
    struct myrd_meeting *meeting = calloc(1, sizeof(*meeting));
    if (NULL != meeting) {
        meeting->plan = *plan;
        meeting->pause_ms = PAUSE_FIRST_MS;
        meeting->look_at_ms = now_ms;
        meeting->over_at_ms = now_ms + PATIENCE_MS;
    }
    return meeting;
}

/* Ask for all missing addresses at once, not one after the other. False if one is still
 * missing; `missing` gets it. */
static bool met_all(struct myrd_meeting *meeting, struct mcp_kernel *kernel, uint32_t *missing)
{
    const struct mcp_kernel_plan *plan = &meeting->plan;
    char why[MCP_KERNEL_WHY];
    bool all = true;
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const uint32_t ip = plan->peers[p].ip;
        meeting->met[p] = meeting->met[p] || 0 == mcp_kernel_meet(kernel, ip, why);
        if (!meeting->met[p]) {
            all = false;
            *missing = ip;
        }
    }
    return all;
}

bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel, uint64_t now_ms,
                        enum myr_status *status, struct myr_error *error)
{
    uint32_t missing;
    *status = MYR_OK;
    if (met_all(meeting, kernel, &missing)) {
        return true;
    }
    if (now_ms >= meeting->over_at_ms) {
        char text[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &missing, text, sizeof(text));
        *status = myr_fail(error, MYR_ERR_GONE, 0,
                           "%s does not answer on %s (is that host up, and in the same network?)",
                           text, mcp_kernel_interface(kernel));
        return true;
    }
    meeting->look_at_ms = now_ms + meeting->pause_ms;
    meeting->pause_ms =
        2 * meeting->pause_ms < PAUSE_MOST_MS ? 2 * meeting->pause_ms : PAUSE_MOST_MS;
    return false;
}
