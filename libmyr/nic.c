/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's soft NIC; see nic.h.
 *
 * The NIC's memory is a record of the segment. One word of it is the lock: whoever holds it runs
 * the control program. Packets to send are gathered meanwhile and sent after unlocking, so that
 * nobody waits for somebody else's system calls. Each process has its own descriptor of the one
 * socket, had from a process that has it already (pidfd_getfd).
 *
 * Invariants: the lock is held by the process whose number it contains. A process that is killed in
 * between leaves the control program's state in doubt: the NIC is broken then, for good. The lock
 * says that itself, so one step takes it from the dead process and breaks the NIC, and nobody runs
 * the control program of a NIC that is broken. The lock then serves to keep processes apart that
 * clear up.
 */
#include "libmyr/nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "firmware/soft/udp.h"
#include "libmyr/nic_inside.h"
#include "libmyr/nic_links.h"
#include "libmyr/segment.h"
#include "os/calls.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/random.h"

enum {
    HOLDERS = 16,            /* processes from whom newcomers may have the socket */
    LOCK_SPINS = 50,         /* looks at the lock before the processor is given up */
    LOCK_YIELDS = 1000,      /* before looking whether its holder is alive */
    CATCH_UP_POLLS = 4096,   /* of the watch: more is for its next turn */
    DOUBTS = 64,             /* of so many looks at who is alive, one is thorough */
    MOST_TAKEN = 8,          /* datagrams, or chains of them, in one poll */
    IDLE_NS = 20 * 1000,     /* between two polls of somebody who does not wait */
    CLOCK_EVERY = 8,         /* polls in a row: nothing is due sooner than in a millisecond */
    PORTS = 256,             /* that may be open at a time */
    CONNECTIONS = 1024,      /* to other NICs, for messages */
    NIC_RECORD = 0x6e6963,   /* scope of the record's key: "nic" */
    NIC_MEMBERS = UINT32_MAX /* nobody leaves: it lives as long as the segment */
};

#define BROKEN UINT32_C(0x80000000) /* in the lock; processes' numbers are smaller */

enum nic_state { NIC_NEW, NIC_OPEN, NIC_NONE };

/* What the node's processes share. */
struct shared_nic {
    uint32_t layout; /* myr_nic_layout() of who made it */
    myr_word chains; /* datagrams may come in chains: messages are sent */
    /* Processes by their numbers in the segment; 0: nobody. */
    _Alignas(MYR_LINE) myr_word lock;    /* who runs the control program, and BROKEN */
    myr_word turns;                      /* how often somebody has taken packets; locked */
    _Alignas(MYR_LINE) myr_word sleeper; /* who sleeps on the socket */
    myr_word runner;                     /* who has a thread that runs the NIC */
    myr_word watch;                      /* who has one that looks whether anybody does */
    uint32_t runs_as;                    /* enum myr_nic_runner, of the runner */
    uint32_t runner_pid;                 /* for people */
    uint32_t state;                      /* enum nic_state */
    char why[sizeof(((struct myr_error *)0)->text)]; /* there is none */
    struct myr_nic_name name;
    struct {
        uint32_t process; /* 0: free entry */
        int socket;
    } holder[HOLDERS];
    struct myr_nic_links links;
    _Alignas(MYR_LINE) struct mcp_nic mcp; /* last: its tables lie behind it */
};

struct myr_nic {
    struct mcp_board board;           /* first: the control program hands it back to us */
    const struct mcp_address *sender; /* of the packet that is being handled */
    struct mcp_udp udp;
    struct shared_nic *shared;
    struct myr_segment *segment;
    uint32_t self;              /* this process's number */
    uint32_t vacant;            /* what the lock says when nobody has it: 0 or BROKEN */
    myr_word doubts;            /* how often somebody seemed to be gone, or not */
    pthread_mutex_t mutex;      /* this process's threads: outbox, inbox, lock */
    uint32_t failed;            /* packets not taken, to be counted */
    uint32_t missed;            /* polls while another process was at it */
    uint32_t unlooked;          /* polls since the clock was looked at */
    myr_word slept;             /* the next poll is to look: time has passed since the last */
    _Atomic uint64_t polled_ns; /* when somebody who did not wait polled last; by any thread */
    pthread_mutex_t sleeping_mutex;
    void (*sleeping)(void *context); /* called by who is about to sleep; NULL: nobody's */
    void *sleeping_context;
};

