/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates, opens and closes the soft NIC, and shares its socket.
 *
 * The first process creates the NIC and its socket. Each other process fetches a descriptor of the
 * socket by pidfd_getfd() from a process that has one; the NIC contains a list of these processes.
 * If all of them have closed the socket or exited, it no longer exists, and the next process
 * creates the NIC again, with another name. */
#include "libmyr/soft/nic_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "libmyr/seal.h"
#include "os/random.h"

enum {
    /* The NIC as a whole fits into a block of 512 KiB, and so into a segment of 1 MiB. */
    PORTS = 512,             /* open at a time; one per process with messages */
    CONNECTIONS = 1024,      /* to other NICs, for messages */
    NIC_MEMBERS = UINT32_MAX /* never left, so that it exists as long as the segment */
};

/* The time for which a process that opens a NIC waits if the lock of the NIC is held by a stopped
 * process. This may happen with the NIC of a daemon, if the stopped process belongs to another job.
 * After this time, the opening process uses a NIC of its own job. */
#define OPEN_NS (UINT64_C(10) * 1000 * 1000 * 1000)

/* Permits peers to call pidfd_getfd(). This is necessary if Yama restricts ptrace access to
 * ancestors. Open MPI sets the same permission for its copies between processes. */
static void allow_peers(void)
{
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

/* Replaces an entry in the list of this process's sockets. */
static void replace_socket(struct myr_soft_nic *nic, int one, int other)
{
    int *sockets = nic->shared->holder[nic->self % MYR_PROCESSES].socket;
    for (int s = 0; s < MYR_SOFT_SOCKETS; ++s) {
        if (one == sockets[s]) {
            sockets[s] = other;
            return;
        }
    }
}

static void list_socket(struct myr_soft_nic *nic)
{
    const uint32_t index = nic->self % MYR_PROCESSES;
    if (nic->self != nic->shared->holder[index].process) {
        nic->shared->holder[index].process = nic->self;
        for (int s = 0; s < MYR_SOFT_SOCKETS; ++s) {
            nic->shared->holder[index].socket[s] = -1;
        }
    }
    replace_socket(nic, -1, nic->udp.socket);
    allow_peers();
}

static void unlist_socket(struct myr_soft_nic *nic)
{
    if (nic->self == nic->shared->holder[nic->self % MYR_PROCESSES].process) {
        replace_socket(nic, nic->udp.socket, -1);
    }
}

/* Returns whether an entry in the list of holders is empty, or its process has left or died. */
static bool holder_is_gone(const struct myr_soft_nic *nic, uint32_t process)
{
    return 0 == process || myr_segment_gone(nic->segment, process, true);
}

/* Returns whether no other socket of a living process is in the list. */
static bool is_last_socket(const struct myr_soft_nic *nic)
{
    uint32_t others = 0;
    for (uint32_t h = 0; 0 == others && h < MYR_PROCESSES; ++h) {
        const uint32_t process = nic->shared->holder[h].process;
        const int *sockets = nic->shared->holder[h].socket;
        for (int s = 0; s < MYR_SOFT_SOCKETS; ++s) {
            others += sockets[s] >= 0 && !(nic->self == process && nic->udp.socket == sockets[s]);
        }
        others = 0 != others && !holder_is_gone(nic, process);
    }
    return 0 == others;
}

/* Creates the NIC. Called with the NIC locked. */
static enum myr_status create_nic(struct myr_soft_nic *nic, const struct myr_soft_options *options,
                                  struct myr_error *error)
{
    struct mcp_local_address addresses[MYR_NIC_ADDRESSES];
    struct myr_nic_name name = {
        .count = mcp_local_addresses(options->network, addresses, MYR_NIC_ADDRESSES)};
    char why[160];
    if (mcp_networks_wrong(options->network, why, sizeof(why))) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "there is no network to use (%s)", why);
    }
    if (0 == name.count) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "there is no network to use (%s%s)",
                        NULL == options->network || '\0' == *options->network
                            ? "no interface but loopback has an address"
                            : "no address of this machine is in ",
                        NULL == options->network ? "" : options->network);
    }
    const int socket = mcp_udp_socket(addresses, name.count, options->port);
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
            myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot get random numbers for the NIC's key");
        mcp_udp_close(&nic->udp);
        return status;
    }
    nic->shared->name = name;
    mcp_init(&nic->shared->mcp, name.key, PORTS, CONNECTIONS);
    nic->shared->mcp.messages.known_only = nic->has_keys;
    return MYR_OK;
}

