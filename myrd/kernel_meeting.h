/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meeting peers. Before a group is opened on the kernel's NIC, the NIC has to know the hardware
 * addresses of its peers. Finding them may take a while. The caller, kernel_server.c, serves others
 * meanwhile, so nothing in here waits.
 */
#ifndef MYRD_KERNEL_MEETING_H
#define MYRD_KERNEL_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/status.h"

struct myrd_meeting {
    struct mcp_kernel_plan plan; /* of the group to be opened */
    bool met[MCP_KERNEL_PEERS];
    uint32_t pause_ms;
    uint64_t look_at_ms; /* when to go on with it */
    uint64_t over_at_ms; /* when it has lasted too long */
};

/* The caller frees it. NULL: out of memory. */
struct myrd_meeting *myrd_meeting_make(const struct mcp_kernel_plan *plan, uint64_t now_ms);

/* Go on. True when it is over: with MYR_OK if all are met, or with MYR_ERR_GONE and a line. */
bool myrd_meeting_go_on(struct myrd_meeting *meeting, struct mcp_kernel *kernel, uint64_t now_ms,
                        enum myr_status *status, struct myr_error *error);

#endif
