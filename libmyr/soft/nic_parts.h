/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft NIC's internal interface; see nic.h for its users.
 *   nic.c         queries
 *   nic_open.c    creating it, passing on its socket, opening and closing
 *   nic_lock.c    the lock of the control program; NICs whose lock holder has died
 *   nic_board.c   the board under the control program: packets, clock, wakeups, links
 *   nic_poll.c    receiving packets: the path of a barrier
 *   nic_leave.c   telling connected NICs that this one is closed
 *   nic_sleep.c   sleeping; the runner, and the watch
 *   nic_links.c   the table of links
 *
 * The NIC's memory is a record of the segment. One word of it is the lock, whose holder runs the
 * control program. The holder gathers packets and sends them after unlocking, so that no process
 * waits for another process's system calls. Each process has its own descriptor of the common
 * socket.
 *
 * Invariants: the lock contains the number of the process that holds it. If a holder is killed, the
 * control program's state is undefined, and the NIC is permanently broken. The lock itself has a
 * bit for that, so a single step takes it from the dead process and breaks the NIC, and no process
 * runs the control program of a broken NIC. From then on the lock serialises the cleanup.
 *
 * A holder that is stopped is alive and may continue at any time, so the lock cannot be taken from
 * it. Instead, the other processes stop waiting, each for itself (struct myr_soft_bounds).
 * Resources that they cannot release without the lock remain allocated. */
#ifndef MYR_SOFT_PARTS_H
#define MYR_SOFT_PARTS_H

#include <pthread.h>

#include "firmware/soft/udp.h"
#include "libmyr/node/sram.h"
#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_links.h"

enum {
    MYR_SOFT_SOCKETS = 3, /* number of descriptors of the socket that a process offers to newcomers:
                             one for each component that has opened the NIC */
    MYR_SOFT_LOCK_YIELDS =
        1000 /* yields before checking that the lock's holder is alive and makes progress */
};

#define MYR_SOFT_BROKEN UINT32_C(0x80000000) /* a bit of the lock; process numbers are smaller */

enum myr_soft_state { MYR_SOFT_NEW, MYR_SOFT_OPEN, MYR_SOFT_NONE };

/* The state that the node's processes share. */
struct myr_shared_nic {
    uint32_t layout; /* the creator's myr_soft_layout() */
    myr_word chains; /* whether to receive with UDP GRO, because messages are sent */
    /* `lock`, `sleeper`, `runner` and `watch` are numbers of processes in the segment, or 0. `lock`
     * is the process that runs the control program; it also contains the bit MYR_SOFT_BROKEN. */
    _Alignas(MYR_LINE) myr_word lock;
    myr_word polls;                      /* number of polls for packets; guarded by the lock */
    _Alignas(MYR_LINE) myr_word sleeper; /* the process that sleeps on the socket */
    myr_word runner;                     /* the process with a thread that runs the NIC */
    myr_word watch;      /* the process with a thread that checks whether any process runs it */
    uint32_t runs_as;    /* enum myr_soft_runner, of the runner */
    uint32_t runner_pid; /* for diagnosis */
    uint32_t state;      /* enum myr_soft_state */
    uint32_t status;     /* enum myr_status of the NIC's creation */
    char why[sizeof(((struct myr_error *)0)->text)]; /* the error, if the creation failed */
    struct myr_nic_name name;
    /* The processes that hold the socket, each at its index in the segment's table, so that
     * newcomers find it as long as any process has it. An entry whose `process` does not match the
     * present owner of the index is ignored. */
    struct {
        uint32_t process;
        int socket[MYR_SOFT_SOCKETS]; /* -1 if none */
    } holder[MYR_PROCESSES];
    struct myr_soft_links links;
    struct myr_soft_lingering lingering;
    _Alignas(MYR_LINE) struct mcp_nic mcp; /* last, because its tables follow it */
};

/* The observation of a lock holder that makes no progress. */
struct myr_soft_stuck {
    pthread_mutex_t mutex; /* held by the observing thread; other threads do not wait for it */
    myr_word holder;       /* 0 if none */
    uint32_t polls;        /* the NIC's `polls` at that time */
    uint64_t checked_ns;   /* time of the last observation */
    uint64_t waited_ns;    /* how long this process had waited by then */
    bool reported;
};

