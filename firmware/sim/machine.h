/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates a cluster, to measure the control program (MCP) on NICs that are not available. The
 * cluster consists of nodes, links and cut-through switches. Each node has a host CPU, a bus with a
 * DMA engine, and a NIC with a slow processor that runs the MCP.
 *
 * The MCP is the same object code that the soft NIC runs. The simulator observes it from outside
 * and charges time for each call of the MCP (for a packet, a token or a start), for each call that
 * the MCP makes to its board (send, wake), and for each event that it posts. Each charge advances
 * the clock of the node, so a second packet leaves later than the first.
 *
 * The time of one message from host to host has these components (Buntinas et al., "Fast NIC-based
 * barrier over Myrinet/GM", section 2.2, figure 2), where `loop` and `turn` stand for the
 * parameters cycles_loop and cycles_turn:
 *     Send     host_call_us, doorbell_us      SDMA     loop, turn
 *     Xmit     turn, a payload's DMA, link    Network  switches and cables, cut through
 *     Recv     link, loop, turn               RDMA     turn, DMA of payload and event
 *     HRecv    host_call_us
 *
 * If the host itself copies a short payload into the NIC, the NIC needs no DMA to send it.
 *
 * Blocks of broadcasts are kept in the memory of the NICs. A block is copied once from the root's
 * host to its NIC, forwarded from NIC to NIC, and copied by each NIC to its host.
 *
 * A NIC may also run a program that uses its ports on behalf of the host (struct sim_above). The
 * host then calls this program instead of using the ports. The messages that the program sends and
 * receives are in the memory of the NIC, except for the bytes that the host provides.
 *
 * Each processor, bus and end of a link performs its operations one at a time, in the order of
 * their arrival.
 *
 * The simulation is single-threaded and deterministic: a run depends only on parameters, calls and
 * seed. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stddef.h>

#include "firmware/mcp.h"
#include "firmware/sim/events.h"

/* The parameters of each node, in microseconds, cycles of the NIC's processor, and bytes. */
struct sim_parameters {
    double nic_mhz;
    double cycles_loop; /* until an idle MCP notices new work; a delay that does not occupy the
                           processor */
    double cycles_look; /* added to this delay for each other node, if the MCP polls each node */
    double cycles_turn; /* one iteration of a state machine: SDMA, SEND, RECV, RDMA alike */
    double
        cycles_engine; /* to record a message of a collective and determine the messages to send */
    double cycles_start; /* in addition, to read the peer list of a barrier that the host starts */
    double cycles_dma;   /* to start the DMA of a payload, in either direction */
    /* The largest payload that the host copies into the NIC. The NIC fetches larger payloads by
     * DMA; if this is 0, it fetches all payloads. */
    double copy_most;
    double copy_bytes_per_us;
    double doorbell_us; /* until a host's write reaches the NIC */
    double dma_us;      /* latency of a DMA, independent of its size */
    double dma_bytes_per_us;
    double link_bytes_per_us;
    double link_header_bytes; /* a packet's route, type and checksum on the link */
    double switch_us;         /* latency of a switch, for the first bytes of a packet */
    double cable_us;
    double switch_ports;
    double host_call_us;   /* to pass a token to the NIC, or to receive a message or a release */
    double host_return_us; /* to take back a send token */
    double slow_from;      /* nodes from this one on have slower hosts; 0 if none has */
    double slow_factor;    /* factor by which these hosts are slower */
    double mtu;            /* for packets with payload, as the MTU of IP */
    double loss;           /* probability that the wire loses a packet */
};

/* Events of which a host is notified. */
enum sim_notice {
    SIM_BEGIN,   /* the simulation begins for it */
    SIM_RELEASE, /* a group's release was written */
    SIM_BLOCK,   /* the block of a broadcast has arrived; or the root's own block was sent */
    SIM_EVENT    /* port 0's ring has one more event; or the program above it has posted one */
};

struct sim_machine;
struct sim_work;
struct sim_node;

/* A program that runs on each NIC above port 0. It may call sim_nic_...() and firmware. */
struct sim_above {
    /* Called when port 0 has new events. */
    void (*events)(struct sim_node *node);
    /* Called when the host calls the program, see sim_host_calls(). */
    void (*call)(struct sim_node *node, void *what);
    /* Returns how many bytes of a packet's payload move between the NIC and its host. */
    size_t (*of_host)(struct sim_node *node, const void *payload, size_t bytes, bool leaves);
};

/* A FIFO queue. */
struct sim_queue {
    struct sim_work *first, *last;
};

struct sim_tally {
    uint64_t sent, received, lost, bytes; /* packets, and their bytes on the links */
    uint64_t starts, tokens, releases, posts, dmas, timers;
};

struct sim_node {
    /* of the MCP; the first member, so that pointers to both can be converted */
    struct mcp_board board;
    struct sim_machine *machine;
    struct mcp_nic *mcp;
    uint32_t number;
    uint32_t taken;           /* bytes of memory that sim_memory() has allocated */
    uint32_t events_reported; /* number of reported events of port 0 */
    uint32_t sender;          /* of the packet that is being handled */
    /* Set by the caller: a group that broadcasts; NULL if there is none. */
    struct mcp_group *broadcasts;
    bool is_root; /* whether this node is the root of the broadcast that its host is beginning */
    struct sim_queue nic_work, host_work;
    uint64_t nic_free_ps, host_free_ps, bus_free_ps, out_free_ps, in_free_ps;
    uint64_t cursor_ps; /* the present time of the processor that runs on this node */
    uint64_t timer_ps;  /* when to call the MCP for a deadline; 0 if never */
    void *process;      /* for the caller */
};

struct sim_machine {
    struct sim_parameters parameters;
    struct sim_node *nodes;
    uint32_t nnodes;
    uint64_t now_ps;
    uint64_t random;
    struct sim_tally tally;
    /* Set by the caller: handles a notification of a host. It may call sim_host_...() for `node`
     * only. */
    void (*notice)(struct sim_node *node, enum sim_notice notice);
    const struct sim_above *above; /* NULL if hosts use the ports themselves */
    bool stopped;                  /* set by the caller to make sim_run() return */
    bool exhausted;                /* out of memory: the results from here on are invalid */
    struct sim_events events;
    struct sim_work *spare;
    uint8_t *memory;
    size_t memory_bytes;
};

/* Creates a cluster. `shape` contains the number of nodes, the numbers of ports and connections of
 * each NIC, and the memory of each node for sim_memory(). Returns false if memory is exhausted. */
struct sim_shape {
    uint32_t nodes, ports, connections;
    size_t memory_bytes; /* of a node */
};
bool sim_create(struct sim_machine *machine, const struct sim_parameters *parameters,
                const struct sim_shape *shape, uint64_t seed);
void sim_destroy(struct sim_machine *machine);

/* Allocates memory of a node, all 0, aligned to MYR_LINE. Returns NULL if there is none left. */
void *sim_memory(struct sim_node *node, size_t bytes);

/* Return a node's link, as used by another node, and the key of its NIC. */
mcp_link sim_link(uint32_t node);
uint64_t sim_key(uint32_t node);

/* Returns the time (picoseconds) from sending the first bytes of a packet to their arrival at
 * another node, through links and switches. Up to switch_ports nodes are connected by one switch,
 * and more nodes by a fat tree of switches. */
uint64_t sim_network_ps(const struct sim_machine *machine, uint32_t from, uint32_t to);

/* Runs until no events are left, or until `stopped`. */
void sim_run(struct sim_machine *machine);

/* ---- actions of the host, each of which takes time ---- */

/* Notifies the host with SIM_BEGIN at this time. */
void sim_host_begin(struct sim_node *node, uint64_t at_ps);

/* Keeps the host busy for that time. */
void sim_host_spend(struct sim_node *node, double us);

static inline double sim_host_now_us(const struct sim_node *node)
{
    return (double)node->cursor_ps / 1e6;
}

/* Accounts for `bytes` bytes that the host passes to its NIC: charges for the copy if the host
 * makes it. */
void sim_host_copy(struct sim_node *node, size_t bytes);

/* Ring the NIC's doorbell, by which the host notifies the NIC that it has arrived in `epoch` of a
 * group (sim_host_start()), that port 0 has a new send token (sim_host_sends()) or receive tokens
 * again (sim_host_provides()), that it begins broadcast `number` of the group `broadcasts` with the
 * block of `bytes` bytes at `block` (sim_host_bcast()), or that it calls the program above port 0
 * (sim_host_calls()).
 *
 * The clock of a host advances with each of its actions, so it may be ahead of the clocks of other
 * nodes. The NIC might therefore find a send token too early, when it reads the previous one. To
 * prevent this, the caller fills in all of a send token except its `sequence`, which is written at
 * the time at which the NIC reaches this token. */
void sim_host_start(struct sim_node *node, struct mcp_group *group, uint32_t epoch);
void sim_host_sends(struct sim_node *node, struct mcp_send_token *token, uint32_t sequence);
void sim_host_provides(struct sim_node *node);
void sim_host_bcast(struct sim_node *node, uint32_t number, const void *block, uint32_t bytes);
void sim_host_calls(struct sim_node *node, void *what);

/* ---- actions of the program above a NIC's port, each of which takes time ---- */

/* Keeps the NIC's processor busy for that number of cycles. */
void sim_nic_spend(struct sim_node *node, double cycles);

/* Notifies the host with SIM_EVENT. */
void sim_nic_notifies(struct sim_node *node);

/* Returns the sum of all NICs' counters. */
struct mcp_counters sim_counters(const struct sim_machine *machine);

/* Returns a random number in [0, 1). */
double sim_random(struct sim_machine *machine);

#endif
