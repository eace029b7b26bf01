/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of myrd --kernel; see kernel_nic.h.
 *
 * Invariant: each answer is matched to its request. The daemon answers requests in order, so late
 * answers to requests that have timed out arrive first, and are skipped. After a malformed answer
 * the connection is shut down, because later answers could not be matched.
 *
 * If the daemon is killed, another one may take over the NIC (kernel_words.h). Until then, clients
 * do not block: their groups continue, and whenever a client needs the daemon, it tries to
 * reconnect, with exponential backoff. Only two operations wait for the next daemon, for a limited
 * time: opening a group, and the last disconnect of a client, which the next daemon would otherwise
 * take for dead.
 *
 * A new connection is duplicated onto the old descriptor, so that other threads may use the
 * descriptor at any time. */
#include "libmyr/kernel/kernel_nic.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/unix_talk.h"
#include "os/clock.h"

static const char daemon_name[] = "myrd --kernel";

/* Timeouts of all requests except HELLO. The timeout for opening a group is longer, because the
 * daemon may then wait up to 2.5 s for a host that does not respond. */
static const struct myr_talk_timeout for_opening = {5000, 30000}, for_others = {500, 10000};

enum {
    AGAIN_FIRST_US = 5000,  /* first pause between attempts to reconnect; doubled each time */
    AGAIN_MOST_US = 500000, /* longest pause between attempts to reconnect */
    AWAIT_US = 3000000,     /* how long to wait for a daemon: systemd restarts it after a second */
    NAP_US = 5000,
};

struct myr_kernel_nic {
    pthread_mutex_t asking;
    int connection;
    uint64_t number; /* the daemon's number for this client */
    uint64_t *held;  /* [held_count]: keys of open groups */
    uint32_t held_count, held_room;
    bool opened;       /* whether the daemon may hold groups of this client */
    uint64_t opening;  /* key of the group that the daemon was requested to open; 0 if none */
    bool gone;         /* whether reconnecting is impossible */
    uint64_t away_us;  /* since when there has been no daemon; 0 if there is one */
    uint64_t again_us; /* when to try to reconnect */
    uint32_t pause_us; /* pause after that attempt */
    uint32_t owed;     /* number of outstanding answers to requests that timed out */
    bool deaf; /* whether the daemon's socket was full for a long time, so that closing a group must
                  not wait for the daemon */
    struct myr_nic_name name;
    uint32_t interface; /* index of the interface with the name's address */
};

/* Receives and discards answers to requests that timed out. */
static enum myr_status skip_late_answers(struct myr_kernel_nic *nic,
                                         const struct myr_talk_timeout *timeout,
                                         struct myr_error *error)
{
    while (nic->owed > 0) {
        uint32_t magic;
        const enum myr_status status = myr_talk_await(nic->connection, daemon_name, timeout, error);
        if (MYR_OK != status) {
            return status;
        }
        if (myr_talk_receive(nic->connection, &magic, sizeof(magic), NULL, 0) <= 0) {
            return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd --kernel has ended");
        }
        --nic->owed;
    }
    return MYR_OK;
}

/* Returns the expected length of the answer. The length of a report depends on its number of
 * groups. */
static size_t expected_length(const struct myr_kernel_question *question, const void *answer,
                              size_t bytes)
{
    const struct myr_kernel_report *report = answer;
    return MYR_KERNEL_STATUS != question->ask   ? bytes
           : report->groups > MCP_KERNEL_GROUPS ? 0
                                                : myr_kernel_report_bytes(report->groups);
}