/* ---- the board ---- */

static uint64_t now_ns(struct mcp_board *board)
{
    (void)board;
    return os_now_ns();
}

static void send_packet(struct mcp_board *board, mcp_link link, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    struct myr_nic *nic = (struct myr_nic *)board;
    const struct mcp_address *to =
        MCP_LINK_SENDER == link ? nic->sender : &nic->shared->links.address[link];
    if (mcp_udp_full(&nic->udp)) {
        nic->failed += mcp_udp_flush(&nic->udp);
    }
    ++nic->shared->mcp.counters.packets_sent;
    mcp_udp_gather(&nic->udp, to, header, payload, payload_bytes);
}

static mcp_link hold_sender(struct mcp_board *board)
{
    struct myr_nic *nic = (struct myr_nic *)board;
    return myr_nic_links_hold(&nic->shared->links, nic->sender);
}

static void drop(struct mcp_board *board, mcp_link link)
{
    myr_nic_links_drop(&((struct myr_nic *)board)->shared->links, link);
}

static void wake(struct mcp_board *board, myr_word *word)
{
    (void)board;
    /* A group's sleepers are counted in the word behind its release. */
    if (0 != atomic_load_explicit(word + 1, memory_order_relaxed)) {
        os_futex_wake((const void *)word);
    }
}

/* ---- the lock ---- */

/* (Fails on a NIC that is broken.) It releases as well: who sees us in the lock must find us in the
 * segment's table (tests/litmus/lock.pml). */
