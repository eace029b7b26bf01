/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC as its own files see it; see nic.h for what it is.
 *
 *   nic.c         what others ask about it
 *   nic_open.c    making it, sharing its socket, opening and closing
 *   nic_lock.c    who runs the control program; what becomes of a NIC whose runner has died
 *   nic_board.c   what the control program stands on: packets, clock, waking, links
 *   nic_poll.c    taking packets: the path of a barrier
 *   nic_sleep.c   sleeping; the process that runs the NIC all the time, and the watch
 *   nic_links.c   the table of links
 *
 * The NIC's memory is a record of the segment. One word of it is the lock: its holder runs the
 * control program. The holder gathers packets to send and sends them after unlocking, so that
 * nobody waits for somebody else's system calls. Each process has its own descriptor of the one
 * socket.
 *
 * Invariants: the lock contains the number of the process that holds it. A holder that is killed
 * leaves the control program's state in doubt: the NIC is then broken for good. The lock itself
 * says so. So one step takes it from the dead process and breaks the NIC, and nobody runs the
 * control program of a broken NIC. From then on the lock keeps apart the processes that clear up.
 *
 * A holder that is stopped is alive, and may go on at any time: nobody can take the lock from it.
 * So others stop waiting (struct myr_soft_bounds), each process for itself. What they cannot give
 * back without the lock stays where it is.
 */
#ifndef MYR_SOFT_PARTS_H
#define MYR_SOFT_PARTS_H

#include <pthread.h>

#include "firmware/soft/udp.h"
#include "libmyr/node/sram.h"
#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_links.h"

enum {
    MYR_SOFT_SOCKETS = 3, /* descriptors of the socket that a process offers to newcomers: of each
                            component that has opened the NIC */
    MYR_SOFT_LOCK_YIELDS = 1000 /* before looking whether the lock's holder is alive, and goes on */
};

#define MYR_SOFT_BROKEN UINT32_C(0x80000000) /* in the lock; processes' numbers are smaller */

enum myr_soft_state { MYR_SOFT_NEW, MYR_SOFT_OPEN, MYR_SOFT_NONE };

/* What the node's processes share. */
struct myr_shared_nic {
    uint32_t layout; /* its maker's myr_soft_layout() */
    myr_word chains; /* datagrams may come in chains: messages are sent */
    /* Processes by their numbers in the segment; 0: nobody. */
    _Alignas(MYR_LINE) myr_word lock;    /* who runs the control program, and MYR_SOFT_BROKEN */
    myr_word turns;                      /* how often somebody took packets; locked */
    _Alignas(MYR_LINE) myr_word sleeper; /* who sleeps on the socket */
    myr_word runner;                     /* who has a thread that runs the NIC */
    myr_word watch;                      /* who has a thread that looks whether anybody does */
    uint32_t runs_as;                    /* enum myr_soft_runner, of the runner */
    uint32_t runner_pid;                 /* for people */
    uint32_t state;                      /* enum myr_soft_state */
    uint32_t status;                     /* enum myr_status, of making it, */
    char why[sizeof(((struct myr_error *)0)->text)]; /* ... and why there is none */
    struct myr_nic_name name;
    /* The processes that have the socket, each at its place in the segment's table. So whoever has
     * it last, newcomers find it. Where `process` is not the one that has this place now, nobody
     * offers it.
     */
    struct {
        uint32_t process;
        int socket[MYR_SOFT_SOCKETS]; /* -1: none */
    } holder[MYR_PROCESSES];
    struct myr_soft_links links;
    struct myr_soft_lingering lingering;
    _Alignas(MYR_LINE) struct mcp_nic mcp; /* last: its tables lie behind it */
};

/* A holder of the lock that has not gone on since it was looked at first. */
struct myr_soft_stuck {
    pthread_mutex_t mutex; /* a thread that looks; another one that comes meanwhile does not */
    myr_word holder;       /* 0: nobody was */
    uint32_t turns;        /* of the NIC, then */
    uint64_t looked_ns;    /* the last look, */
    uint64_t waited_ns;    /* ... and how long this process has waited up to it */
    bool told;
};

struct myr_soft_nic {
    struct mcp_board board;           /* first: the control program hands it back to us */
    const struct mcp_address *sender; /* of the packet that is being handled */
    struct mcp_udp udp;
    struct myr_shared_nic *shared;
    struct myr_segment *segment;
    uint32_t self;              /* this process's number */
    bool has_keys;              /* so that it can sign messages */
    uint32_t vacant;            /* what the lock says when nobody has it: 0 or MYR_SOFT_BROKEN */
    myr_word doubts;            /* how often somebody seemed to be gone, or not */
    bool entered;               /* between enter() and leave(): the lock was had */
    pthread_mutex_t mutex;      /* this process's threads: outbox, inbox, lock */
    uint32_t failed;            /* packets not taken, to be counted */
    uint32_t missed;            /* polls while another process was at it */
    uint32_t unlooked;          /* polls since the clock was looked at */
    myr_word slept;             /* the next poll is to look: time has passed since the last */
    _Atomic uint64_t polled_ns; /* when a process last polled without waiting; by any thread */
    pthread_mutex_t sleeping_mutex;
    void (*sleeping)(void *context); /* called by a thread that is about to sleep; NULL: nobody's */
    void *sleeping_context;
    struct myr_soft_bounds bounds;
    myr_word given_up; /* pid of the holder that this process waits for no more; 0: none */
    struct myr_soft_stuck stuck; /* the present holder, as far as looks at it have shown */
};

/* ---- nic_lock.c ---- */

/* Take the lock and give it back; with the process's mutex. myr_soft_lock() is false if the process
 * has given up waiting; then there is nothing to give back. */
bool myr_soft_lock(struct myr_soft_nic *nic);

/* The holder of the lock may run the control program. */
static inline bool myr_soft_sound(const struct myr_soft_nic *nic)
{
    return 0 == nic->vacant;
}

/* (Fails on a NIC that is broken.) It releases as well: a process that sees us in the lock must
 * find us in the segment's table (tests/litmus/lock.pml). */
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

/* Put on the wire what was gathered; after unlocking. */
static inline void myr_soft_flush(struct myr_soft_nic *nic)
{
    if (0 != nic->udp.gathered) {
        nic->failed += mcp_udp_flush(&nic->udp);
    }
}

/* Take the lock from its holder if that has died. The NIC is broken then. If it lives, look whether
 * it goes on. */
void myr_soft_inherit(struct myr_soft_nic *nic);

/* Has the process with this number left or died? Not 0, and not this one. */
bool myr_soft_gone(struct myr_soft_nic *nic, uint32_t process);

/* The part of a NIC that nic_lock.c has for itself. */
void myr_soft_lock_init(struct myr_soft_nic *nic);
void myr_soft_lock_end(struct myr_soft_nic *nic);

/* ---- nic_board.c ---- */

/* What the control program stands on; the NIC's segment is known. */
void myr_soft_make_board(struct myr_soft_nic *nic);

#endif
