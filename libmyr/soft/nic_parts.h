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
 * The memory of the NIC is a record of the segment. One of its words is the lock, whose holder runs
 * the control program. The holder collects packets and sends them after unlocking, so that no
 * process waits for system calls of another. Each process has its own descriptor of the common
 * socket.
 *
 * Invariants: the lock contains the number of the process that holds it. If a holder is killed, the
 * state of the control program is undefined, and the NIC is permanently broken. This is recorded by
 * a bit of the lock itself, so a single atomic operation both takes the lock from the dead process
 * and marks the NIC as broken, and no process runs the control program of a broken NIC. From then
 * on the lock serialises the cleanup.
 *
 * A holder that is stopped is alive and may continue at any time, so the lock cannot be taken from
 * it. Instead, each of the other processes stops waiting after a timeout (struct myr_soft_bounds).
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
     * is the process that runs the control program, and also contains the bit MYR_SOFT_BROKEN. */
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
    /* The processes that have the socket open, each at its index in the segment's table, so that
     * new processes can get the socket as long as any process has it. An entry is ignored if its
     * `process` is not the present owner of the index. */
    struct {
        uint32_t process;
        int socket[MYR_SOFT_SOCKETS]; /* -1 if none */
    } holder[MYR_PROCESSES];
    struct myr_soft_links links;
    struct myr_soft_lingering lingering;
    _Alignas(MYR_LINE) struct mcp_nic mcp; /* last, because its tables follow it */
};

/* What has been observed of a lock holder that makes no progress. */
struct myr_soft_stuck {
    pthread_mutex_t mutex; /* held by the observing thread; other threads do not wait for it */
    myr_word holder;       /* 0 if none */
    uint32_t polls;        /* the NIC's `polls` at that time */
    uint64_t checked_ns;   /* time of the last observation */
    uint64_t waited_ns;    /* how long this process had waited at that time */
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

/* Take and release the lock of the NIC. The calling thread must hold the mutex of its process. If
 * the process has given up waiting for the lock, myr_soft_lock() returns false, and
 * myr_soft_unlock() must not be called. */
bool myr_soft_lock(struct myr_soft_nic *nic);

/* Returns whether the holder of the lock may run the control program. */
static inline bool myr_soft_sound(const struct myr_soft_nic *nic)
{
    return 0 == nic->vacant;
}

/* Tries to take the lock, which fails on a broken NIC. The exchange also has release semantics,
 * because a process that finds the number of this process in the lock must also find this process
 * in the segment's table (tests/litmus/lock.pml). */
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

/* Checks the process that holds the lock. If that process has died, the calling process takes over
 * the lock and marks the NIC as broken. If it is alive, the function checks whether it makes
 * progress. */
void myr_soft_check_lock(struct myr_soft_nic *nic);

/* Returns whether the process with this number has left or died. The number must not be 0 or that
 * of the calling process. */
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
