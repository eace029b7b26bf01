/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd --kernel, the owner of the kernel's NIC; see owner.h. It is one thread, and nobody can hold
 * it up: it sends and receives without waiting. A client whose peers' hardware addresses are not
 * known yet waits apart.
 *
 * Clients are processes of any user. Invariants: no client is trusted. Every question is checked
 * (kernel_plan.h). Limits count per user (share.h, users.h). Each client has at most one question
 * under way. A client that goes without closing its groups has died, and they fail
 * (kernel_groups.h). So has one that asks on with an answer unread. What is unread is the daemon's
 * memory, and counts as a connection as long as it is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"
#include "libmyr/kernel_words.h"
#include "libmyr/unix_talk.h"
#include "myrd/filter.h"
#include "myrd/kernel_groups.h"
#include "myrd/kernel_hosts.h"
#include "myrd/kernel_interface.h"
#include "myrd/kernel_meeting.h"
#include "myrd/kernel_plan.h"
#include "myrd/owner.h"
#include "myrd/place.h"
#include "myrd/rights.h"
#include "myrd/share.h"
#include "myrd/users.h"
#include "os/clock.h"
#include "os/random.h"

enum {
    CLIENTS_MOST = MYRD_USERS_MOST,
    FIXED = 5, /* descriptors watched besides the clients': the end, the listening socket, the NIC,
                  the NIC's port, what becomes of its interface */
    OF_EACH = 2,
    DESCRIPTORS_OTHER = 96, /* descriptors of neither clients nor pages: the NIC's, and so on */
    PORT_USUAL = 7077,
    MEETINGS_A_TURN = 8, /* at the most so many go on before all else has its turn */
    ANSWERS_A_TURN = 32, /* of other hosts, the same */
    NOT_ROOT = 65534,    /* any other user */
};

struct client {
    struct myrd_visitor visitor;
    uint64_t number;              /* none of the others ever has it */
    bool left;                    /* it is dead to us; there only is what it has not read */
    struct myrd_meeting *meeting; /* that it waits for before its group is opened; NULL: none */
};

struct myrd_kernel_server {
    struct myrd_place place;
    struct myrd_hosts hosts; /* its socket keeps the NIC's port for it */
    struct myrd_interface interface;
    uint64_t network; /* the cookie of our network namespace */
    struct myr_nic_name name;
    struct mcp_kernel *kernel;
    struct myrd_groups *groups;
    uint64_t clients_ever, refused;
    struct myrd_meetings meetings;
    struct myrd_users users;
    uint32_t count, most;
    uint32_t swept; /* the last turn in which room was made */
    struct client client[CLIENTS_MOST];
    struct pollfd watched[FIXED + OF_EACH * CLIENTS_MOST];
};

/* ---- clients come and go ---- */

static void answer(const struct client *client, enum myr_status status, const char *why,
                   const struct myr_nic_name *name, const struct mcp_kernel_seen *seen)
{
    struct myr_kernel_answer words = {.magic = MYR_KERNEL_MAGIC, .status = status};
    if (NULL != name) {
        words.nic = *name;
    }
    if (NULL != seen) {
        words.line = seen->line;
    }
    snprintf(words.why, sizeof(words.why), "%s", why);
    (void)myr_talk_send(client->visitor.connection, &words, sizeof(words),
                        NULL == seen ? NULL : &seen->page, NULL == seen ? 0 : 1, MSG_DONTWAIT);
}

static void end_meeting(struct myrd_kernel_server *server, struct client *client)
{
    if (NULL != client->meeting) {
        myrd_meetings_leave(&server->meetings, client->meeting, os_now_ms());
        client->meeting = NULL;
    }
}

/* Has the client left an answer unread? Who reads each answer before it asks again never does. */
static bool leaves_unread(const struct client *client)
{
    int bytes = 0;
    return 0 == ioctl(client->visitor.connection, SIOCOUTQ, &bytes) && bytes > 0;
}

static void forget(struct myrd_kernel_server *server, uint32_t number)
{
    struct client *client = &server->client[number];
    myrd_users_go(&server->users, client->visitor.uid);
    myrd_visitor_leave(&client->visitor);
    *client = server->client[--server->count];
}

