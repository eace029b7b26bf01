/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd as the owner of a user's soft NIC; see owner.h. One thread runs the NIC
 * (libmyr/soft/nic_thread.h). Another thread, in this file, serves clients, so that they cannot
 * delay the NIC.
 *
 * Invariants: the table of clients contains each client that was admitted to the NIC until the
 * client has left or died. All resources of a dead client are reclaimed before any new client is
 * admitted. If the death of a client breaks the NIC, new clients get another NIC, and the users of
 * the broken NIC detect this themselves. */
#include "myrd/owner.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/soft/soft_group.h"
#include "libmyr/messages/port.h"
#include "libmyr/soft/daemon_words.h"
#include "libmyr/soft/nic_daemon.h"
#include "libmyr/soft/nic_thread.h"
#include "libmyr/unix_talk.h"
#include "myrd/filter.h"
#include "myrd/log.h"
#include "myrd/listener.h"
#include "myrd/rights.h"

enum {
    CLIENTS_MOST = 1024,
    FIXED = 2, /* polled in addition to the clients: end, listening socket */
    OF_EACH = 2,
};

struct client {
    struct myrd_visitor visitor;
    pid_t pid;           /* 0: its HELLO message has not arrived yet */
    uint32_t generation; /* generation of the NIC to which it was admitted */
};

/* Timeout for a client that is stopped while it holds the NIC. */
#define STOPPED_NS (UINT64_C(3) * 1000 * 1000 * 1000)

struct myrd_server {
    struct myrd_options options;
    struct myrd_listener listener;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_soft_thread *thread;
    uint32_t generation;
    bool stale;       /* whether a client has died; see renew_nic() */
    uint64_t refused; /* number of refused connections */
    uint32_t count;
    struct client client[CLIENTS_MOST];
    struct pollfd watched[FIXED + OF_EACH * CLIENTS_MOST];
};

/* ---- the NIC ---- */

static void close_nic(struct myrd_server *server)
{
    myr_soft_thread_stop(server->thread);
    server->thread = NULL;
    if (NULL != server->nic) {
        myr_soft_close(server->nic);
        server->nic = NULL;
    }
    if (NULL != server->segment) {
        myr_segment_leave(server->segment);
        server->segment = NULL;
    }
}

static enum myr_status open_nic(struct myrd_server *server, struct myr_error *error)
{
    enum myr_status status =
        myr_segment_join(NULL, server->options.memory, &server->segment, error);
    if (MYR_OK == status) {
        status = myr_soft_open(server->segment, &server->options.nic, &server->nic, error);
    }
    if (MYR_OK == status) {
        /* The timeout is shorter than the timeout of clients, which wait up to 10 s for the reply
         * of the daemon. */
        myr_soft_set_bounds(server->nic, &(struct myr_soft_bounds){.give_up_ns = STOPPED_NS});
        status = myr_soft_thread_start(server->nic, MYR_SOFT_DAEMON, &server->thread, error);
    }
    ++server->generation;
    server->stale = false;
    return status;
}

static void log_that_it_serves(const struct myrd_server *server)
{
    struct myr_nic_name name;
    myr_soft_get_name(server->nic, &name);
    myrd_log_serves("serves as the user's soft NIC", &name, &server->listener);
}

/* Returns whether the memory of the NIC is worth replacing although the NIC works. This is the case
 * if clients have died, because the memory of groups that not all members have joined is not freed
 * before the NIC is closed, and if the memory was used up, because a segment then remains full even
 * if all of its memory is freed. */
static bool is_worn(const struct myrd_server *server)
{
    return server->stale || !myr_segment_has_plenty(server->segment, 0);
}

/* Replaces the NIC if it was broken by a client that was killed or stopped while it ran the NIC, or
 * if it is worn and all clients have left.
 *
 * If there is no network at present, there is no NIC until the next client comes and the network is
 * back. */
static enum myr_status renew_nic(struct myrd_server *server, struct myr_error *error)
{
    const bool there = NULL != server->nic, broken = there && myr_soft_broken(server->nic);
    if (there && !broken && !(0 == server->count && is_worn(server))) {
        return MYR_OK;
    }
    const uint32_t stopped = there ? myr_soft_given_up(server->nic) : 0;
    close_nic(server);
    const enum myr_status status = open_nic(server, error);
    if (MYR_OK != status) {
        close_nic(server);
        myrd_log(MYRD_WARNING, "cannot open another NIC, and tries again when a client comes: %s",
                 error->text);
    } else if (0 != stopped) {
        myrd_log(MYRD_WARNING,
                 "process %u holds the NIC's lock and does not continue (is it stopped?): new "
                 "clients get another NIC, and jobs that use the old one wait for the process",
                 (unsigned)stopped);
        log_that_it_serves(server);
    } else if (broken) {
        myrd_log(MYRD_WARNING, "a process was killed while it held the NIC's lock, so the NIC is "
                               "unusable: jobs that use it go back to Open MPI's own functions");
        log_that_it_serves(server);
    }
    return status;
}

