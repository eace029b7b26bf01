/* SPDX-License-Identifier: BSD-3-Clause */
/* Meetings with the peers of a group; see kernel_meeting.h. */
#include "myrd/kernel_meeting.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "firmware/soft/addresses.h"
#include "myrd/accounts.h"
#include "myrd/kernel_plan.h"
#include "os/random.h"

enum {
    TIMEOUT_MS = 2500,   /* the kernel sends a request once a second, and one of them may be lost */
    PAUSE_FIRST_MS = 2,  /* the first pause between requests; doubled each time */
    PAUSE_MOST_MS = 128, /* the longest pause; of 27 requests one gets through even on a very bad
                            network */
};

/* ---- the list ---- */

static bool same_account(const struct myrd_meeting *one, const struct myrd_meeting *other)
{
    return myrd_account(one->plan.uid) == myrd_account(other->plan.uid);
}

/* Starts the meeting, or defers it until another meeting of the same account is over. */
static void begin_meeting(const struct myrd_meetings *meetings, struct myrd_meeting *meeting,
                          uint64_t now_ms)
{
    uint32_t under_way = 0;
    for (const struct myrd_meeting *m = meetings->first; NULL != m; m = m->next) {
        under_way += same_account(meeting, m) && meeting != m && !m->parked;
    }
    meeting->parked = under_way >= MYRD_MEETINGS_OF_ONE;
    meeting->next_at_ms = meeting->parked ? meeting->over_at_ms : now_ms;
}

struct myrd_meeting *myrd_meetings_join(struct myrd_meetings *meetings,
                                        const struct mcp_kernel_plan *plan, uint64_t now_ms)
{
    struct myrd_meeting **link = &meetings->first;
    while (NULL != *link && !myrd_kernel_plan_equal(plan, &(*link)->plan)) {
        link = &(*link)->next;
    }
    if (NULL == *link) {
        struct myrd_meeting *meeting = calloc(1, sizeof(*meeting));
        if (NULL == meeting) {
            return NULL;
        }
        meeting->plan = *plan;
        meeting->pause_ms = PAUSE_FIRST_MS;
        meeting->over_at_ms = now_ms + TIMEOUT_MS;
        begin_meeting(meetings, meeting, now_ms);
        *link = meeting;
    }
    ++(*link)->clients;
    return *link;
}

void myrd_meetings_leave(struct myrd_meetings *meetings, struct myrd_meeting *meeting,
                         uint64_t now_ms)
{
    if (0 != --meeting->clients) {
        return;
    }
    struct myrd_meeting **link = &meetings->first;
    while (meeting != *link) {
        link = &(*link)->next;
    }
    *link = meeting->next;
    struct myrd_meeting *other = meetings->first;
    while (NULL != other && !(other->parked && same_account(meeting, other))) {
        other = other->next;
    }
    if (NULL != other) {
        begin_meeting(meetings, other, now_ms);
    }
    free(meeting);
}

struct myrd_meeting *myrd_meetings_next(const struct myrd_meetings *meetings,
                                        const struct myrd_users *users)
{
    struct myrd_meeting *first = NULL;
    for (struct myrd_meeting *m = meetings->first; NULL != m; m = m->next) {
        if ((NULL == first || m->next_at_ms < first->next_at_ms) &&
            !myrd_users_had_time(users, m->plan.uid)) {
            first = m;
        }
    }
    return first;
}

/* ---- one meeting ---- */

static uint32_t peers_of(const struct myrd_meeting *meeting)
{
    return meeting->plan.nsends + meeting->plan.nwaits;
}

/* Returns the index of the first peer with this address. */
static uint32_t find_peer(const struct myrd_meeting *meeting, const struct mcp_ip *ip)
{
    uint32_t p = 0;
    while (p < peers_of(meeting) && !mcp_same_ip(ip, &meeting->plan.peers[p].ip)) {
        ++p;
    }
    return p;
}