/* Nobody can take back what was sent. So whoever has left it unread counts until it is read, or the
 * client's end is closed. */
static void bury(struct myrd_kernel_server *server, uint32_t number)
{
    struct client *client = &server->client[number];
    myrd_groups_bury(server->groups, client->number);
    end_meeting(server, client);
    if (!leaves_unread(client)) {
        forget(server, number);
        return;
    }
    client->left = true;
    (void)shutdown(client->visitor.connection, SHUT_WR);
    if (client->visitor.process >= 0) {
        close(client->visitor.process);
        client->visitor.process = -1;
    }
}

/* Forget those of whom nothing is unread any more. It can be done at any time, and only when
 * somebody wants their place is it needed; but not more than once a turn. */
static void sweep(struct myrd_kernel_server *server)
{
    if (server->swept == server->users.turn) {
        return;
    }
    server->swept = server->users.turn;
    for (uint32_t c = server->count; c > 0; --c) {
        if (server->client[c - 1].left && !leaves_unread(&server->client[c - 1])) {
            forget(server, c - 1);
        }
    }
}

/*
 * The network namespace in which a socket was made; 0 if the kernel does not say.
 *
 * The accepted end of a Unix connection belongs to the namespace of the process that connected
 * (net/unix makes it there). So this tells the client's namespace, even if process numbers mean
 * other processes to the client. /proc/PID/ns/net would tell the same, but only to processes that
 * may trace the client.
 */
static uint64_t network_of(int socket)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);
    (void)getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &bytes);
    return cookie;
}

static bool has_room_now(const struct myrd_kernel_server *server, uid_t uid, bool comes_in)
{
    const uint32_t own = myrd_users_connections(&server->users, uid);
    return myrd_share_allows(server->most, server->count - own, own, comes_in ? uid : NOT_ROOT);
}

/* For one that comes in, or for one that is only told why it does not. (A container's root, which
 * is told so, must not have all the room that there is.) */
static bool has_room_for(struct myrd_kernel_server *server, uid_t uid, bool comes_in)
{
    if (!has_room_now(server, uid, comes_in)) {
        sweep(server);
    }
    return has_room_now(server, uid, comes_in);
}

/*
 * Somebody wants to come in. False: nobody does. A refusal is memory of the daemon's until it is
 * read, so it counts as a connection until then. For whoever has no more room it would be
 * uncounted: that connection is closed without a word, and the client knows what that means
 * (kernel_nic.c).
 */
static bool accept_client(struct myrd_kernel_server *server)
{
    struct client client = {.number = ++server->clients_ever};
    const char *why;
    if (!myrd_place_accept(&server->place, &client.visitor, &why)) {
        return false;
    }
    if (NULL == why && server->network != network_of(client.visitor.connection)) {
        why = "myrd refuses: the process is in another network namespace (container), which this "
              "NIC does not serve";
    }
    const bool kept =
        !myrd_place_short(&server->place) && has_room_for(server, client.visitor.uid, NULL == why);
    server->refused += NULL != why || !kept;
    if (!kept) {
        myrd_visitor_leave(&client.visitor);
        return true;
    }
    myrd_users_come(&server->users, client.visitor.uid);
    server->client[server->count++] = client;
    if (NULL != why) {
        answer(&client, MYR_ERR_SYSTEM, why, NULL, NULL);
        bury(server, server->count - 1);
    }
    return true;
}

/* ---- questions ---- */

static void open_group(struct myrd_kernel_server *server, const struct client *client,
                       const struct mcp_kernel_plan *plan)
{
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const enum myr_status status =
        myrd_groups_open(server->groups, plan, client->number, &seen, &error);
    answer(client, status, error.text, NULL, MYR_OK == status ? &seen : NULL);
}

