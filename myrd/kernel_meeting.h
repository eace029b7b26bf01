/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings. Before a group is opened on the kernel's NIC, the hardware addresses of its peers must
 * be resolved, and each peer must have answered as a host of myrd --kernel (kernel_hosts.h). That
 * may take a while. The caller, kernel_server.c, serves others meanwhile, so no function here
 * blocks.
 *
 * Invariants: processes that open the same group share one meeting. Only some of a user's meetings
 * are active; the others are queued, so nobody can keep the daemon busy with hosts that do not
 * exist. A meeting ends after 2.5 s at the latest.
 */
#ifndef MYRD_KERNEL_MEETING_H
#define MYRD_KERNEL_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/status.h"
#include "myrd/kernel_hosts.h"
#include "myrd/users.h"

enum { MYRD_MEETINGS_OF_ONE = 16 }; /* active meetings per user */

struct myrd_meeting {
    struct mcp_kernel_plan plan; /* of the group to be opened */
    struct myrd_meeting *next;
    uint32_t clients; /* waiting clients */
    bool parked;      /* queued, not active yet */
    /* If a host is two peers, the first one counts. */
    uint64_t number[MCP_KERNEL_PEERS]; /* of the query to this peer; 0: not sent yet */
    bool answered[MCP_KERNEL_PEERS];
    uint32_t pause_ms;
    uint64_t look_at_ms; /* when to continue */
    uint64_t over_at_ms; /* when to time out */
};

/* All meetings, the oldest first. */
struct myrd_meetings {
    struct myrd_meeting *first;
};

/* A client joins the meeting for this plan, or leaves it. NULL: out of memory. */
struct myrd_meeting *myrd_meetings_join(struct myrd_meetings *meetings,
                                        const struct mcp_kernel_plan *plan, uint64_t now_ms);
void myrd_meetings_leave(struct myrd_meetings *meetings, struct myrd_meeting *meeting,
                         uint64_t now_ms);

/* The meeting that is due first, of users with time left in this turn. NULL: none. */
struct myrd_meeting *myrd_meetings_next(const struct myrd_meetings *meetings,
                                        const struct myrd_users *users);

/* Advance a meeting that is due. Returns true when it is over; `*status` is then MYR_OK if all
 * peers have answered, else MYR_ERR_GONE or MYR_ERR_FULL, with a line. */
bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                        const struct myrd_hosts *hosts, uint64_t now_ms, enum myr_status *status,
                        struct myr_error *error);

/* A host has answered with this number. False if this meeting did not send that query. */
bool myrd_meeting_receive(struct myrd_meeting *meeting, const struct mcp_ip *ip, uint64_t number,
                          uint64_t now_ms);

#endif