static bool try_lock(struct myr_nic *nic)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(&nic->shared->lock, &nobody, nic->self,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* The same on one that is. */
static bool try_lock_broken(struct myr_nic *nic)
{
    uint32_t nobody = BROKEN;
    if (BROKEN == myr_glance(&nic->shared->lock) &&
        atomic_compare_exchange_strong(&nic->shared->lock, &nobody, BROKEN | nic->self)) {
        nic->vacant = BROKEN;
        return true;
    }
    return false;
}

static bool gone(struct myr_nic *nic, uint32_t process)
{
    if (0 == process || nic->self == process) {
        return false;
    }
    const uint32_t doubts = myr_glance(&nic->doubts); /* (a count that is lost does no harm) */
    myr_publish(&nic->doubts, doubts + 1);
    return myr_segment_gone(nic->segment, process, 0 == doubts % DOUBTS);
}

/* `process` is dead: if it has the lock, that is broken. If it had it when somebody looked, and has
 * given it back meanwhile, nothing happens, as its number is nobody else's. */
static void break_lock_of(struct shared_nic *shared, uint32_t process)
{
    uint32_t sound = process, broken = BROKEN | process;
    if (!atomic_compare_exchange_strong(&shared->lock, &sound, BROKEN)) {
        (void)atomic_compare_exchange_strong(&shared->lock, &broken, BROKEN);
    }
}

/* Take the lock from a process that has died. */
static void inherit(struct myr_nic *nic)
{
    const uint32_t holder = myr_observe(&nic->shared->lock) & ~BROKEN;
    if (gone(nic, holder)) {
        break_lock_of(nic->shared, holder);
    }
}

/* False if the NIC is broken; the lock is held in any case. */
static bool lock(struct myr_nic *nic)
{
    for (uint32_t i = 0; !try_lock(nic); ++i) {
        if (try_lock_broken(nic)) {
            return false;
        }
        if (i < LOCK_SPINS) {
            myr_relax();
        } else {
            os_give_way();
        }
        if (0 == (i + 1) % LOCK_YIELDS) {
            inherit(nic);
        }
    }
    return true;
}

static void unlock(struct myr_nic *nic)
{
    nic->shared->mcp.counters.send_errors += nic->failed;
    nic->failed = 0;
    myr_publish(&nic->shared->lock, nic->vacant);
}

static void flush(struct myr_nic *nic)
{
    if (0 != nic->udp.gathered) {
        nic->failed += mcp_udp_flush(&nic->udp);
    }
}

struct mcp_nic *myr_nic_enter(struct myr_nic *nic, struct mcp_board **board)
{
    pthread_mutex_lock(&nic->mutex);
    *board = &nic->board;
    return lock(nic) ? &nic->shared->mcp : NULL;
}

enum myr_status myr_nic_is_broken(struct myr_error *error)
{
    return myr_fail(error, MYR_ERR_GONE, 0,
                    "the node's NIC is broken: a process was killed while it ran it");
}

void myr_nic_leave(struct myr_nic *nic)
{
    unlock(nic);
    flush(nic);
    pthread_mutex_unlock(&nic->mutex);
}

/* (Who has not heard of it takes a chain for a damaged packet; it will be sent again.) */
void myr_nic_expect_messages(struct myr_nic *nic)
{
    if (0 == myr_glance(&nic->shared->chains)) {
        myr_publish(&nic->shared->chains, 1);
        mcp_udp_want_chains(nic->udp.socket);
    }
}

/* ---- polling ---- */

static void receive(void *context, const struct mcp_address *from, const void *packet, size_t bytes)
{
    struct myr_nic *nic = context;
    nic->sender = from;
    mcp_receive(&nic->shared->mcp, &nic->board, packet, bytes);
}

static bool due(struct myr_nic *nic)
{
    const uint64_t deadline = mcp_deadline_ns(&nic->shared->mcp);
    return 0 != deadline && os_now_ns() >= deadline;
}

/* Take what has come and run the control program on it; locked, so that packets are not handled in
 * another order than they came in. Where messages come, more is likely to be there; collectives'
 * packets come one at a time. */
static uint32_t take_packets(struct myr_nic *nic)
{
    const bool chains = 0 != myr_glance(&nic->shared->chains);
    uint32_t taken = 0;
    size_t bytes;
    /* (In the lock's line, which is being written anyway.) */
    myr_publish(&nic->shared->turns, myr_glance(&nic->shared->turns) + 1);
    do {
        bytes = mcp_udp_take(&nic->udp, chains, receive, nic);
        taken += 0 != bytes;
    } while (bytes > MCP_COLLECTIVE_BYTES && taken < MOST_TAKEN);
    if (++nic->unlooked >= CLOCK_EVERY || 0 != myr_glance(&nic->slept)) {
        nic->unlooked = 0;
        myr_publish(&nic->slept, 0);
        if (due(nic)) {
            mcp_timer(&nic->shared->mcp, &nic->board);
        }
    }
    return taken;
}

uint32_t myr_nic_poll(struct myr_nic *nic)
{
    if (0 != pthread_mutex_trylock(&nic->mutex)) {
        return 0; /* another thread is at it */
    }
    uint32_t taken = 0;
    if (try_lock(nic)) { /* else another process is */
        taken = take_packets(nic);
        unlock(nic);
        flush(nic);
    } else if (0 == ++nic->missed % LOCK_YIELDS) {
        inherit(nic);
    }
    pthread_mutex_unlock(&nic->mutex);
    return taken;
}

uint32_t myr_nic_poll_now_and_then(struct myr_nic *nic)
{
    const uint64_t now = os_now_ns();
    /* (Two threads that come at once both poll, which does no harm.) */
    if (now - atomic_load_explicit(&nic->polled_ns, memory_order_relaxed) < IDLE_NS) {
        return 0;
    }
    atomic_store_explicit(&nic->polled_ns, now, memory_order_relaxed);
    myr_publish(&nic->slept, 1);
    return myr_nic_poll(nic);
}

/* Has somebody a thread that runs the NIC? */
static bool has_runner(struct myr_nic *nic)
{
    uint32_t runner = myr_observe(&nic->shared->runner);
    if (gone(nic, runner)) {
        (void)atomic_compare_exchange_strong(&nic->shared->runner, &runner, 0);
        return false;
    }
    return 0 != runner;
}

static bool sleep_on_socket(struct myr_nic *nic, uint32_t timeout_us)
{
    uint32_t sleeper = 0;
    if (has_runner(nic)) {
        return false;
    }
    if (!atomic_compare_exchange_strong(&nic->shared->sleeper, &sleeper, nic->self)) {
        if (gone(nic, sleeper)) {
            (void)atomic_compare_exchange_strong(&nic->shared->sleeper, &sleeper, 0);
        }
        return false;
    }
    struct pollfd socket = {.fd = nic->udp.socket, .events = POLLIN};
    const struct timespec timeout = os_timespec_of_us(timeout_us);
    (void)ppoll(&socket, 1, &timeout, NULL);
    myr_publish(&nic->shared->sleeper, 0);
    return true;
}

/* Whoever is being replaced just now is not waited for. */
static void call_sleeping(struct myr_nic *nic)
{
    if (0 == pthread_mutex_trylock(&nic->sleeping_mutex)) {
        if (NULL != nic->sleeping) {
            nic->sleeping(nic->sleeping_context);
        }
        pthread_mutex_unlock(&nic->sleeping_mutex);
    }
}

void myr_nic_when_sleeping(struct myr_nic *nic, void (*call)(void *context), void *context)
{
    pthread_mutex_lock(&nic->sleeping_mutex);
    nic->sleeping = call;
    nic->sleeping_context = context;
    pthread_mutex_unlock(&nic->sleeping_mutex);
}

void myr_nic_sleep(struct myr_nic *nic, myr_word *word, myr_word *sleepers, uint32_t seen,
                   uint32_t timeout_us)
{
    myr_publish(&nic->slept, 1);
    call_sleeping(nic);
    if (sleep_on_socket(nic, timeout_us)) {
        return;
    }
    atomic_fetch_add(sleepers, 1);
    os_futex_wait((const void *)word, seen, timeout_us);
    atomic_fetch_sub(sleepers, 1);
}

/* ---- whoever runs it all the time ---- */

bool myr_nic_become_runner(struct myr_nic *nic, enum myr_nic_runner as)
{
    uint32_t nobody = 0;
    if (has_runner(nic) ||
        !atomic_compare_exchange_strong(&nic->shared->runner, &nobody, nic->self)) {
        return false;
    }
    nic->shared->runs_as = as;
    nic->shared->runner_pid = (uint32_t)getpid();
    return true;
}

bool myr_nic_become_watch(struct myr_nic *nic)
{
    uint32_t watch = myr_observe(&nic->shared->watch);
    return (0 == watch || gone(nic, watch)) &&
           atomic_compare_exchange_strong(&nic->shared->watch, &watch, nic->self);
}

void myr_nic_resign_watch(struct myr_nic *nic)
{
    myr_publish(&nic->shared->watch, 0);
}

uint32_t myr_nic_turns(const struct myr_nic *nic)
{
    return myr_observe(&nic->shared->turns);
}

void myr_nic_catch_up(struct myr_nic *nic)
{
    myr_publish(&nic->slept, 1);
    for (uint32_t poll = 0; poll < CATCH_UP_POLLS && 0 != myr_nic_poll(nic); ++poll) {
    }
}

void myr_nic_resign_runner(struct myr_nic *nic)
{
    myr_publish(&nic->shared->runner, 0);
}

void myr_nic_await(struct myr_nic *nic, int other, uint64_t most_ns)
{
    const uint64_t deadline = mcp_deadline_ns(&nic->shared->mcp), now = os_now_ns();
    uint64_t left = most_ns;
    if (0 != deadline && deadline < now + most_ns) {
        left = deadline > now ? deadline - now : 0;
    }
    struct pollfd watched[] = {{.fd = nic->udp.socket, .events = POLLIN},
                               {.fd = other, .events = POLLIN}};
    const struct timespec timeout = os_timespec_of_ns(left);
    (void)ppoll(watched, 2, &timeout, NULL);
    myr_publish(&nic->slept, 1);
}

void myr_nic_bury(struct myr_nic *nic, uint32_t pid)
{
    struct shared_nic *shared = nic->shared;
    const uint32_t dead = myr_segment_number_of(nic->segment, pid);
    uint32_t runner = dead, sleeper = dead, watch = dead;
    if (0 == dead) {
        return; /* it had not come in yet */
    }
    break_lock_of(shared, dead);
    (void)atomic_compare_exchange_strong(&shared->runner, &runner, 0);
    (void)atomic_compare_exchange_strong(&shared->sleeper, &sleeper, 0);
    (void)atomic_compare_exchange_strong(&shared->watch, &watch, 0);
}

/* ---- opening ---- */

/* Where the kernel lets only parents look into a process, its peers must be allowed to. (Open MPI
 * does the same for its copies from process to process.) */
static void allow_peers(void)
{
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

static void hold(struct myr_nic *nic)
{
    for (uint32_t h = 0; h < HOLDERS; ++h) {
        const uint32_t process = nic->shared->holder[h].process;
        if (0 == process || gone(nic, process)) {
            nic->shared->holder[h].process = nic->self;
            nic->shared->holder[h].socket = nic->udp.socket;
            allow_peers();
            return;
        }
    }
}

/* Make the NIC; locked. */
static enum myr_status create(struct myr_nic *nic, const struct myr_nic_options *options,
                              struct myr_error *error)
{
    struct mcp_local_address addresses[MYR_NIC_ADDRESSES];
    struct myr_nic_name name = {
        .count = mcp_local_addresses(options->network, addresses, MYR_NIC_ADDRESSES)};
    if (0 == name.count) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "there is no network to use (%s%s)",
                        NULL == options->network || '\0' == *options->network
                            ? "no interface but loopback has an IPv4 address"
                            : "no address of this machine is in ",
                        NULL == options->network ? "" : options->network);
    }
    /* With one address there is no need to listen on others. */
    const uint32_t ip = 1 == name.count ? addresses[0].ip : htonl(INADDR_ANY);
    const int socket = mcp_udp_socket(ip, options->port);
    if (socket < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open UDP port %u",
                        (unsigned)options->port);
    }
    if (!mcp_udp_open(&nic->udp, socket)) {
        mcp_udp_close(&nic->udp);
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    for (uint32_t a = 0; a < name.count; ++a) {
        name.address[a].ip = addresses[a].ip;
        name.address[a].port = mcp_udp_port(socket);
        name.address[a].prefix = addresses[a].prefix;
    }
    if (!os_draw_key(&name.key, sizeof(name.key))) {
        const enum myr_status status =
            myr_fail(error, MYR_ERR_SYSTEM, errno, "no random number for the NIC's key");
        mcp_udp_close(&nic->udp);
        return status;
    }
    nic->shared->name = name;
    mcp_init(&nic->shared->mcp, name.key, PORTS, CONNECTIONS);
    return MYR_OK;
}

