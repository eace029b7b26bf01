/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd --kernel, the daemon that owns the kernel NIC; see owner.h. It creates the NIC, serves
 * clients (kernel_clients.h), replies to other hosts, and handles kernel events. Its single thread
 * never blocks on any of them. While the hardware addresses of a group's peers are being resolved,
 * the client that opens the group waits in a meeting (kernel_meeting.h).
 *
 * Invariants: no client is trusted, and each request is validated (kernel_plan.h). In each
 * iteration of the event loop, a bounded time is spent on clients, on meetings and on other
 * hosts. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/unix_talk.h"
#include "myrd/accounts.h"
#include "myrd/filter.h"
#include "myrd/kernel_clients.h"
#include "myrd/kernel_groups.h"
#include "myrd/kernel_guard.h"
#include "myrd/kernel_hosts.h"
#include "myrd/kernel_interface.h"
#include "myrd/kernel_meeting.h"
#include "myrd/kernel_plan.h"
#include "myrd/log.h"
#include "myrd/owner.h"
#include "myrd/listener.h"
#include "myrd/rights.h"
#include "myrd/users.h"
#include "os/clock.h"
#include "os/random.h"

enum {
    FIXED = 5, /* polled in addition to the clients: end, listening socket, NIC, NIC's port,
                  interface */
    PORT_USUAL = 7077,
    MEETINGS_PER_ITERATION = 8, /* meetings advanced per iteration, for fairness */
    ANSWERS_PER_ITERATION = 32, /* messages of other hosts processed per iteration, for fairness */
};

struct myrd_kernel_server {
    struct myrd_listener listener;
    struct myrd_hosts hosts; /* its socket reserves the NIC's UDP port */
    struct myrd_interface interface;
    struct myr_nic_name name;
    struct mcp_kernel *kernel;
    int guard;                    /* descriptor of the guard of the filters */
    char warning[MCP_KERNEL_WHY]; /* the reason why the NIC is not kept, or was not taken over; else
                                  empty */
    struct myrd_groups *groups;
    struct myrd_meetings meetings;
    struct myrd_users users;
    struct myrd_clients clients;
    struct pollfd watched[FIXED + MYRD_CLIENTS_POLLED];
};

/* ---- requests ---- */

static void open_group(struct myrd_kernel_server *server, const struct myrd_client *client,
                       const struct mcp_kernel_plan *plan)
{
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const enum myr_status status =
        myrd_groups_open(server->groups, plan, client->number, &seen, &error);
    myrd_client_answer(client, status, error.text, NULL, MYR_OK == status ? &seen : NULL);
}

/* Advances a meeting. At its end, opens the group for all clients that wait for it. */
static void advance_meeting(struct myrd_kernel_server *server, struct myrd_meeting *meeting,
                            uint64_t now)
{
    struct myr_error error;
    enum myr_status status = MYR_OK;
    if (!myrd_meeting_go_on(meeting, server->kernel, &server->hosts, now, &status, &error)) {
        return;
    }
    for (uint32_t c = 0, left = meeting->clients; left > 0; ++c) {
        struct myrd_client *client = &server->clients.client[c];
        if (meeting != client->meeting) {
            continue;
        }
        if (MYR_OK == status) {
            open_group(server, client, &meeting->plan);
        } else {
            myrd_client_answer(client, status, error.text, NULL, NULL);
        }
        myrd_client_end_meeting(&server->clients, client);
        --left;
    }
}

static void request_open(struct myrd_kernel_server *server, struct myrd_client *client,
                         const struct myr_kernel_question *question)
{
    struct mcp_kernel_plan plan;
    struct myr_error error;
    enum myr_status status =
        myrd_kernel_plan(question, client->visitor.uid, &server->name, &plan, &error);
    if (MYR_OK == status) {
        status = myrd_kernel_plan_fits(&plan, &server->name, server->interface.mtu, &error);
    }
    if (MYR_OK != status) {
        myrd_client_answer(client, status, error.text, NULL, NULL);
        return;
    }
    if (myrd_groups_know(server->groups, plan.key)) {
        open_group(server, client, &plan);
        return;
    }
    client->meeting = myrd_meetings_join(&server->meetings, &plan, os_now_ms());
    if (NULL == client->meeting) {
        myrd_client_answer(client, MYR_ERR_OUT_OF_MEMORY, "myrd is out of memory", NULL, NULL);
    }
}