static enum myr_status exchange_messages(struct myr_kernel_nic *nic,
                                         const struct myr_kernel_question *question,
                                         const struct myr_talk_timeout *timeout, void *answer,
                                         size_t bytes, int *maps, uint32_t count,
                                         struct myr_error *error)
{
    uint32_t magic;
    enum myr_status status = skip_late_answers(nic, timeout, error);
    if (MYR_OK == status) {
        status = myr_talk_send_to_daemon(nic->connection, daemon_name, question, sizeof(*question),
                                         timeout, error);
    }
    if (MYR_OK == status) {
        status = myr_talk_await(nic->connection, daemon_name, timeout, error);
        nic->owed += MYR_ERR_NOT_YET == status;
    }
    if (MYR_OK != status) {
        return status;
    }
    const ssize_t came = myr_talk_receive(nic->connection, answer, bytes, maps, count);
    if (0 == came && MYR_KERNEL_HELLO == question->ask) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "myrd --kernel accepts no client: it has too many (a user may have a "
                        "quarter of what all others leave), or it is ending");
    }
    if (came <= 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, came < 0 ? errno : 0,
                        "myrd --kernel does not answer");
    }
    memcpy(&magic, answer, sizeof(magic));
    if (MYR_KERNEL_MAGIC != magic || expected_length(question, answer, bytes) != (size_t)came) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "myrd --kernel is of another version of nicbarr");
    }
    return MYR_OK;
}

/* Sends a request, and stores the answer, which must have `bytes` bytes, in `answer`. The `count`
 * descriptors that are attached to the answer are stored in `maps`; missing ones become -1. Called
 * with the lock held. */
static enum myr_status request_once(struct myr_kernel_nic *nic,
                                    struct myr_kernel_question *question, enum myr_kernel_ask what,
                                    const struct myr_talk_timeout *timeout, void *answer,
                                    size_t bytes, int *maps, uint32_t count,
                                    struct myr_error *error)
{
    question->magic = MYR_KERNEL_MAGIC;
    question->ask = what;
    memset(answer, 0, bytes);
    const enum myr_status status =
        exchange_messages(nic, question, timeout, answer, bytes, maps, count, error);
    nic->deaf = MYR_ERR_NOT_YET == status;
    if (MYR_OK != status && MYR_ERR_NOT_YET != status) {
        (void)shutdown(nic->connection, SHUT_RDWR);
        for (uint32_t m = 0; m < count; ++m) {
            if (maps[m] >= 0) {
                close(maps[m]);
                maps[m] = -1;
            }
        }
    }
    return status;
}

/* ---- reconnecting ---- */

static bool is_connected(const struct myr_kernel_nic *nic)
{
    struct pollfd watched = {.fd = nic->connection, .events = POLLRDHUP};
    return poll(&watched, 1, 0) <= 0 || 0 == watched.revents;
}

static bool connect_to(struct myr_kernel_nic *nic, struct myr_error *error, enum myr_status *status)
{
    const char *path = getenv("NICBARR_KERNEL_SOCKET");
    int connection;
    *status = myr_talk_connect(NULL == path || '\0' == *path ? MYR_KERNEL_SOCKET : path,
                               daemon_name, true, &connection, error);
    if (MYR_OK != *status) {
        return false;
    }
    if (nic->connection < 0) {
        nic->connection = connection;
        return true;
    }
    const bool there = dup3(connection, nic->connection, O_CLOEXEC) >= 0;
    close(connection);
    nic->owed = 0;
    nic->deaf = false;
    return there;
}

/* Sends a request that is answered by a status, and returns whether there was an answer. If there
 * is none in time, the client closes the connection. A daemon that already knows the client takes
 * this for the client's death, so the timeout is long. Only the timeout for HELLO is short, because
 * the daemon does not know the client yet, and the client can try again later. */
static bool request_status(struct myr_kernel_nic *nic, enum myr_kernel_ask what, uint64_t key,
                           struct myr_kernel_answer *answer)
{
    struct myr_kernel_question question = {.key = key};
    return MYR_OK ==
           request_once(nic, &question, what,
                        MYR_KERNEL_HELLO == what ? myr_talk_timeout_for_hello(true) : &for_others,
                        answer, sizeof(*answer), NULL, 0, NULL);
}

static bool same_nic(const struct myr_nic_name *a, const struct myr_nic_name *b)
{
    return a->key == b->key && a->count == b->count &&
           0 == memcmp(a->address, b->address, sizeof(a->address));
}

/* Determines whether the next daemon, which has already answered HELLO, has taken over the NIC and
 * knows this client. Returns false if the daemon does not answer any more. */