bool myrd_meeting_receive(struct myrd_meeting *meeting, const struct mcp_ip *ip, uint64_t number,
                          uint64_t now_ms)
{
    const uint32_t p = find_peer(meeting, ip);
    if (p == peers_of(meeting) || 0 == number || number != meeting->number[p]) {
        return false;
    }
    meeting->answered[p] = true;
    meeting->next_at_ms = now_ms;
    return true;
}

/* Returns whether the peer has replied. If not, and if its hardware address is known, sends it a
 * query. */
static bool query_peer(struct myrd_meeting *meeting, uint32_t p, const struct myrd_hosts *hosts,
                       bool reached, uint64_t now_ms)
{
    const struct mcp_ip *ip = &meeting->plan.peers[p].ip;
    meeting->answered[p] = meeting->answered[p] || myrd_hosts_know(hosts, ip, now_ms);
    if (!meeting->answered[p] && reached &&
        (0 != meeting->number[p] || os_draw_key(&meeting->number[p], sizeof(uint64_t)))) {
        myrd_hosts_ask(hosts, ip, meeting->number[p]);
    }
    return meeting->answered[p];
}

/* Sends a query to each peer that has not replied yet, without waiting for replies. Returns true if
 * all peers have replied. Otherwise `missing` is set to one that has not, and `reached` to whether
 * its hardware address is known. */
static bool query_all_peers(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                            const struct myrd_hosts *hosts, uint64_t now_ms,
                            const struct mcp_ip **missing, bool *reached)
{
    char why[MCP_KERNEL_WHY];
    bool all = true;
    for (uint32_t p = 0; p < peers_of(meeting); ++p) {
        const struct mcp_ip *ip = &meeting->plan.peers[p].ip;
        if (p == find_peer(meeting, ip)) {
            const bool knows = 0 == mcp_kernel_meet(kernel, ip, why);
            if (!(query_peer(meeting, p, hosts, knows, now_ms) && knows)) {
                all = false;
                *missing = ip;
                *reached = knows;
            }
        }
    }
    return all;
}

static enum myr_status fail_parked(struct myr_error *error)
{
    return myr_fail(error, MYR_ERR_FULL, 0,
                    "myrd refuses: %d groups of this user wait for hosts that do not answer",
                    MYRD_MEETINGS_OF_ONE);
}

static enum myr_status fail_unanswered(const struct mcp_kernel *kernel,
                                       const struct myrd_hosts *hosts, const struct mcp_ip *missing,
                                       bool reached, struct myr_error *error)
{
    char text[MCP_IP_TEXT];
    (void)mcp_ip_text(missing, text);
    return reached
               ? myr_fail(error, MYR_ERR_GONE, 0,
                          "no myrd --kernel answers at %s, UDP port %u (is one of this version "
                          "running there, and do firewalls let its packets pass?)",
                          text, (unsigned)ntohs(hosts->port))
               : myr_fail(error, MYR_ERR_GONE, 0,
                          "%s does not answer on %s (is that host up, and in the same network?)",
                          text, mcp_kernel_interface(kernel));
}

bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                        const struct myrd_hosts *hosts, uint64_t now_ms, enum myr_status *status,
                        struct myr_error *error)
{
    const struct mcp_ip *missing;
    bool reached;
    if (meeting->parked) {
        *status = fail_parked(error);
        return true;
    }
    *status = MYR_OK;
    if (query_all_peers(meeting, kernel, hosts, now_ms, &missing, &reached)) {
        return true;
    }
    if (now_ms >= meeting->over_at_ms) {
        *status = fail_unanswered(kernel, hosts, missing, reached, error);
        return true;
    }
    meeting->next_at_ms = now_ms + meeting->pause_ms;
    meeting->pause_ms =
        2 * meeting->pause_ms < PAUSE_MOST_MS ? 2 * meeting->pause_ms : PAUSE_MOST_MS;
    return false;
}