static void send_report(const struct myrd_kernel_server *server, const struct myrd_client *client)
{
    static struct myr_kernel_report words; /* too large for the stack; there is one thread */
    memset(&words, 0, sizeof(words));      /* must not disclose other users' data */
    words.magic = MYR_KERNEL_MAGIC;
    words.nic = server->name;
    words.pid = (uint32_t)getpid();
    snprintf(words.interface, sizeof(words.interface), "%s", server->interface.name);
    words.refused = server->clients.refused;
    mcp_kernel_count(server->kernel, &words.counters);
    myrd_groups_report(server->groups, client->visitor.uid, &words);
    (void)myr_talk_send(client->visitor.connection, &words, myr_kernel_report_bytes(words.groups),
                        NULL, 0, MSG_DONTWAIT);
}

static void list_missing(const struct myrd_kernel_server *server, const struct myrd_client *client,
                         uint64_t key)
{
    struct myr_kernel_missing words = {.magic = MYR_KERNEL_MAGIC};
    words.count = myrd_groups_missing(server->groups, key, client->number, words.node);
    (void)myr_talk_send(client->visitor.connection, &words, sizeof(words), NULL, 0, MSG_DONTWAIT);
}

/* Replies to a client that claims that it was a client of the previous daemon, or that it held a
 * certain group there. `known` is false if the claim is wrong. */
static void answer_return(const struct myrd_client *client, bool known)
{
    myrd_client_answer(
        client, known ? MYR_OK : MYR_ERR_GONE,
        known ? "" : "this myrd --kernel has not taken over the state of the previous one", NULL,
        NULL);
}

/* Processes a client's request. Returns false if it is malformed or of another version. */
static bool process_request(void *serving, struct myrd_client *client,
                            const struct myr_kernel_question *question)
{
    struct myrd_kernel_server *server = serving;
    switch (question->ask) {
    case MYR_KERNEL_HELLO:
        myrd_client_answer(client, MYR_OK, "", &server->name, NULL);
        return true;
    case MYR_KERNEL_OPEN:
        request_open(server, client, question);
        return true;
    case MYR_KERNEL_CLOSE:
        (void)myrd_groups_leave(server->groups, question->key, client->number);
        return true;
    case MYR_KERNEL_STATUS:
        send_report(server, client);
        return true;
    case MYR_KERNEL_MISSING:
        list_missing(server, client, question->key);
        return true;
    case MYR_KERNEL_RETURN:
        answer_return(client, myrd_clients_return(&server->clients, client, question->key));
        return true;
    case MYR_KERNEL_HOLD:
        answer_return(client, myrd_groups_hold_on(server->groups, question->key, client->number));
        return true;
    case MYR_KERNEL_SETTLE:
        myrd_groups_settle(server->groups, client->number, question->key);
        return true;
    default:
        return false;
    }
}

/* ---- start-up ---- */

static enum myr_status find_address(struct myrd_kernel_server *server, const char *network,
                                    uint16_t port, struct myr_error *error)
{
    struct mcp_local_address addresses[MYR_NIC_ADDRESSES];
    const bool any = NULL == network || '\0' == *network;
    const uint32_t count = mcp_local_addresses(network, addresses, MYR_NIC_ADDRESSES);
    if (0 == count) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "there is no interface to attach to (%s%s): give --network",
                        any ? "no interface but loopback has an address that others can reach"
                            : "no address of this machine is in ",
                        any ? "" : network);
    }
    if (!os_draw_key(&server->name.key, sizeof(server->name.key))) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot get random numbers for the NIC's key");
    }
    server->name.count = 1;
    server->name.address[0].ip = addresses[0].ip;
    server->name.address[0].prefix = addresses[0].prefix;
    server->name.address[0].port = htons(0 == port ? PORT_USUAL : port);
    return MYR_OK;
}

/* Binds the NIC's UDP port, which reserves it. Packets for the NIC are intercepted; messages of
 * other daemons reach the socket. */