struct myr_soft_nic {
    struct mcp_board board;           /* first member: its operations get a pointer to it */
    const struct mcp_address *sender; /* of the packet that is being handled */
    struct mcp_udp udp;
    struct myr_shared_nic *shared;
    struct myr_segment *segment;
    uint32_t self;              /* this process's number */
    bool has_keys;              /* whether it has keys, so that it can authenticate messages */
    uint32_t vacant;            /* the value of the lock while it is free: 0 or MYR_SOFT_BROKEN */
    myr_word checks;            /* number of checks whether a process had died */
    bool entered;               /* between enter() and leave(): whether the lock was taken */
    pthread_mutex_t mutex;      /* for this process's threads: outbox, inbox, lock */
    uint32_t failed;            /* number of packets that could not be sent, to be counted */
    uint32_t missed;            /* number of polls while another process was polling */
    uint32_t polls_since_clock; /* number of polls since the clock was read */
    myr_word slept; /* not 0 if the next poll must read the clock, because time has passed since the
                       last one */
    _Atomic uint64_t polled_ns; /* when a process last polled without waiting; by any thread */
    pthread_mutex_t sleeping_mutex;
    void (*sleeping)(void *context); /* called by a thread that is about to sleep; NULL if none */
    void *sleeping_context;
    struct myr_soft_bounds bounds;
    /* pid of the holder for which this process has given up waiting; 0 if none */
    myr_word given_up;
    struct myr_soft_stuck stuck; /* the present holder, as observed so far */
};

/* ---- nic_lock.c ---- */

/* Take and release the lock, with the process's mutex held. myr_soft_lock() returns false if the
 * process has given up waiting; then there is nothing to release. */
bool myr_soft_lock(struct myr_soft_nic *nic);

/* Returns whether the holder of the lock may run the control program. */
static inline bool myr_soft_sound(const struct myr_soft_nic *nic)
{
    return 0 == nic->vacant;
}

/* Tries to take the lock, which fails on a broken NIC. It has release semantics as well, because a
 * process that finds this one in the lock must find it in the segment's table
 * (tests/litmus/lock.pml). */
static inline bool myr_soft_try_lock(struct myr_soft_nic *nic)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(&nic->shared->lock, &nobody, nic->self,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static inline void myr_soft_unlock(struct myr_soft_nic *nic)
{
    nic->shared->mcp.counters.send_errors += nic->failed;
    nic->failed = 0;
    myr_store_release(&nic->shared->lock, nic->vacant);
}

/* Sends the gathered packets; to be called after unlocking. */
static inline void myr_soft_flush(struct myr_soft_nic *nic)
{
    if (0 != nic->udp.gathered) {
        nic->failed += mcp_udp_flush(&nic->udp);
    }
}

/* Checks the lock's holder. If it has died, this process takes the lock from it, and the NIC is
 * broken. If it is alive, this checks whether it makes progress. */
void myr_soft_check_lock(struct myr_soft_nic *nic);

/* Returns whether the process with this number, which is not 0 and not this process's, has left or
 * died. */
bool myr_soft_gone(struct myr_soft_nic *nic, uint32_t process);

/* Returns whether the process with this pid has ended. */
bool myr_soft_ended(struct myr_soft_nic *nic, uint32_t pid);

/* Initialise and destroy the data that only nic_lock.c uses. */
void myr_soft_lock_init(struct myr_soft_nic *nic);
void myr_soft_lock_end(struct myr_soft_nic *nic);

/* ---- nic_poll.c ---- */

/* Receives pending packets and runs the control program on them, with the lock held. Returns 0 if
 * there were none. */
uint32_t myr_soft_take_packets(struct myr_soft_nic *nic);

/* ---- nic_leave.c ---- */

/* Tells the connected NICs that this one is closed for good, and waits up to 200 ms for their
 * replies. Called with the lock held, when no other process has the NIC open. */
void myr_soft_take_leave(struct myr_soft_nic *nic);

/* ---- nic_board.c ---- */

/* Initialises the control program's board; the NIC's segment must be set already. */
void myr_soft_make_board(struct myr_soft_nic *nic);

#endif
