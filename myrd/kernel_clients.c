/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of myrd --kernel; see kernel_clients.h. */
#include "myrd/kernel_clients.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmyr/unix_talk.h"
#include "myrd/kernel_holders.h"
#include "myrd/log.h"
#include "myrd/share.h"
#include "os/clock.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* musl's headers are older than Linux 5.14 */
#endif

enum {
    DESCRIPTORS_OTHER = 128, /* descriptors other than those of clients and pages */
    NOT_ROOT = 65534,        /* represents any user but root */
};

/* ---- answers ---- */

void myrd_client_answer(const struct myrd_client *client, enum myr_status status, const char *why,
                        const struct myr_nic_name *name, const struct mcp_kernel_seen *seen)
{
    struct myr_kernel_answer words = {.magic = MYR_KERNEL_MAGIC, .status = status};
    if (NULL != name) {
        words.nic = *name;
        words.number = client->number;
    }
    if (NULL != seen) {
        words.line = seen->line;
    }
    snprintf(words.why, sizeof(words.why), "%s", why);
    const int maps[] = {NULL == seen ? -1 : seen->page, NULL == seen ? -1 : seen->buffer};
    const uint32_t count = (maps[0] >= 0) + (maps[1] >= 0);
    (void)myr_talk_send(client->visitor.connection, &words, sizeof(words), maps, count,
                        MSG_DONTWAIT);
}

void myrd_client_end_meeting(struct myrd_clients *clients, struct myrd_client *client)
{
    if (NULL != client->meeting) {
        myrd_meetings_leave(clients->meetings, client->meeting, os_now_ms());
        client->meeting = NULL;
    }
}

/* ---- absent clients ---- */

static void forget_absent(struct myrd_clients *clients, uint32_t number)
{
    close(clients->absent[number].process);
    clients->absent[number] = clients->absent[--clients->absent_count];
}

/* Returns the time when the process was started, or 0 if it is unknown, for example because /proc
 * hides processes of other users. The clock is the same as for holders (kernel_holders.h). The
 * start time is the 20th field after the command, which is in parentheses (proc(5)). */
static uint64_t began_at_ns(pid_t pid)
{
    char path[40], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t bytes = NULL == file ? 0 : fread(text, 1, sizeof(text) - 1, file);
    if (NULL != file) {
        (void)fclose(file);
    }
    text[bytes] = '\0';
    const char *at = strrchr(text, ')');
    for (int word = 0; NULL != at && word < 20; ++word) {
        at = strchr(at + 1, ' ');
    }
    const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return NULL == at ? 0 : strtoull(at, NULL, 10) * (UINT64_C(1000000000) / per_second);
}

/* Returns a pidfd of the holder's process, or -1 if the process has ended. */
static int find_process(const struct mcp_kernel_holder *holder)
{
    const pid_t pid = myrd_holder_pid(holder->number);
    const int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process >= 0 && began_at_ns(pid) > holder->since_ns) {
        close(process); /* the PID has been reused */
        return -1;
    }
    return process;
}

void myrd_clients_recall(struct myrd_clients *clients)
{
    for (uint32_t h = 0; h < MCP_KERNEL_HOLDERS; ++h) {
        const struct mcp_kernel_holder *holder = myrd_groups_holder(clients->groups, h);
        if (NULL == holder) {
            continue;
        }
        const struct myrd_absent absent = {holder->number, holder->uid, find_process(holder)};
        if (myrd_holder_serial(absent.number) > clients->ever) {
            clients->ever = myrd_holder_serial(absent.number);
        }
        if (absent.process < 0) {
            myrd_groups_reap(clients->groups, absent.number);
        } else {
            clients->absent[clients->absent_count++] = absent;
        }
    }
    myrd_groups_close_unheld(clients->groups);
}

/* Verifies the claim of a client that the previous daemon knew it by `number`. Comparing uid and
 * PID is sufficient, because no other process can have that PID while the process of the absent
 * client lives. */
bool myrd_clients_return(struct myrd_clients *clients, struct myrd_client *client, uint64_t number)
{
    uint32_t a = 0;
    while (a < clients->absent_count && number != clients->absent[a].number) {
        ++a;
    }
    if (a == clients->absent_count || client->visitor.uid != clients->absent[a].uid ||
        client->visitor.pid != myrd_holder_pid(number)) {
        return false;
    }
    /* A client that has reconnected gets back its old number. Groups that it has opened under its
     * new number are reaped; a well-behaved client has not opened any on this connection yet. */
    myrd_groups_reap(clients->groups, client->number);
    client->number = number;
    forget_absent(clients, a);
    return true;
}

/* ---- leaving ---- */

/* Returns whether the client has left a reply unread. This is never the case if a client reads each
 * reply before it sends the next request. */
static bool leaves_unread(const struct myrd_client *client)
{
    int bytes = 0;
    return 0 == ioctl(client->visitor.connection, SIOCOUTQ, &bytes) && bytes > 0;
}