static bool resume_client(struct myr_kernel_nic *nic, const struct myr_kernel_answer *hello)
{
    const struct myr_kernel_question settle = {
        .magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_SETTLE, .key = nic->opening};
    struct myr_kernel_answer answer;
    nic->gone = MYR_OK != hello->status || !same_nic(&nic->name, &hello->nic);
    if (nic->gone || !nic->opened) {
        nic->number = hello->number;
        return true;
    }
    if (!request_status(nic, MYR_KERNEL_RETURN, nic->number, &answer)) {
        return false;
    }
    /* The daemon may not know this client, which is no loss if the client holds no group. */
    if (MYR_OK != answer.status && 0 == nic->held_count) {
        nic->number = hello->number;
        return true;
    }
    nic->gone = MYR_OK != answer.status;
    for (uint32_t h = 0; !nic->gone && h < nic->held_count; ++h) {
        if (!request_status(nic, MYR_KERNEL_HOLD, nic->held[h], &answer)) {
            return false;
        }
        nic->gone = MYR_OK != answer.status;
    }
    return nic->gone || myr_talk_send(nic->connection, &settle, sizeof(settle), NULL, 0, 0);
}

/* Tries to reconnect, if the pause is over. */
static void try_reconnect(struct myr_kernel_nic *nic)
{
    const uint64_t now_us = os_now_us();
    struct myr_kernel_answer hello;
    enum myr_status status;
    if (0 == nic->away_us) {
        nic->away_us = nic->again_us = now_us;
        nic->pause_us = AGAIN_FIRST_US;
    }
    if (nic->gone || now_us < nic->again_us) {
        return;
    }
    if (connect_to(nic, NULL, &status) && request_status(nic, MYR_KERNEL_HELLO, 0, &hello) &&
        resume_client(nic, &hello)) {
        nic->away_us = 0;
    }
    if (nic->gone || 0 != nic->away_us) {
        (void)shutdown(nic->connection, SHUT_RDWR);
    }
    nic->again_us = os_now_us() + nic->pause_us;
    nic->pause_us = 2 * nic->pause_us < AGAIN_MOST_US ? 2 * nic->pause_us : AGAIN_MOST_US;
}

/* Waits until `until_us` for a daemon. Called with the lock held. Returns false if there is
 * none. */
static bool await_daemon(struct myr_kernel_nic *nic, uint64_t until_us)
{
    while (!is_connected(nic)) {
        try_reconnect(nic);
        if (nic->gone || os_now_us() >= until_us) {
            return false;
        }
        if (0 != nic->away_us) {
            const struct timespec nap = os_timespec_of_us(NAP_US);
            (void)nanosleep(&nap, NULL);
        }
    }
    return true;
}

enum myr_kernel_daemon myr_kernel_nic_daemon(struct myr_kernel_nic *nic)
{
    if (is_connected(nic)) {
        return MYR_KERNEL_HERE;
    }
    if (0 != pthread_mutex_trylock(&nic->asking)) {
        return MYR_KERNEL_AWAY; /* another thread is reconnecting */
    }
    if (!is_connected(nic)) {
        try_reconnect(nic);
    }
    const enum myr_kernel_daemon daemon = nic->gone           ? MYR_KERNEL_GONE
                                          : 0 == nic->away_us ? MYR_KERNEL_HERE
                                          : os_now_us() - nic->away_us < MYR_KERNEL_AWAY_US
                                              ? MYR_KERNEL_AWAY
                                              : MYR_KERNEL_LOST;
    pthread_mutex_unlock(&nic->asking);
    return daemon;
}

/* ---- requests ---- */

/* Sends a request to the daemon, serialised by the lock. If the daemon ends before it has answered,
 * the request is repeated to the next daemon, provided that this daemon appears within
 * `within_us`. */