/* Go on with a meeting. At its end the group is opened for all who wait for it. */
static void meet(struct myrd_kernel_server *server, struct myrd_meeting *meeting, uint64_t now)
{
    struct myr_error error;
    enum myr_status status = MYR_OK;
    if (!myrd_meeting_go_on(meeting, server->kernel, &server->hosts, now, &status, &error)) {
        return;
    }
    for (uint32_t c = 0, left = meeting->clients; left > 0; ++c) {
        struct client *client = &server->client[c];
        if (meeting != client->meeting) {
            continue;
        }
        if (MYR_OK == status) {
            open_group(server, client, &meeting->plan);
        } else {
            answer(client, status, error.text, NULL, NULL);
        }
        end_meeting(server, client);
        --left;
    }
}

static void ask_open(struct myrd_kernel_server *server, struct client *client,
                     const struct myr_kernel_question *question)
{
    struct mcp_kernel_plan plan;
    struct myr_error error;
    const enum myr_status status =
        myrd_kernel_plan(question, client->visitor.uid, &server->name, &plan, &error);
    if (MYR_OK != status) {
        answer(client, status, error.text, NULL, NULL);
        return;
    }
    if (myrd_groups_know(server->groups, plan.key)) {
        open_group(server, client, &plan);
        return;
    }
    client->meeting = myrd_meetings_join(&server->meetings, &plan, os_now_ms());
    if (NULL == client->meeting) {
        answer(client, MYR_ERR_OUT_OF_MEMORY, "myrd is out of memory", NULL, NULL);
    }
}

static void report(const struct myrd_kernel_server *server, const struct client *client)
{
    struct myr_kernel_report words = {.magic = MYR_KERNEL_MAGIC, .nic = server->name};
    words.pid = (uint32_t)getpid();
    snprintf(words.interface, sizeof(words.interface), "%s", server->interface.name);
    words.refused = server->refused;
    mcp_kernel_count(server->kernel, &words.counters);
    myrd_groups_report(server->groups, client->visitor.uid, &words);
    (void)myr_talk_send(client->visitor.connection, &words, myr_kernel_report_bytes(words.groups),
                        NULL, 0, MSG_DONTWAIT);
}

static void list_missing(const struct myrd_kernel_server *server, const struct client *client,
                         uint64_t key)
{
    struct myr_kernel_missing words = {.magic = MYR_KERNEL_MAGIC};
    words.count = myrd_groups_missing(server->groups, key, client->number, words.node);
    (void)myr_talk_send(client->visitor.connection, &words, sizeof(words), NULL, 0, MSG_DONTWAIT);
}

/* False: it talks nonsense, or in another version's words. */
static bool attend(struct myrd_kernel_server *server, struct client *client,
                   const struct myr_kernel_question *question)
{
    switch (question->ask) {
    case MYR_KERNEL_HELLO:
        answer(client, MYR_OK, "", &server->name, NULL);
        return true;
    case MYR_KERNEL_OPEN:
        ask_open(server, client, question);
        return true;
    case MYR_KERNEL_CLOSE:
        (void)myrd_groups_leave(server->groups, question->key, client->number);
        return true;
    case MYR_KERNEL_STATUS:
        report(server, client);
        return true;
    case MYR_KERNEL_MISSING:
        list_missing(server, client, question->key);
        return true;
    default:
        return false;
    }
}

/* A client says something, or has closed its end. False if it is silent. */
static bool hear(struct myrd_kernel_server *server, uint32_t number)
{
    struct client *client = &server->client[number];
    struct myr_kernel_question question;
    const ssize_t bytes =
        recv(client->visitor.connection, &question, sizeof(question), MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (EAGAIN == errno || EINTR == errno)) {
        return false;
    }
    const bool known = sizeof(question) == bytes && MYR_KERNEL_MAGIC == question.magic;
    const bool unanswered = known && MYR_KERNEL_CLOSE == question.ask;
    if (bytes <= 0 || (!unanswered && leaves_unread(client))) {
        bury(server, number);
    } else if (!known || !attend(server, client, &question)) {
        answer(client, MYR_ERR_FOREIGN, "myrd --kernel is of another version of nicbarr", NULL,
               NULL);
        bury(server, number);
    }
    return true;
}

/* ---- beginning ---- */