/* Duplicates one descriptor of the other process. Returns -1, with `err`, if this fails, or if the
 * descriptor is not the socket of the NIC, for example because the PID has been reused. It is not
 * an error if the process has ended, because other processes may have the socket. */
static int fetch_descriptor(const struct myr_soft_nic *nic, int process, int theirs, int *err)
{
    const int socket = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
    if (socket < 0 && ESRCH != errno) {
        *err = errno;
    } else if (socket >= 0 && nic->shared->name.address[0].port != mcp_udp_port(socket)) {
        close(socket);
        return -1;
    }
    return socket;
}

/* Returns a descriptor of the NIC's socket, from any process that has one. On failure returns -1
 * with errno, which is ESRCH if no living process has the socket. */
static int fetch_socket(const struct myr_soft_nic *nic)
{
    int err = ESRCH, socket = -1;
    for (uint32_t h = 0; socket < 0 && h < MYR_PROCESSES; ++h) {
        const uint32_t number = nic->shared->holder[h].process;
        const uint32_t pid =
            holder_is_gone(nic, number) ? 0 : myr_segment_pid_of(nic->segment, number);
        if (0 == pid) {
            continue;
        }
        const int process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        if (process < 0) {
            err = ESRCH == errno ? err : errno;
            continue;
        }
        for (int s = 0; socket < 0 && s < MYR_SOFT_SOCKETS; ++s) {
            const int theirs = nic->shared->holder[h].socket[s];
            socket = theirs < 0 ? -1 : fetch_descriptor(nic, process, theirs, &err);
        }
        close(process);
    }
    errno = err;
    return socket;
}

static const char *why_not_fetched(int err)
{
    switch (err) {
    case EBADF:
        return "a process that has it open has closed its descriptor";
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return "no file descriptors are left; see ulimit -n";
    default:
        return "pidfd_open or pidfd_getfd is not permitted; see ptrace(2)";
    }
}

/* Attaches to the existing NIC through `socket`, which was either `given` by the caller or
 * fetched. */
static enum myr_status attach_nic(struct myr_soft_nic *nic, int socket, bool given,
                                  struct myr_error *error)
{
    if (socket < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot share the NIC's socket with the node's other processes (%s)",
                        why_not_fetched(errno));
    }
    if (!mcp_udp_open(&nic->udp, socket)) {
        if (!given) { /* on failure the caller keeps ownership of the socket */
            close(socket);
        }
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    return MYR_OK;
}

static size_t tables_bytes(void)
{
    return mcp_messages_bytes(PORTS, CONNECTIONS);
}

/* Resets a NIC that no process has open any more to its state before creation. The lock is kept,
 * because other processes may be waiting for it. The groups that were still lingering in the NIC
 * are stored in `left`. */
static void reset_nic(struct myr_shared_nic *shared, struct myr_soft_lingering *left)
{
    *left = shared->lingering;
    uint8_t *const after_lock = (uint8_t *)&shared->polls;
    uint8_t *const end = (uint8_t *)(shared + 1) + tables_bytes();
    memset(after_lock, 0, (size_t)(end - after_lock));
    shared->chains = 0;
}

/* Creates the NIC in the first process. If that fails, all others get the same error. Called with
 * the NIC locked. The lingering groups of an earlier NIC are stored in `left`, and the caller frees
 * them. */
static enum myr_status create_or_attach(struct myr_soft_nic *nic,
                                        const struct myr_soft_options *options, int given,
                                        struct myr_soft_lingering *left, struct myr_error *error)
{
    struct myr_shared_nic *shared = nic->shared;
    enum myr_status status = MYR_OK;
    int socket = given;
    if (MYR_SOFT_OPEN == shared->state && given < 0) {
        socket = fetch_socket(nic);
        if (socket < 0 && ESRCH == errno) {
            reset_nic(shared, left);
        }
    }
    if (MYR_SOFT_NEW == shared->state) {
        struct myr_error trouble = {0};
        shared->status = create_nic(nic, options, &trouble);
        shared->layout = myr_soft_layout();
        shared->state = MYR_OK == shared->status ? MYR_SOFT_OPEN : MYR_SOFT_NONE;
        memcpy(shared->why, trouble.text, sizeof(shared->why));
    } else if (MYR_SOFT_OPEN == shared->state) {
        status = attach_nic(nic, socket, given >= 0, error);
    }
    if (MYR_SOFT_NONE == shared->state) {
        status = myr_fail(error, (enum myr_status)shared->status, 0, "%s", shared->why);
    }
    if (MYR_OK == status) {
        list_socket(nic);
    }
    return status;
}