static enum myr_status ask_daemon(struct myr_kernel_nic *nic, struct myr_kernel_question *question,
                                  enum myr_kernel_ask what, const struct myr_talk_timeout *timeout,
                                  void *answer, size_t bytes, int *maps, uint32_t count,
                                  uint64_t within_us, struct myr_error *error)
{
    pthread_mutex_lock(&nic->asking);
    const uint64_t until_us = os_now_us() + within_us;
    enum myr_status status;
    nic->opening = MYR_KERNEL_OPEN == what ? question->key : 0;
    do {
        if (MYR_KERNEL_HELLO != what) {
            (void)await_daemon(nic, until_us);
        }
        status = request_once(nic, question, what, timeout, answer, bytes, maps, count, error);
    } while (MYR_OK != status && 0 != within_us && !is_connected(nic) && !nic->gone &&
             MYR_ERR_FOREIGN != status && os_now_us() < until_us);
    nic->opening = 0;
    pthread_mutex_unlock(&nic->asking);
    return status;
}

/* Sends a request that is answered by a status. With MYR_OK, `count` descriptors must arrive. */
static enum myr_status request_answer(struct myr_kernel_nic *nic,
                                      struct myr_kernel_question *question,
                                      enum myr_kernel_ask what,
                                      const struct myr_talk_timeout *timeout,
                                      struct myr_kernel_answer *answer, int *maps, uint32_t count,
                                      uint64_t within_us, struct myr_error *error)
{
    const enum myr_status status = ask_daemon(nic, question, what, timeout, answer, sizeof(*answer),
                                              maps, count, within_us, error);
    if (MYR_OK != status) {
        return status;
    }
    answer->why[sizeof(answer->why) - 1] = '\0';
    if (MYR_OK != answer->status) {
        return myr_fail(error, (enum myr_status)answer->status, 0, "%s", answer->why);
    }
    if (count > 0 && maps[0] < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, EMFILE,
                        "no file descriptor for the memory of myrd --kernel was received");
    }
    return MYR_OK;
}

static enum myr_status send_hello(struct myr_kernel_nic *nic, bool hurry, struct myr_error *error)
{
    struct myr_kernel_question question = {0};
    struct myr_kernel_answer answer;
    const enum myr_status status =
        request_answer(nic, &question, MYR_KERNEL_HELLO, myr_talk_timeout_for_hello(hurry), &answer,
                       NULL, 0, 0, error);
    nic->name = answer.nic;
    nic->number = answer.number;
    nic->interface = mcp_interface_of(&nic->name.address[0].ip, NULL);
    return status;
}

enum myr_status myr_kernel_nic_open(bool hurry, struct myr_kernel_nic **nic,
                                    struct myr_error *error)
{
    struct myr_kernel_nic *opening = calloc(1, sizeof(*opening));
    if (NULL == opening) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    pthread_mutex_init(&opening->asking, NULL);
    opening->connection = -1;
    enum myr_status status;
    if (connect_to(opening, error, &status)) {
        status = send_hello(opening, hurry, error);
    }
    if (MYR_OK != status) {
        myr_kernel_nic_close(opening);
        return MYR_ERR_NOT_YET == status && !hurry ? MYR_ERR_SYSTEM : status;
    }
    *nic = opening;
    return MYR_OK;
}

/* Closes the NIC, after this process has left all its groups. If the daemon has been killed
 * meanwhile, its successor may not know that this process has left, so the function waits for the
 * successor for a limited time and reports to it. */
void myr_kernel_nic_close(struct myr_kernel_nic *nic)
{
    if (nic->connection >= 0) {
        if (nic->opened) {
            (void)await_daemon(nic, os_now_us() + AWAIT_US);
        }
        close(nic->connection);
    }
    free(nic->held);
    pthread_mutex_destroy(&nic->asking);
    free(nic);
}

void myr_kernel_nic_get_name(const struct myr_kernel_nic *nic, struct myr_nic_name *name)
{
    *name = nic->name;
}

uint32_t myr_kernel_nic_interface(const struct myr_kernel_nic *nic)
{
    return nic->interface;
}

enum myr_status myr_kernel_nic_report(struct myr_kernel_nic *nic, struct myr_kernel_report *report,
                                      struct myr_error *error)
{
    struct myr_kernel_question question = {0};
    const enum myr_status status = ask_daemon(nic, &question, MYR_KERNEL_STATUS, &for_others,
                                              report, sizeof(*report), NULL, 0, 0, error);
    report->interface[sizeof(report->interface) - 1] = '\0';
    return status;
}

