/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the requests of processes to the daemon of a user's soft NIC (myrd/server.c), to find
 * input with which another user gets the daemon's memory, or one process blocks the daemon for all
 * others. run.sh builds and runs it.
 *
 * Invariants:
 *
 * - The daemon passes memory and socket only to processes of the same user that have sent a valid
 *   hello.
 * - Each hello has at most one response.
 * - When all clients have disconnected, no descriptor is left, and the daemon still accepts a valid
 *   hello.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/soft/daemon_words.h"
#include "libmyr/unix_talk.h"
#include "tests/fuzz/daemon.h"
#include "tests/fuzz/fuzz.h"

enum {
    CLIENTS = 5,
    PROCESSES = 3, /* number of processes as which the clients connect */
    STEPS_MOST = 60,
    MEMORY = 4 << 20,
};

struct client {
    int connection; /* -1 if there is none */
    pid_t pid;
    bool stranger; /* it belongs to another user */
    bool valid;    /* its first message is a valid hello */
    bool has_sent;
    bool answer;
};

static struct {
    struct input in;
    uint32_t steps, last_steps;
    struct client client[CLIENTS];
} w;

static pid_t process[PROCESSES];
static void *daemon_serving;

/* ---- clients ---- */

static void disconnect_client(struct client *client)
{
    if (client->connection >= 0) {
        close(client->connection);
    }
    client->connection = -1;
}

static void connect_client(struct client *client, uint8_t argument)
{
    disconnect_client(client);
    const bool stranger = 0 == argument / CLIENTS % 4;
    const pid_t pid = process[argument % PROCESSES];
    *client = (struct client){
        .connection = daemon_connect(geteuid() + stranger, pid), .pid = pid, .stranger = stranger};
}

static void send_words(struct client *client, const void *words, size_t bytes, bool valid)
{
    if (client->connection >= 0 &&
        (ssize_t)bytes == send(client->connection, words, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)) {
        client->valid = client->valid || (valid && !client->has_sent);
        client->has_sent = true;
    }
}

/* Send a hello that is valid or nearly valid. */
static void send_hello(struct client *client, uint8_t argument)
{
    struct myr_daemon_hello hello = {MYR_DAEMON_MAGIC, myr_daemon_layout(), client->pid, 0};
    uint32_t *field[] = {&hello.magic, &hello.layout, (uint32_t *)&hello.pid, &hello.goodbye};
    const uint32_t which = argument / CLIENTS % 8;
    if (which < 4) {
        *field[which] += take_step(&w.in);
    }
    const bool valid = MYR_DAEMON_MAGIC == hello.magic && myr_daemon_layout() == hello.layout &&
                       client->pid == hello.pid && 0 == hello.goodbye;
    send_words(client, &hello, sizeof(hello), valid);
}

static void send_raw(struct client *client)
{
    uint8_t words[64];
    const size_t bytes = take_bytes(&w.in, words, take_below(&w.in, sizeof(words) + 1));
    if (0 != bytes && sizeof(struct myr_daemon_hello) != bytes) {
        send_words(client, words, bytes, false);
    }
}

static void receive_all(struct client *client)
{
    struct myr_daemon_welcome answer;
    int descriptors[MYR_DAEMON_DESCRIPTORS];
    ssize_t bytes = -1;
    while (client->connection >= 0 &&
           (bytes = myr_talk_receive(client->connection, &answer, sizeof(answer), descriptors,
                                     MYR_DAEMON_DESCRIPTORS)) > 0) {
        CHECK(sizeof(answer) == bytes && MYR_DAEMON_MAGIC == answer.magic);
        CHECK(NULL != memchr(answer.why, '\0', sizeof(answer.why)));
        CHECK((MYR_OK == answer.status) == ('\0' == answer.why[0]));
        CHECK((MYR_OK == answer.status) == (descriptors[0] >= 0));
        if (MYR_OK == answer.status) {
            CHECK(!client->stranger && client->has_sent && !client->answer);
            client->answer = true;
            close(descriptors[MYR_DAEMON_MEMORY]);
            close(descriptors[MYR_DAEMON_SOCKET]);
        } else {
            CHECK(!client->valid || client->stranger);
        }
    }
    if (client->connection >= 0 && (0 == bytes || (EAGAIN != errno && EINTR != errno))) {
        CHECK(!client->valid || client->stranger || client->answer);
        disconnect_client(client);
    }
}

/* ---- steps ---- */

enum step { CONNECT, HELLO, RAW, DISCONNECT, WAIT, STEPS };

static void take_step_of(struct input *in)
{
    const uint32_t kind = take_below(in, STEPS);
    const uint8_t argument = take_byte(in);
    struct client *client = &w.client[argument % CLIENTS];
    switch ((enum step)kind) {
    case CONNECT:
        connect_client(client, argument);
        break;
    case HELLO:
        send_hello(client, argument);
        break;
    case RAW:
        send_raw(client);
        break;
    case DISCONNECT:
        disconnect_client(client);
        break;
    case WAIT:
    case STEPS:
        break;
    }
}

/* Execute the next step of the input. Called when the daemon would wait. */
static bool step(void *context)
{
    struct client *last = &w.client[0];
    (void)context;
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        receive_all(&w.client[c]);
    }
    if (w.in.left > 0 && w.steps < STEPS_MOST) {
        ++w.steps;
        take_step_of(&w.in);
        return true;
    }
    switch (w.last_steps++) { /* run a client without faults */
    case 0:
        connect_client(last, CLIENTS);
        return true;
    case 3:
        send_hello(last, 4 * CLIENTS);
        return true;
    case 6:
        CHECK(last->answer);
        for (uint32_t c = 0; c < CLIENTS; ++c) {
            disconnect_client(&w.client[c]);
        }
        return true;
    default:
        return w.last_steps < 8;
    }
}

/* ---- the daemon ---- */

static void begin(void)
{
    const pid_t parent = getpid();
    for (uint32_t p = 0; p < PROCESSES; ++p) {
        process[p] = fork();
        CHECK(process[p] >= 0);
        while (0 == process[p]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(0);
            }
            pause();
        }
    }
    struct myr_error error = {.text = ""};
    const struct myrd_options options = {daemon_path(), {.network = "lo"}, MEMORY};
    if (MYR_OK != myrd_soft_owner.open(&options, &daemon_serving, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (NULL == daemon_serving) {
        begin();
    }
    memset(&w, 0, sizeof(w));
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        w.client[c].connection = -1;
    }
    w.in = (struct input){data, size};
    const uint32_t before = daemon_descriptors();
    daemon_serve(&myrd_soft_owner, daemon_serving, step, NULL);
    CHECK(before == daemon_descriptors());
    return 0;
}