static enum myr_status find_address(struct myrd_kernel_server *server, const char *network,
                                    uint16_t port, struct myr_error *error)
{
    struct mcp_local_address address;
    const bool any = NULL == network || '\0' == *network;
    if (0 == mcp_local_addresses(network, &address, 1)) {
        return myr_fail(
            error, MYR_ERR_NOT_THERE, 0, "there is no interface to stand at (%s%s): give --network",
            any ? "none but loopback has an IPv4 address" : "no address of this machine is in ",
            any ? "" : network);
    }
    if (!os_draw_key(&server->name.key, sizeof(server->name.key))) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "no random number for the NIC's key");
    }
    server->name.count = 1;
    server->name.address[0].ip = address.ip;
    server->name.address[0].prefix = address.prefix;
    server->name.address[0].port = htons(0 == port ? PORT_USUAL : port);
    return MYR_OK;
}

/* Keep the NIC's UDP port from others. The NIC takes its packets. What other daemons say comes to
 * the socket. */
static enum myr_status take_port(struct myrd_kernel_server *server, struct myr_error *error)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = server->name.address[0].ip,
        .sin_port = server->name.address[0].port,
    };
    server->hosts.port = address.sin_port;
    server->hosts.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (server->hosts.socket < 0 || !myrd_hosts_filter(server->hosts.socket)) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "no socket for the NIC's UDP port");
    }
    if (bind(server->hosts.socket, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "UDP port %u is not to be had (give --port)",
                        (unsigned)ntohs(address.sin_port));
    }
    server->network = network_of(server->hosts.socket);
    return MYR_OK;
}

/* Serve as many clients as there are descriptors for. Without a free one, nobody could even be
 * refused. */
