/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides what a NIC does with packets of collectives. The decisions are separate from the code
 * that executes them, so that the control program (collective.c, in user space and in the
 * simulator), the program in the kernel and its owner (kernel/) all make the same decisions.
 *
 * The functions are pure: they only depend on their arguments, and only call each other. How a
 * decision is executed differs. For example, to send a reply, the control program sends a new
 * packet, whereas the program in the kernel rewrites the received packet. */
#ifndef MCP_POLICY_H
#define MCP_POLICY_H

#include "firmware/counters.h"
#include "firmware/engine.h"

/* Always inlined, because old verifiers require that a program is a single function. */
#define MCP_POLICY static inline __attribute__((always_inline))

/* ---- an open group ---- */

/* The action for an authentic packet of an open group, depending on its type. A new type of packet
 * needs a new row here. */
enum mcp_action {
    MCP_ACTION_RECORD,  /* ARRIVE: store its payload, mcp_group_record(), and advance the group */
    MCP_ACTION_RELEASE, /* DONE: mcp_group_release(), and advance the group */
    MCP_ACTION_ANSWER,  /* ASK: mcp_group_answer() */
    MCP_ACTION_HEAR,    /* LATER: mcp_group_hear() */
    MCP_ACTION_GIVE_UP, /* FAIL: fail the group, and inform its hosts and peers */
    MCP_ACTION_TAKE_BLOCK,   /* BCAST: mcp_bcast_take(), and forward it */
    MCP_ACTION_ANSWER_BCAST, /* BCAST_ASK: mcp_bcast_answer() */
    MCP_ACTION_HEAR_BCAST,   /* BCAST_LATER: mcp_bcast_hear() */
    MCP_ACTION_PASS_OVER,    /* ignore the packet, and count it as a duplicate */
    MCP_ACTION_REJECT, /* drop the packet: such a group has no packets of its type, or the packet is
                          for another member of the group */
};

/* Returns the action for a packet. `leaves` means that the hosts have left the group, which now
 * runs one more epoch for the benefit of its peers (mcp_group_owes()). A FAIL is then ignored:
 * there is no host to be informed, and another peer may still miss data of this node.
 *
 * All members of a group have the same secret, so an attacker may record an ARRIVE and send it to
 * another member, whose slot of this number belongs to a message of another sender. Such a packet
 * is authentic, but it names the member for which it is meant. (The slots of a schedule do not
 * suffice to detect it, even together with the sender, because a sender may have messages for the
 * same slot of several members.) */
MCP_POLICY enum mcp_action mcp_action_on(const struct mcp_group *group,
                                         const struct mcp_header *header, bool leaves)
{
    if (mcp_is_bcast(header->type) && 0 == group->window) {
        return MCP_ACTION_REJECT;
    }
    switch (header->type) {
    case MCP_ARRIVE:
        return group->node == header->collective.node ? MCP_ACTION_RECORD : MCP_ACTION_REJECT;
    case MCP_DONE:
        return MCP_ACTION_RELEASE;
    case MCP_ASK:
        return MCP_ACTION_ANSWER;
    case MCP_LATER:
        return MCP_ACTION_HEAR;
    case MCP_FAIL:
        return leaves ? MCP_ACTION_PASS_OVER : MCP_ACTION_GIVE_UP;
    case MCP_BCAST:
        return MCP_ACTION_TAKE_BLOCK;
    case MCP_BCAST_ASK:
        return MCP_ACTION_ANSWER_BCAST;
    case MCP_BCAST_LATER:
        return MCP_ACTION_HEAR_BCAST;
    default:
        return MCP_ACTION_REJECT;
    }
}

/* Returns whether a packet with this result may allow the group to advance. This is also possible
 * after an unexpected message: the reply to an ASK may contain the epoch after the requested one,
 * if its sender has already sent the message of that epoch. Such a reply counts for both epochs. */