static void forget_client(struct myrd_clients *clients, uint32_t number)
{
    struct myrd_client *client = &clients->client[number];
    myrd_users_go(clients->users, client->visitor.uid);
    myrd_visitor_leave(&client->visitor);
    *client = clients->client[--clients->count];
}

/* Removes a client. If it has left replies unread, they still occupy memory, because data in a
 * socket cannot be revoked. Such a client is counted as a connection until the replies have been
 * read or the client has closed its end. */
static void reap_client(struct myrd_clients *clients, uint32_t number)
{
    struct myrd_client *client = &clients->client[number];
    myrd_groups_reap(clients->groups, client->number);
    myrd_client_end_meeting(clients, client);
    if (!leaves_unread(client)) {
        forget_client(clients, number);
        return;
    }
    client->left = true;
    (void)shutdown(client->visitor.connection, SHUT_WR);
    if (client->visitor.process >= 0) {
        close(client->visitor.process);
        client->visitor.process = -1;
    }
}

/* Removes dead clients whose unread replies have been read meanwhile. This is necessary only when
 * there is no capacity for another client, and is done at most once per iteration of the event
 * loop. */
static void sweep_clients(struct myrd_clients *clients)
{
    if (clients->swept == clients->users->iteration) {
        return;
    }
    clients->swept = clients->users->iteration;
    for (uint32_t c = clients->count; c > 0; --c) {
        if (clients->client[c - 1].left && !leaves_unread(&clients->client[c - 1])) {
            forget_client(clients, c - 1);
        }
    }
}

void myrd_clients_close(struct myrd_clients *clients)
{
    while (clients->absent_count > 0) {
        forget_absent(clients, clients->absent_count - 1);
    }
    while (clients->count > 0) {
        --clients->count;
        myrd_client_end_meeting(clients, &clients->client[clients->count]);
        myrd_visitor_leave(&clients->client[clients->count].visitor);
    }
}

/* ---- connecting ---- */

/*
 * Returns the network namespace in which a socket was created, or 0 if it is unknown.
 *
 * The accepted end of a Unix connection belongs to the network namespace of the process that
 * connected (net/unix creates it there), even if this process is in another PID namespace. Its
 * cookie therefore identifies the client's network namespace. /proc/PID/ns/net would show it as
 * well, but reading this file requires permission to trace the client. */
static uint64_t network_of(int socket)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);
    (void)getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &bytes);
    return cookie;
}

void myrd_clients_belong(struct myrd_clients *clients, int socket)
{
    clients->network = network_of(socket);
}

/* The limit of descriptors is raised because without a free descriptor the daemon could not even
 * refuse clients. */
