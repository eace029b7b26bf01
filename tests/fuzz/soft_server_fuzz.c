/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes what processes say to the daemon of a user's soft NIC (myrd/server.c). Built and run by
 * run.sh.
 *
 * Invariants: memory and socket go to processes of the same user that have said a right hello, and
 * to nobody else; each hello has one answer at the most; no descriptor is left when all have gone;
 * the daemon goes on, and lets in who says a right hello then.
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
    PROCESSES = 3, /* that the clients are taken for */
    STEPS_MOST = 60,
    MEMORY = 4 << 20,
};

struct client {
    int connection; /* -1: there is none */
    pid_t pid;
    bool stranger; /* another user's */
    bool right;    /* it has said one right hello, before anything else */
    bool said;
    bool welcome;
};

static struct {
    struct input in;
    uint32_t steps, late_turns;
    struct client client[CLIENTS];
} w;

static pid_t process[PROCESSES];
static void *daemon_serving;

/* ---- clients ---- */

static void go(struct client *client)
{
    if (client->connection >= 0) {
        close(client->connection);
    }
    client->connection = -1;
}

static void come(struct client *client, uint8_t argument)
{
    go(client);
    const bool stranger = 0 == argument / CLIENTS % 4;
    const pid_t pid = process[argument % PROCESSES];
    *client = (struct client){
        .connection = daemon_connect(geteuid() + stranger, pid), .pid = pid, .stranger = stranger};
}

static void say(struct client *client, const void *words, size_t bytes, bool right)
{
    if (client->connection >= 0 &&
        (ssize_t)bytes == send(client->connection, words, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)) {
        client->right = client->right || (right && !client->said);
        client->said = true;
    }
}

/* A right hello, or nearly. */
static void say_hello(struct client *client, uint8_t argument)
{
    struct myr_daemon_hello hello = {MYR_DAEMON_MAGIC, myr_daemon_layout(), client->pid, 0};
    uint32_t *field[] = {&hello.magic, &hello.layout, (uint32_t *)&hello.pid, &hello.goodbye};
    const uint32_t which = argument / CLIENTS % 8;
    if (which < 4) {
        *field[which] += take_step(&w.in);
    }
    const bool right = MYR_DAEMON_MAGIC == hello.magic && myr_daemon_layout() == hello.layout &&
                       client->pid == hello.pid && 0 == hello.goodbye;
    say(client, &hello, sizeof(hello), right);
}

static void say_raw(struct client *client)
{
    uint8_t words[64];
    const size_t bytes = take_bytes(&w.in, words, take_below(&w.in, sizeof(words) + 1));
    if (0 != bytes && sizeof(struct myr_daemon_hello) != bytes) {
        say(client, words, bytes, false);
    }
}

static void hear(struct client *client)
{
    struct myr_daemon_welcome welcome;
    int descriptors[MYR_DAEMON_DESCRIPTORS];
    ssize_t bytes = -1;
    while (client->connection >= 0 &&
           (bytes = myr_talk_receive(client->connection, &welcome, sizeof(welcome), descriptors,
                                     MYR_DAEMON_DESCRIPTORS)) > 0) {
        CHECK(sizeof(welcome) == bytes && MYR_DAEMON_MAGIC == welcome.magic);
        CHECK(NULL != memchr(welcome.why, '\0', sizeof(welcome.why)));
        CHECK((MYR_OK == welcome.status) == ('\0' == welcome.why[0]));
        CHECK((MYR_OK == welcome.status) == (descriptors[0] >= 0));
        if (MYR_OK == welcome.status) {
            CHECK(!client->stranger && client->said && !client->welcome);
            client->welcome = true;
            close(descriptors[MYR_DAEMON_MEMORY]);
            close(descriptors[MYR_DAEMON_SOCKET]);
        } else {
            CHECK(!client->right || client->stranger);
        }
    }
    if (client->connection >= 0 && (0 == bytes || (EAGAIN != errno && EINTR != errno))) {
        CHECK(!client->right || client->stranger || client->welcome);
        go(client);
    }
}

/* ---- steps ---- */

enum step { COME, HELLO, RAW, GO, WAIT, STEPS };

static void take_step_of(struct input *in)
{
    const uint32_t kind = take_below(in, STEPS);
    const uint8_t argument = take_byte(in);
    struct client *client = &w.client[argument % CLIENTS];
    switch ((enum step)kind) {
    case COME:
        come(client, argument);
        break;
    case HELLO:
        say_hello(client, argument);
        break;
    case RAW:
        say_raw(client);
        break;
    case GO:
        go(client);
        break;
    case WAIT:
    case STEPS:
        break;
    }
}

/* The daemon would wait now. */
static bool step(void *context)
{
    struct client *last = &w.client[0];
    (void)context;
    for (uint32_t c = 0; c < CLIENTS; ++c) {
        hear(&w.client[c]);
    }
    if (w.in.left > 0 && w.steps < STEPS_MOST) {
        ++w.steps;
        take_step_of(&w.in);
        return true;
    }
    switch (w.late_turns++) { /* one who does all right */
    case 0:
        come(last, CLIENTS);
        return true;
    case 3:
        say_hello(last, 4 * CLIENTS);
        return true;
    case 6:
        CHECK(last->welcome);
        for (uint32_t c = 0; c < CLIENTS; ++c) {
            go(&w.client[c]);
        }
        return true;
    default:
        return w.late_turns < 8;
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