static enum myr_status open_nic(struct myr_segment *segment, const struct myr_soft_options *options,
                                int given, struct myr_soft_nic **nic, struct myr_error *error)
{
    const struct myr_key key = myr_soft_record_key();
    struct myr_record *record = myr_record_join(
        segment, &key, NIC_MEMBERS, sizeof(struct myr_shared_nic) + tables_bytes(), 0, error);
    if (NULL == record) {
        return MYR_ERR_FULL;
    }
    struct myr_soft_nic *opening = calloc(1, sizeof(*opening));
    if (NULL == opening) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    opening->shared = (struct myr_shared_nic *)record->slots;
    opening->segment = segment;
    opening->self = myr_segment_number(segment);
    struct myr_key_pair pair;
    myr_key_pair_of(segment, &pair);
    opening->has_keys = myr_has_key(&pair.public);
    myr_soft_make_board(opening);
    pthread_mutex_init(&opening->mutex, NULL);
    pthread_mutex_init(&opening->sleeping_mutex, NULL);
    myr_soft_lock_init(opening);
    opening->bounds.give_up_ns = OPEN_NS;
    struct myr_soft_lingering left = {0};
    const bool locked = myr_soft_lock(opening);
    const enum myr_status status = locked && myr_soft_sound(opening)
                                       ? create_or_attach(opening, options, given, &left, error)
                                       : myr_soft_is_broken(opening, error);
    if (locked) {
        myr_soft_unlock(opening);
    }
    for (uint32_t l = 0; l < left.count; ++l) {
        myr_record_leave(segment, mcp_at(&opening->board, left.record[l]));
    }
    if (MYR_OK != status) {
        myr_soft_lock_end(opening);
        pthread_mutex_destroy(&opening->mutex);
        pthread_mutex_destroy(&opening->sleeping_mutex);
        free(opening);
        return status;
    }
    myr_soft_set_bounds(opening, &(struct myr_soft_bounds){0});
    *nic = opening;
    return MYR_OK;
}

enum myr_status myr_soft_open(struct myr_segment *segment, const struct myr_soft_options *options,
                              struct myr_soft_nic **nic, struct myr_error *error)
{
    return open_nic(segment, options, -1, nic, error);
}

enum myr_status myr_soft_open_in(const char *dir, uint32_t bytes,
                                 const struct myr_soft_options *options,
                                 struct myr_segment **segment, struct myr_soft_nic **nic,
                                 struct myr_error *error)
{
    *nic = NULL;
    enum myr_status status = myr_segment_join(dir, bytes, segment, error);
    if (MYR_OK != status) {
        *segment = NULL;
        return status;
    }
    status = myr_soft_open(*segment, options, nic, error);
    if (MYR_OK != status) {
        *nic = NULL;
    }
    return status;
}

enum myr_status myr_soft_open_given(struct myr_segment *segment, int socket,
                                    struct myr_soft_nic **nic, struct myr_error *error)
{
    /* No interface has this name, so this process cannot create a NIC instead of opening the given
     * one. */
    static const struct myr_soft_options nowhere = {.network = "none"};
    return open_nic(segment, &nowhere, socket, nic, error);
}

void myr_soft_close(struct myr_soft_nic *nic)
{
    /* The lock is held until the socket is closed, so that a process that opens the NIC meanwhile
     * finds the socket either in the list or closed. Once the last descriptor is closed, a new
     * socket can use its port. */
    const bool locked = myr_soft_lock(nic);
    if (locked) {
        if (myr_soft_sound(nic) && nic->shared->mcp.messages.takes_leave && is_last_socket(nic)) {
            myr_soft_take_leave(nic);
        }
        unlist_socket(nic);
    }
    mcp_udp_close(&nic->udp);
    if (locked) {
        myr_soft_unlock(nic);
    }
    myr_soft_lock_end(nic);
    pthread_mutex_destroy(&nic->mutex);
    pthread_mutex_destroy(&nic->sleeping_mutex);
    free(nic);
}