/* A descriptor of the NIC's socket, from a process that has one; -1 with errno. */
static int fetch_socket(const struct myr_nic *nic)
{
    const uint16_t port = nic->shared->name.address[0].port;
    int err = ESRCH;
    for (uint32_t h = 0; h < HOLDERS; ++h) {
        const uint32_t pid = myr_segment_pid_of(nic->segment, nic->shared->holder[h].process);
        if (0 == pid) {
            continue;
        }
        const int process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        if (process < 0) {
            continue;
        }
        const int socket = (int)syscall(SYS_pidfd_getfd, process, nic->shared->holder[h].socket, 0);
        err = socket < 0 ? errno : err;
        close(process);
        if (socket >= 0 && port == mcp_udp_port(socket)) {
            return socket;
        }
        if (socket >= 0) {
            close(socket); /* the process is another one by now */
        }
    }
    errno = err;
    return -1;
}

/* Share the NIC that is there: by its socket, if that was given, else by one of another process. */
static enum myr_status attach(struct myr_nic *nic, int given, struct myr_error *error)
{
    const int socket = given >= 0 ? given : fetch_socket(nic);
    if (socket < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot share the NIC's socket with the node's other processes (%s)",
                        ESRCH == errno ? "those who had it have ended"
                                       : "pidfd_getfd is not permitted here; see ptrace");
    }
    if (!mcp_udp_open(&nic->udp, socket)) {
        if (socket != given) { /* that is the giver's as long as we fail */
            close(socket);
        }
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    return MYR_OK;
}