/* Records that the group is open. Returns false if out of memory. */
static bool record_group(struct myr_kernel_nic *nic, uint64_t key)
{
    if (nic->held_count == nic->held_room) {
        const uint32_t room = 0 == nic->held_room ? 16 : 2 * nic->held_room;
        uint64_t *more = realloc(nic->held, room * sizeof(*more));
        if (NULL == more) {
            return false;
        }
        nic->held = more;
        nic->held_room = room;
    }
    nic->held[nic->held_count++] = key;
    return true;
}

static void forget_group(struct myr_kernel_nic *nic, uint64_t key)
{
    uint32_t h = 0;
    while (h < nic->held_count && key != nic->held[h]) {
        ++h;
    }
    if (h < nic->held_count) {
        nic->held[h] = nic->held[--nic->held_count];
    }
}

/* The daemon may be killed after it has opened the group, but before it has answered. The next
 * daemon then takes over the group, and this client repeats its request there. Until the request
 * arrives, the next daemon must not close the group for lack of users. For this purpose `opened` is
 * set in advance: when this client reconnects, it then reports to the next daemon
 * (resume_client()), and its SETTLE message names the group that it is about to open. */
enum myr_status myr_kernel_nic_ask_open(struct myr_kernel_nic *nic,
                                        struct myr_kernel_question *question,
                                        struct mcp_kernel_seen *seen, struct myr_error *error)
{
    struct myr_kernel_answer answer = {.status = MYR_OK}; /* also used if no answer arrives */
    int maps[MYR_TALK_DESCRIPTORS] = {-1, -1};
    const bool has_buffer = 0 != question->buffer_blocks || 0 != question->window;
    pthread_mutex_lock(&nic->asking);
    nic->opened = true;
    pthread_mutex_unlock(&nic->asking);
    enum myr_status status = request_answer(nic, question, MYR_KERNEL_OPEN, &for_opening, &answer,
                                            maps, has_buffer ? 2 : 1, AWAIT_US, error);
    seen->page = maps[0];
    seen->buffer = maps[1];
    seen->line = answer.line % MCP_KERNEL_LINES;
    if (MYR_OK == status) {
        pthread_mutex_lock(&nic->asking);
        const bool held = record_group(nic, question->key);
        pthread_mutex_unlock(&nic->asking);
        if (held) {
            return MYR_OK;
        }
        status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        close(seen->page);
        if (seen->buffer >= 0) {
            close(seen->buffer);
        }
    }
    /* Although this function fails, the daemon may have opened the group or may still open it: its
     * answer may only be late, or its descriptors could not be received. Therefore the client
     * requests the daemon to close the group. */
    if (MYR_OK == answer.status) {
        myr_kernel_nic_ask_close(nic, question->key);
    }
    return MYR_ERR_NOT_YET == status ? MYR_ERR_SYSTEM : status;
}

void myr_kernel_nic_ask_close(struct myr_kernel_nic *nic, uint64_t key)
{
    const struct myr_kernel_question question = {
        .magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_CLOSE, .key = key};
    pthread_mutex_lock(&nic->asking);
    forget_group(nic, key);
    /* If this request is lost, the group is closed later, either by the next daemon, to which this
     * process lists the groups that it still holds, or at the latest when this process ends. */
    nic->deaf = nic->deaf
                    ? !myr_talk_send(nic->connection, &question, sizeof(question), NULL, 0, 0)
                    : MYR_OK != myr_talk_send_to_daemon(nic->connection, daemon_name, &question,
                                                        sizeof(question), &for_others, NULL);
    pthread_mutex_unlock(&nic->asking);
}

bool myr_kernel_nic_ask_missing(struct myr_kernel_nic *nic, uint64_t key,
                                struct myr_kernel_missing *missing)
{
    struct myr_kernel_question question = {.key = key};
    return MYR_OK == ask_daemon(nic, &question, MYR_KERNEL_MISSING, &for_others, missing,
                                sizeof(*missing), NULL, 0, 0, NULL) &&
           missing->count <= MCP_KERNEL_MESSAGES;
}