static enum myr_status bind_port(struct myrd_kernel_server *server, struct myr_error *error)
{
    const struct mcp_ip *ip = &server->name.address[0].ip;
    const struct mcp_address address = mcp_address_of(ip, server->name.address[0].port);
    server->hosts.port = server->name.address[0].port;
    server->hosts.socket = socket(address.at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (server->hosts.socket < 0 || !myrd_hosts_filter(server->hosts.socket)) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot open a socket for the NIC's UDP port");
    }
    if (bind(server->hosts.socket, &address.at.any, mcp_address_bytes(&address)) < 0) {
        return EADDRNOTAVAIL == errno
                   ? myr_fail(error, MYR_ERR_SYSTEM, errno,
                              "the NIC's address cannot be used yet (a new IPv6 address takes a "
                              "second or two: try again)")
                   : myr_fail(error, MYR_ERR_SYSTEM, errno,
                              "cannot bind UDP port %u (choose another with --port)",
                              (unsigned)ntohs(server->hosts.port));
    }
    myrd_clients_belong(&server->clients, server->hosts.socket);
    return MYR_OK;
}

static enum myr_status listen_there(struct myrd_kernel_server *server, const char *path,
                                    struct myr_error *error)
{
    const char *given = NULL == path ? getenv("NICBARR_KERNEL_SOCKET") : path;
    if (NULL == given || '\0' == *given) {
        given = MYR_KERNEL_SOCKET;
        const enum myr_status status = myrd_listener_make_directory(given, 0755, error);
        if (MYR_OK != status) {
            return status;
        }
    }
    return myrd_listener_open(&server->listener, given, 0666, error);
}

static void close_server(void *serving)
{
    struct myrd_kernel_server *server = serving;
    myrd_listener_hide(&server->listener);
    myrd_clients_close(&server->clients);
    if (NULL != server->groups) {
        myrd_groups_free(server->groups);
    }
    myrd_guard_end(server->guard);
    if (NULL != server->kernel) {
        mcp_kernel_close(server->kernel);
    }
    if (server->hosts.socket >= 0) {
        close(server->hosts.socket);
    }
    if (server->interface.socket >= 0) {
        close(server->interface.socket);
    }
    myrd_listener_close(&server->listener);
    free(server);
}

/* Lists in `text` the capabilities that are needed for loading and that this process lacks. Returns
 * whether there are any. */
static bool lacks_rights(char *text, size_t bytes)
{
    static const struct {
        int capability;
        const char *name;
    } needed[] = {
        {CAP_BPF, "CAP_BPF"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_PERFMON, "CAP_PERFMON"}};
    size_t length = 0;
    for (size_t n = 0; n < sizeof(needed) / sizeof(needed[0]); ++n) {
        if (!myrd_rights_has(needed[n].capability) && length < bytes) {
            length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                       0 == length ? "" : ", ", needed[n].name);
        }
    }
    return 0 != length;
}

/* Loads the NIC's programs. With --check, the NIC is neither kept nor taken over from another
 * daemon. */
static enum myr_status load_kernel_nic(struct myrd_kernel_server *server, bool keep,
                                       struct myr_error *error)
{
    char why[MCP_KERNEL_WHY], missing[MCP_KERNEL_WHY], warning[MCP_KERNEL_WHY] = "";
    const struct mcp_ip *ip = &server->name.address[0].ip;
    const uint16_t port = server->name.address[0].port;
    if (0 == (keep ? mcp_kernel_load_kept(ip, port, &server->kernel, warning, why)
                   : mcp_kernel_load(ip, port, &server->kernel, why))) {
        snprintf(server->warning, sizeof(server->warning), "%s", warning);
        mcp_kernel_keep_key(server->kernel, &server->name.key);
        mcp_kernel_count_by(server->kernel, myrd_account);
        return MYR_OK;
    }
    return lacks_rights(missing, sizeof(missing))
               ? myr_fail(error, MYR_ERR_SYSTEM, 0,
                          "no permission to load BPF programs, for lack of %s (run it as root; "
                          "start a container with --cap-add for each)",
                          missing)
               : myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
}

/* Updates the name of the interface, because it may have been renamed since. */
static void follow_name(struct myrd_kernel_server *server)
{
    mcp_kernel_rename(server->kernel, server->interface.name);
}

static enum myr_status attach_nic(struct myrd_kernel_server *server, struct myr_error *error)
{
    char why[MCP_KERNEL_WHY];
    enum myr_status status =
        myrd_interface_open(&server->interface, mcp_kernel_interface(server->kernel),
                            &server->name.address[0].ip, error);
    if (MYR_OK != status) {
        return status;
    }
    follow_name(server);
    if (mcp_kernel_attach(server->kernel, why) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
    }
    status =
        myrd_guard_start(mcp_kernel_hooks(server->kernel),
                         mcp_pins_there(mcp_kernel_pins(server->kernel)), &server->guard, error);
    if (MYR_OK != status) {
        return status;
    }
    server->groups = myrd_groups_make(server->kernel, &server->users);
    server->clients.groups = server->groups;
    if (NULL == server->groups) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    myrd_clients_recall(&server->clients);
    return MYR_OK;
}