/* The first process makes the NIC; where that cannot be, all others hear the same. Locked. */
static enum myr_status create_or_attach(struct myr_nic *nic, const struct myr_nic_options *options,
                                        int given, struct myr_error *error)
{
    struct shared_nic *shared = nic->shared;
    enum myr_status status = MYR_OK;
    if (NIC_NEW == shared->state) {
        struct myr_error trouble = {0};
        status = create(nic, options, &trouble);
        shared->layout = myr_nic_layout();
        shared->state = MYR_OK == status ? NIC_OPEN : NIC_NONE;
        memcpy(shared->why, trouble.text, sizeof(shared->why));
    } else if (NIC_OPEN == shared->state) {
        status = attach(nic, given, error);
    }
    if (NIC_NONE == shared->state) {
        status = myr_fail(error, MYR_ERR_NOT_THERE, 0, "%s", shared->why);
    }
    if (MYR_OK == status) {
        hold(nic);
    }
    return status;
}

static enum myr_status open_nic(struct myr_segment *segment, const struct myr_nic_options *options,
                                int given, struct myr_nic **nic, struct myr_error *error)
{
    const struct myr_key key = {.scope = NIC_RECORD};
    struct myr_record *record = myr_record_join(
        segment, &key, NIC_MEMBERS,
        sizeof(struct shared_nic) + mcp_messages_bytes(PORTS, CONNECTIONS), 0, error);
    if (NULL == record) {
        return MYR_ERR_FULL;
    }
    struct myr_nic *opening = calloc(1, sizeof(*opening));
    if (NULL == opening) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    opening->board = (struct mcp_board){
        .ops = {.send = send_packet,
                .hold_sender = hold_sender,
                .drop = drop,
                .now_ns = now_ns,
                .wake = wake},
        .memory = myr_segment_base(segment),
        .memory_bytes = (uint32_t)myr_segment_size(segment),
    };
    opening->shared = (struct shared_nic *)record->slots;
    opening->segment = segment;
    opening->self = myr_segment_number(segment);
    pthread_mutex_init(&opening->mutex, NULL);
    pthread_mutex_init(&opening->sleeping_mutex, NULL);
    const enum myr_status status =
        lock(opening) ? create_or_attach(opening, options, given, error) : myr_nic_is_broken(error);
    unlock(opening);
    if (MYR_OK != status) {
        pthread_mutex_destroy(&opening->mutex);
        pthread_mutex_destroy(&opening->sleeping_mutex);
        free(opening);
        return status;
    }
    *nic = opening;
    return MYR_OK;
}

