/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of myrd --kernel; see kernel_nic.h.
 *
 * Invariant: a question and its answer belong together. The daemon answers one after the other, so
 * answers that were given up waiting for come first; they are passed over. When one makes no sense,
 * the connection is shut: what follows could belong to any question.
 */
#include "libmyr/kernel/kernel_nic.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/unix_talk.h"

static const char daemon_name[] = "myrd --kernel";

/* For what is asked later. To open a group the daemon may sleep for 2.5 s, when a host is not
 * there. */
static const struct myr_talk_patience for_opening = {5000, 30000}, for_others = {500, 10000};

struct myr_kernel_nic {
    pthread_mutex_t asking;
    int connection;
    uint32_t owed; /* answers that have not come yet, and nobody waits for any more */
    bool deaf;     /* the daemon took in nothing for long: no closing waits for it to */
    struct myr_nic_name name;
};

/* Pass over what the daemon owes. */
static enum myr_status catch_up(struct myr_kernel_nic *nic,
                                const struct myr_talk_patience *patience, struct myr_error *error)
{
    while (nic->owed > 0) {
        uint32_t magic;
        const enum myr_status status = myr_talk_hear(nic->connection, daemon_name, patience, error);
        if (MYR_OK != status) {
            return status;
        }
        if (myr_talk_receive(nic->connection, &magic, sizeof(magic), NULL, 0) <= 0) {
            return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd --kernel is gone");
        }
        --nic->owed;
    }
    return MYR_OK;
}

/* How long must this answer be? A report has as many groups as it says. */
static size_t length_of(const struct myr_kernel_question *question, const void *answer,
                        size_t bytes)
{
    const struct myr_kernel_report *report = answer;
    return MYR_KERNEL_STATUS != question->ask   ? bytes
           : report->groups > MCP_KERNEL_GROUPS ? 0
                                                : myr_kernel_report_bytes(report->groups);
}

static enum myr_status converse(struct myr_kernel_nic *nic,
                                const struct myr_kernel_question *question,
                                const struct myr_talk_patience *patience, void *answer,
                                size_t bytes, int *maps, uint32_t count, struct myr_error *error)
{
    uint32_t magic;
    enum myr_status status = catch_up(nic, patience, error);
    if (MYR_OK == status) {
        status = myr_talk_say(nic->connection, daemon_name, question, sizeof(*question), patience,
                              error);
    }
    if (MYR_OK == status) {
        status = myr_talk_hear(nic->connection, daemon_name, patience, error);
        nic->owed += MYR_ERR_NOT_YET == status;
    }
    if (MYR_OK != status) {
        return status;
    }
    const ssize_t came = myr_talk_receive(nic->connection, answer, bytes, maps, count);
    if (0 == came && MYR_KERNEL_HELLO == question->ask) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "myrd --kernel lets nobody in: it has too many clients (a user may have a "
                        "quarter of what all others leave), or it is ending");
    }
    if (came <= 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, came < 0 ? errno : 0,
                        "myrd --kernel does not answer");
    }
    memcpy(&magic, answer, sizeof(magic));
    if (MYR_KERNEL_MAGIC != magic || length_of(question, answer, bytes) != (size_t)came) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "myrd --kernel is of another version of nicbarr");
    }
    return MYR_OK;
}

/* Ask; `answer` gets `bytes`, and `maps` so many descriptors, or -1. One thread at a time does
 * this. */
static enum myr_status ask(struct myr_kernel_nic *nic, struct myr_kernel_question *question,
                           enum myr_kernel_ask what, const struct myr_talk_patience *patience,
                           void *answer, size_t bytes, int *maps, uint32_t count,
                           struct myr_error *error)
{
    question->magic = MYR_KERNEL_MAGIC;
    question->ask = what;
    memset(answer, 0, bytes);
    pthread_mutex_lock(&nic->asking);
    const enum myr_status status =
        converse(nic, question, patience, answer, bytes, maps, count, error);
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
    pthread_mutex_unlock(&nic->asking);
    return status;
}

/* Ask a question whose answer is a status. So many descriptors must come with MYR_OK. */
static enum myr_status request(struct myr_kernel_nic *nic, struct myr_kernel_question *question,
                               enum myr_kernel_ask what, const struct myr_talk_patience *patience,
                               struct myr_kernel_answer *answer, int *maps, uint32_t count,
                               struct myr_error *error)
{
    const enum myr_status status =
        ask(nic, question, what, patience, answer, sizeof(*answer), maps, count, error);
    if (MYR_OK != status) {
        return status;
    }
    answer->why[sizeof(answer->why) - 1] = '\0';
    if (MYR_OK != answer->status) {
        return myr_fail(error, (enum myr_status)answer->status, 0, "%s", answer->why);
    }
    if (count > 0 && maps[0] < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, EMFILE, "the page of myrd --kernel did not come");
    }
    return MYR_OK;
}