void myrd_clients_allow(struct myrd_clients *clients)
{
    struct rlimit limit = {.rlim_cur = 0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t others = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + DESCRIPTORS_OTHER;
    const rlim_t most =
        limit.rlim_max > others ? (limit.rlim_max - others) / MYRD_CLIENTS_WATCHED : 0;
    clients->most = most < MYRD_CLIENTS_MOST ? (uint32_t)most : MYRD_CLIENTS_MOST;
}

static bool has_room_now(const struct myrd_clients *clients, uid_t uid, bool comes_in)
{
    const uint32_t own = myrd_users_connections(clients->users, uid);
    return myrd_share_allows(clients->most, clients->count - own, own, comes_in ? uid : NOT_ROOT);
}

/* Returns whether there is capacity for another client or for the reply that refuses it. Refusals
 * are limited as well; otherwise the root user of a container, who is always refused, could use up
 * the whole capacity. */
static bool has_room_for(struct myrd_clients *clients, uid_t uid, bool comes_in)
{
    if (!has_room_now(clients, uid, comes_in)) {
        sweep_clients(clients);
    }
    return has_room_now(clients, uid, comes_in);
}

static void log_refusal(struct myrd_clients *clients, const struct myrd_visitor *visitor,
                        const char *why)
{
    myrd_log_refusal(visitor, why, ++clients->refused);
}

/*
 * Accepts or refuses the next client. Returns false if none is waiting. The reply that refuses a
 * client occupies memory of the daemon, so a refused client counts as a connection until it has
 * read the reply. If the user has no capacity left even for this, the connection is closed without
 * a reply; the client recognises this (kernel_nic.c). */
static bool accept_client(struct myrd_clients *clients)
{
    struct myrd_client client = {.number = 0};
    const char *why;
    if (!myrd_listener_accept(clients->listener, &client.visitor, &why)) {
        return false;
    }
    client.number = myrd_holder_number(++clients->ever, client.visitor.pid);
    if (NULL == why && clients->network != network_of(client.visitor.connection)) {
        why = "myrd refuses: the process is in another network namespace (container), which this "
              "NIC does not serve";
    }
    const bool kept = !myrd_listener_short(clients->listener) &&
                      has_room_for(clients, client.visitor.uid, NULL == why);
    if (NULL != why || !kept) {
        log_refusal(clients, &client.visitor,
                    NULL != why ? why : "refuses: it has its maximum number of clients already");
    }
    if (!kept) {
        myrd_visitor_leave(&client.visitor);
        return true;
    }
    myrd_users_come(clients->users, client.visitor.uid);
    clients->client[clients->count++] = client;
    if (NULL != why) {
        myrd_client_answer(&client, MYR_ERR_SYSTEM, why, NULL, NULL);
        reap_client(clients, clients->count - 1);
    }
    return true;
}

void myrd_clients_accept(struct myrd_clients *clients)
{
    const uint64_t begin_us = os_now_us();
    while (os_now_us() - begin_us < MYRD_USERS_ITERATION_US && accept_client(clients)) {
    }
}

/* ---- requests ---- */

/* Processes a request, or the end of the connection. Returns false if there is neither. */
static bool receive_question(struct myrd_clients *clients, uint32_t number)
{
    struct myrd_client *client = &clients->client[number];
    struct myr_kernel_question question;
    const ssize_t bytes =
        recv(client->visitor.connection, &question, sizeof(question), MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (EAGAIN == errno || EINTR == errno)) {
        return false;
    }
    const bool known = sizeof(question) == bytes && MYR_KERNEL_MAGIC == question.magic;
    const bool unanswered = known && MYR_KERNEL_CLOSE == question.ask;
    if (bytes <= 0 || (!unanswered && leaves_unread(client))) {
        reap_client(clients, number);
    } else if (!known || !clients->attend(clients->context, client, &question)) {
        static const char why[] = "myrd --kernel is of another version of nicbarr";
        myrd_client_answer(client, MYR_ERR_FOREIGN, why, NULL, NULL);
        log_refusal(clients, &client->visitor, why);
        reap_client(clients, number);
    }
    return true;
}

/* Returns the index of a client's descriptors in the poll set. */
static size_t poll_index(uint32_t number)
{
    return (size_t)MYRD_CLIENTS_WATCHED * number;
}

uint32_t myrd_clients_watch(const struct myrd_clients *clients, struct pollfd *watched)
{
    for (uint32_t c = 0; c < clients->count; ++c) {
        const struct myrd_client *client = &clients->client[c];
        struct pollfd *of = &watched[poll_index(c)];
        const short events = NULL == client->meeting ? POLLIN : 0;
        const int connection = client->left ? -1 : client->visitor.connection;
        of[0] = (struct pollfd){.fd = connection, .events = events};
        of[1] = (struct pollfd){.fd = client->visitor.process, .events = POLLIN};
    }
    const uint32_t before = MYRD_CLIENTS_WATCHED * clients->count;
    for (uint32_t a = 0; a < clients->absent_count; ++a) {
        watched[before + a] = (struct pollfd){.fd = clients->absent[a].process, .events = POLLIN};
    }
    return before + clients->absent_count;
}

/* Serves one client. Pending requests of a process that has ended are processed first, because they
 * may close its groups. */
static void serve_one(struct myrd_clients *clients, uint32_t number, const struct pollfd *of)
{
    const struct myrd_client *client = &clients->client[number];
    const bool ended = 0 != (of[0].revents & (POLLHUP | POLLERR)) || 0 != of[1].revents;
    const bool hears = NULL == client->meeting && (ended || 0 != of[0].revents);
    const uid_t uid = client->visitor.uid;
    if ((!ended && !hears) || myrd_users_had_time(clients->users, uid)) {
        return;
    }
    const uint64_t begin_us = os_now_us();
    if (!(hears && receive_question(clients, number)) && ended) {
        reap_client(clients, number);
    }
    myrd_users_took(clients->users, uid, os_now_us() - begin_us);
}

/* Reaps absent clients whose process has ended. Called before other clients are served, because a
 * client that reconnects changes the table. */
static void reap_absent(struct myrd_clients *clients, const struct pollfd *watched)
{
    for (uint32_t a = clients->absent_count; a > 0; --a) {
        if (0 != watched[a - 1].revents) {
            myrd_groups_reap(clients->groups, clients->absent[a - 1].number);
            forget_absent(clients, a - 1);
        }
    }
}

/* A user's service time may be used up before all clients of this user have been served, so each
 * iteration of the event loop starts with another client.
 *
 * Clients are served in descending order of their indices. When a client is removed, the last
 * client takes its index, and must not be served for the events of the removed client. If it was
 * thereby moved below `first`, it is served in the next iteration of the event loop. */
void myrd_clients_serve(struct myrd_clients *clients, const struct pollfd *watched)
{
    reap_absent(clients, &watched[poll_index(clients->count)]);
    const uint32_t first = 0 == clients->count ? 0 : clients->users->iteration % clients->count + 1;
    for (uint32_t c = first; c > 0; --c) {
        serve_one(clients, c - 1, &watched[poll_index(c - 1)]);
    }
    for (uint32_t c = clients->count; c > first; --c) {
        serve_one(clients, c - 1, &watched[poll_index(c - 1)]);
    }
}