/* ---- clients ---- */

/* Reclaims everything that a dead process held. */
static void reap_process(struct myrd_server *server, pid_t pid)
{
    myr_soft_reap(server->nic, (uint32_t)pid);
    myr_soft_groups_reap(server->nic, (uint32_t)pid);
    (void)myr_ports_reap(server->nic, (uint32_t)pid);
    myr_segment_reap(server->segment, (uint32_t)pid);
    server->stale = true;
}

static void forget_client(struct myrd_server *server, uint32_t number)
{
    struct client *client = &server->client[number];
    myrd_visitor_leave(&client->visitor);
    *client = server->client[--server->count];
}

static void reap_client(struct myrd_server *server, uint32_t number)
{
    const struct client *client = &server->client[number];
    if (0 != client->pid && client->generation == server->generation) {
        reap_process(server, client->pid);
    }
    forget_client(server, number);
}

static void send_welcome(int connection, enum myr_status status, const char *why,
                         const int *descriptors)
{
    struct myr_daemon_welcome welcome = {.magic = MYR_DAEMON_MAGIC, .status = status};
    snprintf(welcome.why, sizeof(welcome.why), "%.*s", (int)sizeof(welcome.why) - 1, why);
    (void)myr_talk_send(connection, &welcome, sizeof(welcome), descriptors,
                        NULL == descriptors ? 0 : MYR_DAEMON_DESCRIPTORS, MSG_DONTWAIT);
}

static void refuse_visitor(struct myrd_server *server, const struct myrd_visitor *visitor,
                           enum myr_status status, const char *why)
{
    send_welcome(visitor->connection, status, why, NULL);
    myrd_log_refusal(visitor, why, ++server->refused);
}

static void accept_client(struct myrd_server *server)
{
    struct myrd_visitor visitor;
    const char *why;
    if (!myrd_listener_accept(&server->listener, &visitor, &why)) {
        return;
    }
    if (geteuid() != visitor.uid) {
        why = "myrd refuses: the process is another user's";
    } else if (CLIENTS_MOST == server->count) {
        why = "myrd refuses: it has too many clients";
    }
    if (NULL != why) {
        refuse_visitor(server, &visitor, MYR_ERR_SYSTEM, why);
        myrd_visitor_leave(&visitor);
        return;
    }
    server->client[server->count++] = (struct client){visitor, 0, 0};
}

/* Returns the reason to refuse a client that has sent its HELLO message, or NULL if there is
 * none. */
static const char *reason_to_refuse(const struct client *client,
                                    const struct myr_daemon_hello *hello, enum myr_status *status)
{
    *status = MYR_ERR_FOREIGN;
    if (myr_daemon_layout() != hello->layout) {
        return "myrd is of another version of nicbarr";
    }
    *status = MYR_ERR_SYSTEM;
    if (client->visitor.pid != hello->pid) {
        return "the process has another PID in myrd's PID namespace (is it in another container?)";
    }
    return NULL;
}

static void welcome_client(struct myrd_server *server, struct client *client,
                           const struct myr_daemon_hello *hello)
{
    enum myr_status status;
    struct myr_error error = {0};
    const char *why = reason_to_refuse(client, hello, &status);
    if (NULL != why) {
        refuse_visitor(server, &client->visitor, status, why);
        return;
    }
    if (MYR_OK != renew_nic(server, &error)) {
        send_welcome(client->visitor.connection, MYR_ERR_SYSTEM, error.text, NULL);
        return;
    }
    const int descriptors[MYR_DAEMON_DESCRIPTORS] = {
        [MYR_DAEMON_MEMORY] = myr_segment_fd(server->segment),
        [MYR_DAEMON_SOCKET] = myr_soft_socket(server->nic),
    };
    /* From here on, everything that the client holds has to be reclaimed. */
    client->pid = hello->pid;
    client->generation = server->generation;
    send_welcome(client->visitor.connection, MYR_OK, "", descriptors);
}