static enum myr_status say_hello(struct myr_kernel_nic *nic, bool hurry, struct myr_error *error)
{
    struct myr_kernel_question question = {0};
    struct myr_kernel_answer answer;
    const enum myr_status status =
        request(nic, &question, MYR_KERNEL_HELLO, myr_talk_patience_for_hello(hurry), &answer, NULL,
                0, error);
    nic->name = answer.nic;
    return status;
}

enum myr_status myr_kernel_nic_open(bool hurry, struct myr_kernel_nic **nic,
                                    struct myr_error *error)
{
    const char *path = getenv("NICBARR_KERNEL_SOCKET");
    struct myr_kernel_nic *opening = calloc(1, sizeof(*opening));
    if (NULL == opening) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    pthread_mutex_init(&opening->asking, NULL);
    enum myr_status status =
        myr_talk_connect(NULL == path || '\0' == *path ? MYR_KERNEL_SOCKET : path, daemon_name,
                         true, &opening->connection, error);
    if (MYR_OK == status) {
        status = say_hello(opening, hurry, error);
    }
    if (MYR_OK != status) {
        myr_kernel_nic_close(opening);
        return MYR_ERR_NOT_YET == status && !hurry ? MYR_ERR_SYSTEM : status;
    }
    *nic = opening;
    return MYR_OK;
}

void myr_kernel_nic_close(struct myr_kernel_nic *nic)
{
    if (nic->connection >= 0) {
        close(nic->connection);
    }
    pthread_mutex_destroy(&nic->asking);
    free(nic);
}

void myr_kernel_nic_get_name(const struct myr_kernel_nic *nic, struct myr_nic_name *name)
{
    *name = nic->name;
}

enum myr_status myr_kernel_nic_report(struct myr_kernel_nic *nic, struct myr_kernel_report *report,
                                      struct myr_error *error)
{
    struct myr_kernel_question question = {0};
    const enum myr_status status = ask(nic, &question, MYR_KERNEL_STATUS, &for_others, report,
                                       sizeof(*report), NULL, 0, error);
    report->interface[sizeof(report->interface) - 1] = '\0';
    return status;
}

enum myr_status myr_kernel_nic_ask_open(struct myr_kernel_nic *nic,
                                        struct myr_kernel_question *question,
                                        struct mcp_kernel_seen *seen, struct myr_error *error)
{
    struct myr_kernel_answer answer;
    int maps[MYR_TALK_DESCRIPTORS] = {-1, -1};
    const bool has_buffer = 0 != question->places || 0 != question->window;
    const enum myr_status status = request(nic, question, MYR_KERNEL_OPEN, &for_opening, &answer,
                                           maps, has_buffer ? 2 : 1, error);
    seen->page = maps[0];
    seen->buffer = maps[1];
    seen->line = answer.line % MCP_KERNEL_LINES;
    /* It may open the group when it goes on; or it has opened it, and there is no room here for its
     * descriptors. */
    if (MYR_OK != status && MYR_OK == answer.status) {
        myr_kernel_nic_ask_close(nic, question->key);
    }
    return MYR_ERR_NOT_YET == status ? MYR_ERR_SYSTEM : status;
}

void myr_kernel_nic_ask_close(struct myr_kernel_nic *nic, uint64_t key)
{
    const struct myr_kernel_question question = {
        .magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_CLOSE, .key = key};
    pthread_mutex_lock(&nic->asking);
    /* What cannot be said is no harm: the group is closed when this process ends. */
    nic->deaf = nic->deaf ? !myr_talk_send(nic->connection, &question, sizeof(question), NULL, 0, 0)
                          : MYR_OK != myr_talk_say(nic->connection, daemon_name, &question,
                                                   sizeof(question), &for_others, NULL);
    pthread_mutex_unlock(&nic->asking);
}

bool myr_kernel_nic_ask_missing(struct myr_kernel_nic *nic, uint64_t key,
                                struct myr_kernel_missing *missing)
{
    struct myr_kernel_question question = {.key = key};
    return MYR_OK == ask(nic, &question, MYR_KERNEL_MISSING, &for_others, missing, sizeof(*missing),
                         NULL, 0, NULL) &&
           missing->count <= MCP_KERNEL_MESSAGES;
}

bool myr_kernel_nic_alive(const struct myr_kernel_nic *nic)
{
    struct pollfd watched = {.fd = nic->connection, .events = POLLRDHUP};
    return poll(&watched, 1, 0) <= 0 || 0 == watched.revents;
}