enum myr_status myr_nic_open(struct myr_segment *segment, const struct myr_nic_options *options,
                             struct myr_nic **nic, struct myr_error *error)
{
    return open_nic(segment, options, -1, nic, error);
}

enum myr_status myr_nic_open_given(struct myr_segment *segment, int socket, struct myr_nic **nic,
                                   struct myr_error *error)
{
    static const struct myr_nic_options nowhere = {.network = "none"}; /* make none here */
    return open_nic(segment, &nowhere, socket, nic, error);
}

void myr_nic_close(struct myr_nic *nic)
{
    (void)lock(nic);
    for (uint32_t h = 0; h < HOLDERS; ++h) {
        if (nic->self == nic->shared->holder[h].process &&
            nic->udp.socket == nic->shared->holder[h].socket) {
            nic->shared->holder[h].process = 0;
        }
    }
    unlock(nic);
    mcp_udp_close(&nic->udp);
    pthread_mutex_destroy(&nic->mutex);
    pthread_mutex_destroy(&nic->sleeping_mutex);
    free(nic);
}

/* ---- questions ---- */

uint32_t myr_nic_layout(void)
{
    return (uint32_t)MYR_NIC_LAYOUT << 24 ^ (uint32_t)sizeof(struct shared_nic) << 8 ^
           (uint32_t)sizeof(struct mcp_group);
}

