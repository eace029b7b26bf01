/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meeting peers. Before a group is opened on the kernel's NIC, the NIC has to know the hardware
 * addresses of its peers, and each of them must have a myrd --kernel (kernel_hosts.h). Finding that
 * out may take a while. The caller, kernel_server.c, serves others meanwhile, so nothing in here
 * waits.
 *
 * Invariants: processes that open the same group share one meeting. Of one user's meetings only
 * some are under way; the others wait for these, so nobody can keep the daemon busy with hosts that
 * are not there. A meeting is over after 2.5 s, whatever it waited for.
 */
#ifndef MYRD_KERNEL_MEETING_H
#define MYRD_KERNEL_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/status.h"
#include "myrd/kernel_hosts.h"
#include "myrd/users.h"

enum { MYRD_MEETINGS_OF_ONE = 16 }; /* so many of a user's are under way at a time */

struct myrd_meeting {
    struct mcp_kernel_plan plan; /* of the group to be opened */
    struct myrd_meeting *next;
    uint32_t clients; /* that wait for it */
    bool parked;      /* not under way yet */
    /* Of a host that is a peer twice, the first one counts. */
    uint64_t number[MCP_KERNEL_PEERS]; /* in the question to this peer; 0: not asked yet */
    bool answered[MCP_KERNEL_PEERS];
    uint32_t pause_ms;
    uint64_t look_at_ms; /* when to go on with it */
    uint64_t over_at_ms; /* when it has lasted too long */
};

/* All that there are, the oldest first. */
struct myrd_meetings {
    struct myrd_meeting *first;
};

/* A client waits for the meeting for this plan, or does so no longer. NULL: out of memory. */
struct myrd_meeting *myrd_meetings_join(struct myrd_meetings *meetings,
                                        const struct mcp_kernel_plan *plan, uint64_t now_ms);
void myrd_meetings_leave(struct myrd_meetings *meetings, struct myrd_meeting *meeting,
                         uint64_t now_ms);

/* The meeting that is due first, of a user who has not had its time in this turn. NULL: none. */
struct myrd_meeting *myrd_meetings_next(const struct myrd_meetings *meetings,
                                        const struct myrd_users *users);

/* Go on with one that is due. True when it is over: with MYR_OK if all are met, or with
 * MYR_ERR_GONE or MYR_ERR_FULL and a line. */
bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                        const struct myrd_hosts *hosts, uint64_t now_ms, enum myr_status *status,
                        struct myr_error *error);

/* A host has answered with this number. False if this meeting has not asked it that. */
bool myrd_meeting_receive(struct myrd_meeting *meeting, const struct mcp_ip *ip, uint64_t number,
                          uint64_t now_ms);

#endif