/* Handles a HELLO or close message, or the end of the connection. */
static void receive_hello(struct myrd_server *server, uint32_t number)
{
    struct client *client = &server->client[number];
    struct myr_daemon_hello hello;
    const ssize_t bytes = recv(client->visitor.connection, &hello, sizeof(hello), MSG_DONTWAIT);
    if (bytes < 0 && (EAGAIN == errno || EINTR == errno)) {
        return;
    }
    if (sizeof(hello) != bytes || MYR_DAEMON_MAGIC != hello.magic) {
        reap_client(server, number); /* end of the connection, or a malformed message */
    } else if (0 != hello.goodbye) {
        forget_client(server, number);
    } else if (0 == client->pid) {
        welcome_client(server, client, &hello);
    }
}

/* ---- listening ---- */

static enum myr_status listen_there(struct myrd_server *server, struct myr_error *error)
{
    char usual[sizeof(server->listener.address.sun_path)];
    const char *path = server->options.socket;
    if (NULL == path) {
        if (!myr_soft_daemon_path(usual, sizeof(usual))) {
            return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the socket's path");
        }
        const enum myr_status status = myrd_listener_make_directory(usual, 0700, error);
        if (MYR_OK != status) {
            return status;
        }
        path = usual;
    }
    return myrd_listener_open(&server->listener, path, 0600, error);
}

/* ---- the server ---- */

static void close_server(void *serving)
{
    struct myrd_server *server = serving;
    myrd_listener_hide(&server->listener);
    while (server->count > 0) {
        forget_client(server, server->count - 1);
    }
    close_nic(server);
    myrd_listener_close(&server->listener);
    free(server);
}

static enum myr_status check_soft_nic(const struct myrd_options *options, struct myr_error *error)
{
    struct myrd_server server = {.options = *options};
    const enum myr_status status = open_nic(&server, error);
    close_nic(&server);
    return status;
}

static void print_waiting(const char *line)
{
    myrd_log(MYRD_WARNING, "%s", line);
}

static enum myr_status open_server(const struct myrd_options *options, void **serving,
                                   struct myr_error *error)
{
    struct myrd_server *server = calloc(1, sizeof(*server));
    if (NULL == server) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    server->options = *options;
    myr_segment_print = print_waiting;
    server->listener.lock = server->listener.listening = -1;
    server->listener.dir = server->listener.spare = -1;
    enum myr_status status = listen_there(server, error);
    if (MYR_OK == status) {
        /* If the daemon runs as root, it drops its capabilities, except CAP_NET_ADMIN, which
         * permits a large receive buffer. This must happen before the NIC is opened, because
         * opening it starts a thread. */
        status = myrd_rights_keep(UINT64_C(1) << CAP_NET_ADMIN, error);
    }
    if (MYR_OK == status) {
        status = open_nic(server, error);
    }
    if (MYR_OK != status) {
        close_server(server);
        return status;
    }
    *serving = server;
    return MYR_OK;
}

static enum myr_status confine_server(void *serving, struct myr_error *error)
{
    (void)serving;
    return myrd_filter(MYRD_FILTER_SOFT, error);
}

static void watch_all(struct myrd_server *server, int end)
{
    server->watched[0] = (struct pollfd){.fd = end, .events = POLLIN};
    server->watched[1] = (struct pollfd){.fd = server->listener.listening,
                                         .events = myrd_listener_events(&server->listener)};
    for (uint32_t c = 0; c < server->count; ++c) {
        struct pollfd *of = &server->watched[FIXED + OF_EACH * c];
        of[0] = (struct pollfd){.fd = server->client[c].visitor.connection, .events = POLLIN};
        of[1] = (struct pollfd){.fd = server->client[c].visitor.process, .events = POLLIN};
    }
}

static enum myr_status run_server(void *serving, int end, struct myr_error *error)
{
    struct myrd_server *server = serving;
    log_that_it_serves(server);
    for (;;) {
        watch_all(server, end);
        const int timeout = myrd_listener_timeout(&server->listener, -1);
        if (poll(server->watched, FIXED + OF_EACH * server->count, timeout) < 0 && EINTR != errno) {
            return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot wait for clients");
        }
        if (0 != server->watched[0].revents) {
            return MYR_OK;
        }
        /* Iterates downwards, because the last client takes the index of one that is removed. */
        for (uint32_t c = server->count; c > 0; --c) {
            const struct pollfd *of = &server->watched[FIXED + OF_EACH * (c - 1)];
            if (0 != of[0].revents) {
                receive_hello(server, c - 1);
            } else if (0 != of[1].revents) {
                reap_client(server, c - 1);
            }
        }
        if (NULL != server->nic) {
            struct myr_error ignored;
            (void)renew_nic(server, &ignored);
        }
        if (0 != server->watched[1].revents) {
            accept_client(server);
        }
    }
}

const struct myrd_owner myrd_soft_owner = {
    .check = check_soft_nic,
    .open = open_server,
    .confine = confine_server,
    .run = run_server,
    .close = close_server,
};
