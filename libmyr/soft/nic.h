/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's NIC, as the processes of the node share it.
 *
 * A soft NIC lives in shared memory. A process that polls runs its control program
 * (firmware/mcp.h), one process at a time. One UDP socket, the creator's, serves all. The creator
 * may leave or die: the memory and the socket live on in the others.
 *
 * Threads: all functions may be called by several threads at once, except open and close.
 */
#ifndef MYR_SOFT_NIC_H
#define MYR_SOFT_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/counters.h"
#include "firmware/engine.h"
#include "firmware/soft/addresses.h"
#include "libmyr/status.h"

struct myr_soft_nic;
struct myr_segment;

enum { MYR_NIC_ADDRESSES = 4 };

/* What another NIC must know to send to this one; plain data. (GM's node name.) */
struct myr_nic_name {
    uint64_t key;
    uint32_t count;
    struct {
        struct mcp_ip ip; /* network byte order, as the port */
        uint16_t port;
        uint8_t prefix; /* bits of the network part, of 128 */
        uint8_t zero;
    } address[MYR_NIC_ADDRESSES];
    uint32_t zero;
};

/* What makes a NIC run. A process that waits for it runs it in any case. */
enum myr_soft_runner {
    MYR_SOFT_POLLED, /* nobody else */
    MYR_SOFT_THREAD, /* a thread of one of its processes */
    MYR_SOFT_DAEMON, /* myrd */
};

/*
 * What becomes of a process that waits for another one which runs the control program and does not
 * go on with it: a process that is stopped (SIGSTOP, a debugger) keeps the NIC's lock. After
 * `warn_ns` a line names that process. After `give_up_ns` the NIC is of no use any more to the
 * process that waits: its operations fail. Time counts while the process that waits runs itself.
 * (A stopped process that is continued harms nobody: the NIC is sound, and serves the others.)
 */
struct myr_soft_bounds {
    uint64_t warn_ns, give_up_ns;  /* UINT64_MAX: never; 0: as a NIC does that was told nothing */
    void (*say)(const char *line); /* by any thread; NULL: nobody is told */
};

struct myr_soft_options {
    const char *network; /* addresses to use, see mcp_local_addresses() */
    uint16_t port;       /* UDP port; 0: any */
};

/*
 * Open the NIC that lives in `segment`, or make one there. The segment must outlive it. MYR_ERR_*,
 * with a line that says what to do, when the creator's socket cannot be had or there is no network.
 */
enum myr_status myr_soft_open(struct myr_segment *segment, const struct myr_soft_options *options,
                              struct myr_soft_nic **nic, struct myr_error *error);
void myr_soft_close(struct myr_soft_nic *nic);

/*
 * The same for a program that needs nothing else of the segment: join that of a folder (segment.h),
 * of up to `bytes`, and open its NIC. Where that fails, *segment or *nic is NULL; a segment that
 * was joined stays so.
 */
enum myr_status myr_soft_open_in(const char *folder, uint32_t bytes,
                                 const struct myr_soft_options *options,
                                 struct myr_segment **segment, struct myr_soft_nic **nic,
                                 struct myr_error *error);

void myr_soft_get_name(const struct myr_soft_nic *nic, struct myr_nic_name *name);
struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic);

/* Bytes of the largest packet that reaches the NIC called `name` in one piece, as far as this
 * machine knows, with a header of IPv4's size; 0: unknown. */
uint32_t myr_soft_mtu(const struct myr_soft_nic *nic, const struct myr_nic_name *name);

/* Take what has come from the network and do what is due. 0: there was nothing. */
uint32_t myr_soft_poll(struct myr_soft_nic *nic);

/* The same, at most once in some microseconds, whoever calls. It is for progress functions, which
 * are called all the time while nobody waits. */
uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic);

/*
 * Sleep until something comes from the network, or `word` is no longer `seen`, or for `timeout_us`;
 * or not at all. `sleepers`, the word behind it, counts the processes that sleep on it. One of a
 * node's processes sleeps on the network and runs the NIC; the others sleep on their words.
 */
void myr_soft_sleep(struct myr_soft_nic *nic, myr_word *word, myr_word *sleepers, uint32_t seen,
                    uint32_t timeout_us);

/* Before any other thread uses the NIC. */
void myr_soft_set_bounds(struct myr_soft_nic *nic, const struct myr_soft_bounds *bounds);

/* Is the NIC of no use any more? So it is when a process was killed while it ran the control
 * program, and when this process has given up waiting for one that is stopped there. */
bool myr_soft_broken(struct myr_soft_nic *nic);

/* The pid of the process that this one has given up waiting for; 0: none. */
uint32_t myr_soft_given_up(const struct myr_soft_nic *nic);

/* Has another NIC sent a message that no process here has connected to? It is not accepted before
 * (port.h). A word is looked at, so this may be called often. */
bool myr_soft_knocked(const struct myr_soft_nic *nic);

/* What the NIC has counted so far. */
void myr_soft_count(const struct myr_soft_nic *nic, struct mcp_counters *counters);

#endif