static void allow_descriptors(struct myrd_kernel_server *server)
{
    struct rlimit limit = {.rlim_cur = 0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t others = MCP_KERNEL_PAGES + DESCRIPTORS_OTHER;
    const rlim_t clients = limit.rlim_max > others ? (limit.rlim_max - others) / OF_EACH : 0;
    server->most = clients < CLIENTS_MOST ? (uint32_t)clients : CLIENTS_MOST;
}

static enum myr_status listen_there(struct myrd_kernel_server *server, const char *path,
                                    struct myr_error *error)
{
    const char *given = NULL == path ? getenv("NICBARR_KERNEL_SOCKET") : path;
    if (NULL == given || '\0' == *given) {
        given = MYR_KERNEL_SOCKET;
        const enum myr_status status = myrd_place_make_folder(given, 0755, error);
        if (MYR_OK != status) {
            return status;
        }
    }
    return myrd_place_open(&server->place, given, 0666, error);
}

static void close_server(void *serving)
{
    struct myrd_kernel_server *server = serving;
    myrd_place_hide(&server->place);
    while (server->count > 0) {
        --server->count;
        end_meeting(server, &server->client[server->count]);
        myrd_visitor_leave(&server->client[server->count].visitor);
    }
    if (NULL != server->groups) {
        myrd_groups_free(server->groups);
    }
    if (NULL != server->kernel) {
        mcp_kernel_close(server->kernel);
    }
    if (server->hosts.socket >= 0) {
        close(server->hosts.socket);
    }
    if (server->interface.socket >= 0) {
        close(server->interface.socket);
    }
    myrd_place_close(&server->place);
    free(server);
}

/* Which of the rights that loading takes does this process lack? They are named in `text`. */
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

static enum myr_status load(struct myrd_kernel_server *server, struct myr_error *error)
{
    char why[MCP_KERNEL_WHY], missing[MCP_KERNEL_WHY];
    if (0 == mcp_kernel_load(server->name.address[0].ip, server->name.address[0].port,
                             &server->kernel, why)) {
        return MYR_OK;
    }
    return lacks_rights(missing, sizeof(missing))
               ? myr_fail(error, MYR_ERR_SYSTEM, 0,
                          "may not load a program into the kernel, for lack of %s (run it as root; "
                          "in a container that was started with --cap-add for each)",
                          missing)
               : myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
}

/* From now on the interface may have another name. */
static void follow_name(struct myrd_kernel_server *server)
{
    mcp_kernel_rename(server->kernel, server->interface.name);
}

static enum myr_status stand(struct myrd_kernel_server *server, struct myr_error *error)
{
    char why[MCP_KERNEL_WHY];
    const enum myr_status status =
        myrd_interface_open(&server->interface, mcp_kernel_interface(server->kernel),
                            server->name.address[0].ip, error);
    if (MYR_OK != status) {
        return status;
    }
    follow_name(server);
    if (mcp_kernel_stand(server->kernel, why) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
    }
    server->groups = myrd_groups_make(server->kernel, &server->users);
    return NULL == server->groups ? myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory")
                                  : MYR_OK;
}

/* Load the program before making anything: a caller without the rights would otherwise hear of
 * folders first. */
static enum myr_status open_server(const struct myrd_options *options, void **serving,
                                   struct myr_error *error)
{
    struct myrd_kernel_server *server = calloc(1, sizeof(*server));
    if (NULL == server) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    server->place.lock = server->place.listening = -1;
    server->place.folder = server->place.spare = -1;
    server->hosts.socket = server->interface.socket = -1;
    allow_descriptors(server);
    enum myr_status status = find_address(server, options->nic.network, options->nic.port, error);
    if (MYR_OK == status) {
        status = load(server, error);
    }
    if (MYR_OK == status) {
        status = listen_there(server, options->socket, error);
    }
    if (MYR_OK == status) {
        status = take_port(server, error);
    }
    if (MYR_OK == status) {
        status = stand(server, error);
    }
    if (MYR_OK != status) {
        close_server(server);
        return status;
    }
    *serving = server;
    return MYR_OK;
}

/* Files first, as leaving them takes rights; the filter last, as it forbids all of this. */
static enum myr_status confine(struct myr_error *error)
{
    enum myr_status status = myrd_rights_leave_files(error);
    if (MYR_OK == status) {
        /* For groups' pages, which are maps. All else was for the beginning: to load programs
         * (CAP_PERFMON) and to have them stand at the interface (CAP_NET_ADMIN). */
        status = myrd_rights_keep(UINT64_C(1) << CAP_BPF, error);
    }
    return MYR_OK == status ? myrd_filter(MYRD_FILTER_KERNEL, error) : status;
}

/* ---- serving ---- */

static void watch_all(struct myrd_kernel_server *server, int end)
{
    server->watched[0] = (struct pollfd){.fd = end, .events = POLLIN};
    server->watched[1] =
        (struct pollfd){.fd = server->place.listening, .events = myrd_place_events(&server->place)};
    server->watched[2] = (struct pollfd){.fd = mcp_kernel_watch(server->kernel), .events = POLLIN};
    server->watched[3] = (struct pollfd){.fd = server->hosts.socket, .events = POLLIN};
    server->watched[4] = (struct pollfd){.fd = server->interface.socket, .events = POLLIN};
    for (uint32_t c = 0; c < server->count; ++c) {
        const struct client *client = &server->client[c];
        struct pollfd *of = &server->watched[FIXED + OF_EACH * c];
        const short events = NULL == client->meeting ? POLLIN : 0;
        const int connection = client->left ? -1 : client->visitor.connection;
        of[0] = (struct pollfd){.fd = connection, .events = events};
        of[1] = (struct pollfd){.fd = client->visitor.process, .events = POLLIN};
    }
}

/* A process that has ended may have closed its groups, so all its words are read first. */
static void hear_one(struct myrd_kernel_server *server, uint32_t number)
{
    const struct client *client = &server->client[number];
    const struct pollfd *of = &server->watched[FIXED + OF_EACH * number];
    const bool ended = 0 != (of[0].revents & (POLLHUP | POLLERR)) || 0 != of[1].revents;
    const bool hears = NULL == client->meeting && (ended || 0 != of[0].revents);
    const uid_t uid = client->visitor.uid;
    if ((!ended && !hears) || myrd_users_had_time(&server->users, uid)) {
        return;
    }
    const uint64_t begin_us = os_now_us();
    if (!(hears && hear(server, number)) && ended) {
        bury(server, number);
    }
    myrd_users_took(&server->users, uid, os_now_us() - begin_us);
}

/* Begin with another one in each turn, as a user's time may be over before all its clients were
 * heard. The last one takes the place of one that goes; so go down, to hear nobody by another's
 * events. Who comes below the first one by that is heard in the next turn. */
static void hear_all(struct myrd_kernel_server *server)
{
    const uint32_t first = 0 == server->count ? 0 : server->users.turn % server->count + 1;
    for (uint32_t c = first; c > 0; --c) {
        hear_one(server, c - 1);
    }
    for (uint32_t c = server->count; c > first; --c) {
        hear_one(server, c - 1);
    }
}

/* Other hosts ask, and answer. Whoever waits for an answer goes on. */
static void hear_hosts(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    uint32_t ip;
    uint64_t number;
    for (int h = 0; h < ANSWERS_A_TURN && myrd_hosts_hear(&server->hosts, &ip, &number); ++h) {
        for (struct myrd_meeting *m = server->meetings.first; NULL != m; m = m->next) {
            if (myrd_meeting_hear(m, ip, number, now)) {
                myrd_hosts_believe(&server->hosts, ip, now);
            }
        }
    }
}

/* Only this many at a time; each then waits behind the others. */
static void meet_some(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    for (int m = 0; m < MEETINGS_A_TURN; ++m) {
        struct myrd_meeting *meeting = myrd_meetings_next(&server->meetings, &server->users);
        if (NULL == meeting || meeting->look_at_ms > now) {
            return;
        }
        const uid_t uid = meeting->plan.uid;
        const uint64_t begin_us = os_now_us();
        meet(server, meeting, now);
        myrd_users_took(&server->users, uid, os_now_us() - begin_us);
    }
}

static void look_after_groups(struct myrd_kernel_server *server)
{
    const uint64_t begin_ns = os_thread_ns();
    if (myrd_groups_look(server->groups, os_now_ms())) {
        myrd_groups_took(server->groups, os_thread_ns() - begin_ns);
    }
}

/* Whoever comes in, or is sent away, has as much time together as each user. */
static void accept_some(struct myrd_kernel_server *server)
{
    const uint64_t begin_us = os_now_us();
    while (os_now_us() - begin_us < MYRD_USERS_TURN_US && accept_client(server)) {
    }
}

/* It may have another name. An error if the NIC cannot stay there. */
static enum myr_status follow_interface(struct myrd_kernel_server *server, struct myr_error *error)
{
    const uint64_t now = os_now_ms();
    if (0 != server->watched[4].revents) {
        myrd_interface_hear(&server->interface, now);
        follow_name(server);
    }
    return myrd_interface_judge(&server->interface, now, error);
}

/* Of two time-outs; -1: never. */
static int sooner(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Call it when a turn begins: all users have time. */
static int timeout(struct myrd_kernel_server *server)
{
    const uint64_t now = os_now_ms();
    const int due = sooner(myrd_groups_timeout(server->groups, now),
                           myrd_interface_timeout(&server->interface, now));
    const struct myrd_meeting *next = myrd_meetings_next(&server->meetings, &server->users);
    if (NULL == next) {
        return myrd_place_timeout(&server->place, due);
    }
    const uint64_t at = next->look_at_ms;
    const int meeting = at <= now ? 0 : (int)(at - now);
    return myrd_place_timeout(&server->place, sooner(meeting, due));
}

static enum myr_status run_server(void *serving, int end, struct myr_error *error)
{
    struct myrd_kernel_server *server = serving;
    for (;;) {
        myrd_users_turn(&server->users);
        watch_all(server, end);
        if (poll(server->watched, FIXED + OF_EACH * server->count, timeout(server)) < 0) {
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
        hear_all(server);
        if (0 != server->watched[3].revents) {
            hear_hosts(server);
        }
        meet_some(server);
        if (0 != server->watched[2].revents) {
            myrd_groups_hear(server->groups, os_now_ms());
        }
        look_after_groups(server);
        if (0 != server->watched[1].revents) {
            accept_some(server);
        }
    }
}

const struct myrd_owner myrd_kernel_owner = {
    .name = "kernel",
    .letter = 'k',
    .help = "Have the kernel be the NIC, for all users of this host (for root)",
    .open = open_server,
    .confine = confine,
    .run = run_server,
    .close = close_server,
};