int myr_nic_socket(const struct myr_nic *nic)
{
    return nic->udp.socket;
}

struct myr_key myr_nic_record_key(void)
{
    return (struct myr_key){.scope = NIC_RECORD};
}

size_t myr_nic_shared_bytes(void)
{
    return sizeof(struct shared_nic);
}

const struct mcp_nic *myr_nic_describe(const void *copy, struct myr_nic_view *view)
{
    const struct shared_nic *shared = copy;
    if (0 == shared->layout) {
        *view = (struct myr_nic_view){.why = "it is not ready yet"};
        return &shared->mcp;
    }
    if (myr_nic_layout() != shared->layout) {
        return NULL;
    }
    *view = (struct myr_nic_view){
        .there = NIC_OPEN == shared->state,
        .broken = 0 != (shared->lock & BROKEN),
        .runs_as = 0 == shared->runner ? MYR_NIC_POLLED : (enum myr_nic_runner)shared->runs_as,
        .runner = 0 == shared->runner ? 0 : shared->runner_pid,
        .name = shared->name,
        .counters = shared->mcp.counters,
    };
    if (view->name.count > MYR_NIC_ADDRESSES) {
        view->name.count = 0;
    }
    snprintf(view->why, sizeof(view->why), "%.*s", (int)sizeof(shared->why) - 1, shared->why);
    return &shared->mcp;
}

void myr_nic_get_name(const struct myr_nic *nic, struct myr_nic_name *name)
{
    *name = nic->shared->name;
}

struct myr_segment *myr_nic_segment(const struct myr_nic *nic)
{
    return nic->segment;
}

bool myr_nic_broken(struct myr_nic *nic)
{
    inherit(nic); /* those who wait may have no packet to take the lock for */
    return 0 != (myr_observe(&nic->shared->lock) & BROKEN);
}

bool myr_nic_route(const struct myr_nic *nic, const struct myr_nic_name *name,
                   struct mcp_address *address)
{
    const struct myr_nic_name *own = &nic->shared->name;
    if (0 == name->count || name->count > MYR_NIC_ADDRESSES) {
        return false;
    }
    uint32_t best = 0;
    for (uint32_t mine = own->count; mine > 0; --mine) { /* of several, our first */
        for (uint32_t theirs = name->count; theirs > 0; --theirs) {
            if (mcp_same_network(own->address[mine - 1].ip, name->address[theirs - 1].ip,
                                 own->address[mine - 1].prefix)) {
                best = theirs - 1;
            }
        }
    }
    *address = (struct mcp_address){name->address[best].ip, name->address[best].port, 0};
    return true;
}

mcp_link myr_nic_link(struct myr_nic *nic, const struct myr_nic_name *name)
{
    struct mcp_address address;
    return myr_nic_route(nic, name, &address) ? myr_nic_links_hold(&nic->shared->links, &address)
                                              : MCP_LINK_SENDER;
}

uint32_t myr_nic_mtu(const struct myr_nic *nic, const struct myr_nic_name *name)
{
    struct mcp_address address;
    return myr_nic_route(nic, name, &address) ? mcp_udp_mtu(&address) : 0;
}

void myr_nic_count(const struct myr_nic *nic, struct mcp_counters *counters)
{
    *counters = nic->shared->mcp.counters;
}
