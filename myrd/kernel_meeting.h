/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meeting peers. Before a group is opened on the kernel's NIC, the NIC has to know the hardware
 * addresses of its peers, and each of them must have a myrd --kernel (kernel_hosts.h). Finding that
 * out may take a while. The caller, kernel_server.c, serves others meanwhile, so nothing in here
 * waits.
 */
#ifndef MYRD_KERNEL_MEETING_H
#define MYRD_KERNEL_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/status.h"
#include "myrd/kernel_hosts.h"

struct myrd_meeting {
    struct mcp_kernel_plan plan; /* of the group to be opened */
    /* Of a host that is a peer twice, the first one counts. */
    uint64_t number[MCP_KERNEL_PEERS]; /* in the question to this peer; 0: not asked yet */
    bool answered[MCP_KERNEL_PEERS];
    uint32_t pause_ms;
    uint64_t look_at_ms; /* when to go on with it */
    uint64_t over_at_ms; /* when it has lasted too long */
};

/* The caller frees it. NULL: out of memory. */
struct myrd_meeting *myrd_meeting_make(const struct mcp_kernel_plan *plan, uint64_t now_ms);

/* Go on. True when it is over: with MYR_OK if all are met, or with MYR_ERR_GONE and a line. */
bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel,
                        const struct myrd_hosts *hosts, uint64_t now_ms, enum myr_status *status,
                        struct myr_error *error);

/* A host has answered with this number. False if this meeting has not asked it that. */
bool myrd_meeting_hear(struct myrd_meeting *meeting, uint32_t ip, uint64_t number, uint64_t now_ms);

#endif