/* Creates the server. The program is loaded before any files are created, so that a caller who
 * lacks the necessary privileges gets an error about these, and not about a directory. The caller
 * must close `*begun` even on failure, unless it is NULL. */
static enum myr_status make_server(const struct myrd_options *options, bool keep,
                                   struct myrd_kernel_server **begun, struct myr_error *error)
{
    struct myrd_kernel_server *server = *begun = calloc(1, sizeof(*server));
    if (NULL == server) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    server->listener.lock = server->listener.listening = -1;
    server->listener.dir = server->listener.spare = -1;
    server->hosts.socket = server->interface.socket = server->guard = -1;
    server->clients.listener = &server->listener;
    server->clients.users = &server->users;
    server->clients.meetings = &server->meetings;
    server->clients.attend = process_request;
    server->clients.context = server;
    myrd_clients_allow(&server->clients);
    myrd_accounts_read(MYRD_ACCOUNTS_TABLE);
    const enum myr_status status =
        find_address(server, options->nic.network, options->nic.port, error);
    return MYR_OK == status ? load_kernel_nic(server, keep, error) : status;
}

static enum myr_status check_kernel_nic(const struct myrd_options *options, struct myr_error *error)
{
    struct myrd_kernel_server *server;
    const enum myr_status status = make_server(options, false, &server, error);
    if (NULL != server) {
        close_server(server);
    }
    return status;
}

static enum myr_status open_server(const struct myrd_options *options, void **serving,
                                   struct myr_error *error)
{
    struct myrd_kernel_server *server;
    enum myr_status status = make_server(options, true, &server, error);
    if (MYR_OK == status) {
        status = listen_there(server, options->socket, error);
    }
    if (MYR_OK == status) {
        status = bind_port(server, error);
    }
    if (MYR_OK == status) {
        status = attach_nic(server, error);
    }
    if (MYR_OK != status) {
        if (NULL != server) {
            close_server(server);
        }
        return status;
    }
    *serving = server;
    return MYR_OK;
}

/* The root directory is changed first, because this requires capabilities. The filter is installed
 * last, because it forbids the system calls of the other two steps. */
static enum myr_status confine_server(void *serving, struct myr_error *error)
{
    struct myrd_kernel_server *server = serving;
    struct mcp_pins *pins = mcp_kernel_pins(server->kernel);
    bool left;
    enum myr_status status = myrd_rights_leave_files(pins->dir, &left, error);
    if (left && mcp_pins_there(pins)) {
        mcp_pins_are_root(pins);
    }
    if (MYR_OK == status) {
        /* The daemon keeps CAP_BPF to create pages, which are BPF maps. It no longer needs
         * CAP_PERFMON and CAP_NET_ADMIN, which loading and attaching programs required. Detaching
         * the programs may require CAP_NET_ADMIN again, which the guard has kept for this purpose
         * (kernel_guard.h). */
        status = myrd_rights_keep(UINT64_C(1) << CAP_BPF, error);
    }
    return MYR_OK == status ? myrd_filter(MYRD_FILTER_KERNEL, error) : status;
}

/* ---- the main loop ---- */

/* Fills in the poll set. Returns the number of descriptors. */
static uint32_t watch_all(struct myrd_kernel_server *server, int end)
{
    server->watched[0] = (struct pollfd){.fd = end, .events = POLLIN};
    server->watched[1] = (struct pollfd){.fd = server->listener.listening,
                                         .events = myrd_listener_events(&server->listener)};
    server->watched[2] = (struct pollfd){.fd = mcp_kernel_watch(server->kernel), .events = POLLIN};
    server->watched[3] = (struct pollfd){.fd = server->hosts.socket, .events = POLLIN};
    server->watched[4] = (struct pollfd){.fd = server->interface.socket, .events = POLLIN};
    return FIXED + myrd_clients_watch(&server->clients, &server->watched[FIXED]);
}