MCP_POLICY bool mcp_continues(enum mcp_action action, enum mcp_recorded recorded)
{
    return action <= MCP_ACTION_RELEASE && recorded <= MCP_UNEXPECTED;
}

/* Counts the result. (After a failure, peers may be ahead by any number of epochs, so their
 * messages are not counted as implausible then.) */
MCP_POLICY void mcp_count(struct mcp_counters *counters, const struct mcp_group *group,
                          enum mcp_action action, enum mcp_recorded recorded)
{
    switch (recorded) {
    case MCP_RECORDED:
        counters->heard += MCP_ACTION_HEAR == action || MCP_ACTION_HEAR_BCAST == action;
        break;
    case MCP_UNEXPECTED:
        ++counters->unexpected;
        break;
    case MCP_KNOWN:
        ++counters->duplicates;
        break;
    case MCP_TOO_SOON:
        ++counters->early;
        break;
    case MCP_IMPLAUSIBLE:
        counters->dropped_implausible += 0 == myr_load_relaxed(&group->failed);
        break;
    }
}

/* ---- the end of a group ---- */

/* Returns whether a group whose hosts have left must run one more epoch, without data, before it
 * may be closed. This is necessary if its last epoch carried data, or if it broadcasts, because a
 * peer may still miss data of this node. Once the additional epoch is complete, all peers have
 * received all data. */
MCP_POLICY bool mcp_group_owes(const struct mcp_group *group)
{
    if (0 != myr_load_relaxed(&group->failed)) {
        return false;
    }
    return 0 != group->window ||
           (!mcp_group_waits_now(group) && 0 != group->unit[myr_load_relaxed(&group->done) % 2]);
}

/* The final state of a group, which is kept after the group was closed, to answer its peers. */
struct mcp_ending {
    uint32_t epoch;  /* the last complete one whose data no node can miss */
    uint32_t failed; /* as in struct mcp_group: the reason why no epoch follows; 0 if the group has
                        not failed */
};

/* Returns the final state of a group that is being closed. `fails` is true if it is closed while
 * members may still wait for it.
 *
 * Closing a group discards its data. If the last epoch carried data, a peer that still misses some
 * of them can no longer receive them. Therefore only the epochs before it count as complete in the
 * final state; all nodes already have the data of these epochs. For the same reason, a group that
 * broadcasts ends as failed unless it has completed its closing epoch, because until then a peer
 * may still miss a block. */
MCP_POLICY struct mcp_ending mcp_ending_of(const struct mcp_group *group, bool fails)
{
    const uint32_t done = myr_load_relaxed(&group->done), failed = myr_load_relaxed(&group->failed);
    const bool data = 0 != group->unit[done % 2];
    const bool lost = fails || data || (0 != group->window && mcp_group_waits_now(group));
    return (struct mcp_ending){
        .epoch = data ? done - 1 : done,
        .failed = lost && 0 == failed ? group->node + 1U : failed,
    };
}

/* Determines the reply to an authentic packet of a closed group. If the packet requests a message,
 * returns true and turns its header into that of the reply, which is not sealed yet: DONE (all
 * nodes have arrived in this epoch) or FAIL (no further epoch will complete, because a node is
 * missing). Requests for a block of a broadcast are handled in the same way; a node can miss such a
 * block only after a failure. Returns false if no reply is needed. */
MCP_POLICY bool mcp_ending_answer(const struct mcp_ending *ending, struct mcp_header *header)
{
    const bool done =
        MCP_ASK == header->type && myr_epoch_reached(ending->epoch, header->collective.epoch);
    const bool asks = MCP_ASK == header->type || MCP_BCAST_ASK == header->type;
    if (!asks || (!done && 0 == ending->failed)) {
        return false;
    }
    header->type = done ? MCP_DONE : MCP_FAIL;
    header->collective.node = done ? header->collective.node : (uint16_t)(ending->failed - 1);
    return true;
}

#endif
