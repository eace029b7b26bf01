/* The NIC as libmyr's own files use it: running its control program. Not for users of libmyr. */
#ifndef MYR_NIC_INSIDE_H
#define MYR_NIC_INSIDE_H

#include "firmware/mcp.h"
#include "libmyr/nic.h"

/*
 * Run the control program: locks the NIC and gives its memory and board. leave() unlocks it and
 * puts the packets on the wire. Not to be nested.
 */
struct mcp_nic *myr_nic_enter(struct myr_nic *nic, struct mcp_board **board);
void myr_nic_leave(struct myr_nic *nic);

#endif