/* Processes messages of other hosts, and advances the meetings that wait for them. */
static void receive_hosts(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    struct mcp_ip ip;
    uint64_t number;
    for (int h = 0; h < ANSWERS_PER_ITERATION && myrd_hosts_receive(&server->hosts, &ip, &number);
         ++h) {
        for (struct myrd_meeting *m = server->meetings.first; NULL != m; m = m->next) {
            if (myrd_meeting_receive(m, &ip, number, now)) {
                myrd_hosts_believe(&server->hosts, &ip, now);
            }
        }
    }
}

/* Advances a bounded number of meetings. A meeting that was served is moved to the end of the
 * queue. */
static void advance_meetings(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    for (int m = 0; m < MEETINGS_PER_ITERATION; ++m) {
        struct myrd_meeting *meeting = myrd_meetings_next(&server->meetings, &server->users);
        if (NULL == meeting || meeting->next_at_ms > now) {
            return;
        }
        const uid_t uid = meeting->plan.uid;
        const uint64_t begin_us = os_now_us();
        advance_meeting(server, meeting, now);
        myrd_users_took(&server->users, uid, os_now_us() - begin_us);
    }
}

static void poll_groups(struct myrd_kernel_server *server)
{
    const uint64_t begin_ns = os_thread_ns();
    if (myrd_groups_poll(server->groups, os_now_ms())) {
        myrd_groups_took(server->groups, os_thread_ns() - begin_ns);
    }
}

/* Tracks changes of the interface, such as a new name. Returns an error if the NIC cannot stay
 * there. */
static enum myr_status follow_interface(struct myrd_kernel_server *server, struct myr_error *error)
{
    const uint64_t now = os_now_ms();
    if (0 != server->watched[4].revents) {
        char before[IF_NAMESIZE];
        memcpy(before, server->interface.name, sizeof(before));
        myrd_interface_receive(&server->interface, now);
        follow_name(server);
        if (0 != strcmp(before, server->interface.name)) {
            myrd_log(MYRD_NOTICE, "interface %s was renamed to %s", before, server->interface.name);
        }
    }
    return myrd_interface_judge(&server->interface, now, error);
}

/* Returns the earlier of two timeouts, where -1 means never. */
static int earlier_timeout(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Returns the timeout of poll(). To be called at the beginning of an iteration, when all users have
 * time left. */
static int poll_timeout(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    const int due = earlier_timeout(myrd_groups_timeout(server->groups, now),
                                    myrd_interface_timeout(&server->interface, now));
    const struct myrd_meeting *next = myrd_meetings_next(&server->meetings, &server->users);
    if (NULL == next) {
        return myrd_listener_timeout(&server->listener, due);
    }
    const uint64_t at = next->next_at_ms;
    const int meeting = at <= now ? 0 : (int)(at - now);
    return myrd_listener_timeout(&server->listener, earlier_timeout(meeting, due));
}

static enum myr_status run_server(void *serving, int end, struct myr_error *error)
{
    struct myrd_kernel_server *server = serving;
    char what[100];
    snprintf(what, sizeof(what), "serves as the kernel NIC on interface %s",
             server->interface.name);
    myrd_log_serves(what, &server->name, &server->listener);
    if ('\0' != server->warning[0]) {
        myrd_log(MYRD_NOTICE, "%s", server->warning);
    }
    for (;;) {
        myrd_users_begin_iteration(&server->users);
        const uint32_t watched = watch_all(server, end);
        if (poll(server->watched, watched, poll_timeout(server)) < 0) {
            if (EINTR == errno) {
                continue;
            }
            return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot wait for clients");
        }
        if (0 != server->watched[0].revents) {
            return MYR_OK;
        }
        const enum myr_status status = follow_interface(server, error);
        if (MYR_OK != status) {
            return status;
        }
        myrd_clients_serve(&server->clients, &server->watched[FIXED]);
        if (0 != server->watched[3].revents) {
            receive_hosts(server);
        }
        advance_meetings(server);
        if (0 != server->watched[2].revents) {
            myrd_groups_receive(server->groups, os_now_ms());
        }
        poll_groups(server);
        if (0 != server->watched[1].revents) {
            myrd_clients_accept(&server->clients);
        }
    }
}

const struct myrd_owner myrd_kernel_owner = {
    .name = "kernel",
    .letter = 'k',
    .help = "Use the kernel as the NIC, for all users of this host (requires root)",
    .check = check_kernel_nic,
    .open = open_server,
    .confine = confine_server,
    .run = run_server,
    .close = close_server,
};
