/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A meeting is the procedure that precedes the opening of a group on the kernel NIC: the hardware
 * addresses of all peers are resolved, and each peer must reply that it runs myrd --kernel
 * (kernel_hosts.h). Since a meeting may take a while, the functions of this file do not block, and
 * their caller, kernel_server.c, serves other clients meanwhile.
 *
 * Processes that open the same group share one meeting. The number of a user's active meetings is
 * limited, and further ones are queued, so that a user cannot keep the daemon busy with hosts that
 * do not exist. A meeting ends after at most 2.5 s. */
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
    uint32_t clients; /* number of waiting clients */
    bool parked;      /* queued, not active yet */
    /* `number` and `answered` have an entry per peer. If two peers are on one host, only the
     * entries of the first are used. */
    uint64_t number[MCP_KERNEL_PEERS]; /* number of the query to this peer; 0: not sent yet */
    bool answered[MCP_KERNEL_PEERS];
    uint32_t pause_ms;
    uint64_t next_at_ms; /* time of the next step */
    uint64_t over_at_ms; /* timeout */
};

/* All meetings, oldest first. */
struct myrd_meetings {
    struct myrd_meeting *first;
};

/* A client joins the meeting for this plan, or leaves it. myrd_meetings_join() returns NULL if out
 * of memory. */
struct myrd_meeting *myrd_meetings_join(struct myrd_meetings *meetings,
                                        const struct mcp_kernel_plan *plan, uint64_t now_ms);
void myrd_meetings_leave(struct myrd_meetings *meetings, struct myrd_meeting *meeting,
                         uint64_t now_ms);

/* Returns the meeting whose next step is due first, or NULL if there is none. Meetings of users
 * without service time left in this iteration of the event loop are skipped. */
struct myrd_meeting *myrd_meetings_next(const struct myrd_meetings *meetings,
                                        const struct myrd_users *users);

/* Makes the next step of a meeting, which must be due. Returns true when the meeting is over.
 * `*status` is then MYR_OK if all peers have replied; otherwise MYR_ERR_GONE or MYR_ERR_FULL, with
 * a message. */
bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                        const struct myrd_hosts *hosts, uint64_t now_ms, enum myr_status *status,
                        struct myr_error *error);

/* Processes a host's reply with this number. Returns false if it does not belong to a query of this
 * meeting. */
bool myrd_meeting_receive(struct myrd_meeting *meeting, const struct mcp_ip *ip, uint64_t number,
                          uint64_t now_ms);

#endif
