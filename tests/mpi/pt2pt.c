/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that messages between processes arrive once, whole, in order and with the correct content.
 *
 * Sizes are near the thresholds at which a transport changes its protocol (empty, small, eager,
 * fragments, a copy from memory to memory), up to --largest. All processes compute the same plan of
 * a round without communication, so that a receiver knows which messages must arrive; every byte
 * depends on sender, receiver, round and position. The phases are:
 *
 * - all to all at once, in all sending modes and with gaps in the buffers on either side;
 * - messages that are probed for;
 * - a flood of unexpected messages;
 * - one-sided communication;
 * - several threads at once (--threads);
 * - processes that are spawned, and groups that connect to each other (--spawn).
 *
 * --no-read forbids this process to read other processes' memory after MPI_Init, which a transport
 * on one node must tolerate. --spoil shows that the test can fail: now and then a byte is changed
 * before it is sent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 5, TAG_PROBED = 6, TAG_FLOOD = 7, TAG_THREAD = 100, MOST_THREADS = 16, CHILDREN = 2 };

static long rounds = 20;
static long largest = 8 << 20;
static long flood = 2000;
static long threads;
static long spawn_too;
static long no_read;
static long spoil;
static long child;

static const struct test_option options[] = {
    {"--rounds", OPTION_LONG, &rounds, "rounds of all to all (20)"},
    {"--largest", OPTION_LONG, &largest, "largest message, bytes (8 MiB)"},
    {"--flood", OPTION_LONG, &flood, "messages of the flood from each process (2000)"},
    {"--threads", OPTION_LONG, &threads, "threads that send at once; asks for MPI_THREAD_MULTIPLE"},
    {"--spawn", OPTION_FLAG, &spawn_too, "also spawn processes, and connect groups"},
    {"--no-read", OPTION_FLAG, &no_read, "forbid reading other processes' memory"},
    {"--spoil", OPTION_FLAG, &spoil, "change a byte now and then, to see the test fail"},
    {"--child", OPTION_FLAG, &child, "internal, for processes that it spawns"},
};

/* ---- contents ---- */

/* Identifies a message. */
struct message {
    int from, to;
    unsigned round;
    size_t bytes;
};

static uint8_t byte_at(const struct message *message, size_t offset)
{
    uint64_t x = (uint64_t)message->from * 0x9e3779b97f4a7c15u ^
                 (uint64_t)message->to * 0xbf58476d1ce4e5b9u ^
                 (uint64_t)message->round * 0x94d049bb133111ebu ^
                 (offset >> 3) * 0xff51afd7ed558ccdu;
    return (uint8_t)((x >> 32) >> (offset & 7));
}

static void fill(const struct message *message, uint8_t *buffer)
{
    static atomic_uint filled;
    for (size_t i = 0; i < message->bytes; i++)
        buffer[i] = byte_at(message, i);
    if (spoil && message->bytes > 0 && atomic_fetch_add(&filled, 1) % 50 == 49)
        buffer[message->bytes / 2] ^= 1;
}

static void compare(const struct message *message, const uint8_t *buffer, const char *where)
{
    for (size_t i = 0; i < message->bytes; i++)
        if (buffer[i] != byte_at(message, i))
            test_fail(where, "message of round %u from %d, %zu bytes: byte %zu is %u, expected %u",
                      message->round, message->from, message->bytes, i, buffer[i],
                      byte_at(message, i));
    test_count_check();
}

/* Returns a size that is mostly near a threshold at which the protocol changes, often small, and
 * rarely the largest. */
static size_t random_size(struct rng *rng)
{
    static const size_t edges[] = {0, 1, 8, 256, 2048, 4096, 8192, 32768, 65536, 131072, 1 << 20};
    const size_t edge = edges[rng_below(rng, (unsigned)TEST_COUNT(edges))];
    size_t bytes;
    switch (rng_below(rng, 8)) {
    case 0:
        bytes = rng_below(rng, (unsigned)largest + 1);
        break;
    case 1:
    case 2:
        bytes = rng_below(rng, 300);
        break;
    default: /* up to 64 bytes below (for headers) or a few above */
        bytes = edge + rng_below(rng, 72);
        bytes = bytes > 64 ? bytes - 64 : bytes;
    }
    return bytes < (size_t)largest ? bytes : (size_t)largest;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory)
        test_fail("memory", "no %zu bytes", bytes);
    return memory;
}

/* ---- all to all ---- */

/* A buffer with or without a gap after every `run` bytes. A message is one element of the type. */
struct layout {
    size_t run; /* 0: no gaps */
    MPI_Datatype type;
    size_t extent;
};

static struct layout layout_make(size_t bytes, size_t run)
{
    struct layout layout = {.run = bytes > 0 && bytes % run == 0 ? run : 0};
    if (layout.run) {
        MPI_Type_vector((int)(bytes / run), (int)run, (int)(2 * run), MPI_BYTE, &layout.type);
        layout.extent = 2 * bytes;
    } else {
        MPI_Type_contiguous((int)bytes, MPI_BYTE, &layout.type);
        layout.extent = bytes;
    }
    MPI_Type_commit(&layout.type);
    return layout;
}

static void spread(const struct layout *layout, size_t bytes, const uint8_t *dense, uint8_t *buffer)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[layout->run ? i / layout->run * 2 * layout->run + i % layout->run : i] = dense[i];
}

static void gather(const struct layout *layout, size_t bytes, const uint8_t *buffer, uint8_t *dense)
{
    for (size_t i = 0; i < bytes; i++)
        dense[i] = buffer[layout->run ? i / layout->run * 2 * layout->run + i % layout->run : i];
}

/* One end of a message of a round. */
struct transfer {
    struct message message;
    struct layout layout;
    uint8_t *buffer;
};

static void transfer_open(struct transfer *transfer, const struct message *message, unsigned kind,
                          bool sending)
{
    /* There are gaps on neither side, on one, or on both. */
    const bool gaps = kind == 1 ? sending : kind == 2 ? !sending : kind == 3;
    transfer->message = *message;
    transfer->layout = layout_make(message->bytes, gaps ? 24 : SIZE_MAX);
    transfer->buffer = allocate(transfer->layout.extent);
    if (sending) {
        uint8_t *dense = allocate(message->bytes);
        fill(message, dense);
        spread(&transfer->layout, message->bytes, dense, transfer->buffer);
        free(dense);
    }
}

static void transfer_check(const struct transfer *transfer, const char *where)
{
    uint8_t *dense = allocate(transfer->message.bytes);
    gather(&transfer->layout, transfer->message.bytes, transfer->buffer, dense);
    compare(&transfer->message, dense, where);
    free(dense);
}

static void transfer_close(struct transfer *transfer)
{
    MPI_Type_free(&transfer->layout.type);
    free(transfer->buffer);
}

static void start_sending(const struct transfer *transfer, unsigned mode, MPI_Comm comm,
                          MPI_Request *request)
{
    if (mode == 0)
        MPI_Issend(transfer->buffer, 1, transfer->layout.type, transfer->message.to, TAG, comm,
                   request);
    else
        MPI_Isend(transfer->buffer, 1, transfer->layout.type, transfer->message.to, TAG, comm,
                  request);
}

/* Exchange all messages of a round at once. Receives are posted before or after the sends. */
static void all_to_all(MPI_Comm comm, unsigned round, const char *where)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct rng plan = rng_make(STREAM_PLAN + 10 + 2000 * round);
    struct transfer *in = allocate((size_t)size * sizeof(*in));
    struct transfer *out = allocate((size_t)size * sizeof(*out));
    MPI_Request *requests = allocate(2 * (size_t)size * sizeof(MPI_Request));
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++) {
            const struct message message = {from, to, round, random_size(&plan)};
            const unsigned kind = rng_below(&plan, 8), mode = rng_below(&plan, 4);
            if (to == rank) {
                transfer_open(&in[from], &message, kind, false);
                if (round % 2)
                    MPI_Irecv(in[from].buffer, 1, in[from].layout.type, from, TAG, comm,
                              &requests[from]);
            }
            if (from == rank) {
                transfer_open(&out[to], &message, kind, true);
                start_sending(&out[to], mode, comm, &requests[size + to]);
            }
        }
    for (int from = 0; from < size && round % 2 == 0; from++)
        MPI_Irecv(in[from].buffer, 1, in[from].layout.type, from, TAG, comm, &requests[from]);
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < size; peer++) {
        transfer_check(&in[peer], where);
        transfer_close(&in[peer]);
        transfer_close(&out[peer]);
    }
    free(in);
    free(out);
    free(requests);
}

/* ---- probed for ---- */

/* Every process sends `messages` messages to random others, which do not know their sizes.
 * Messages of one sender must arrive in order. */
static void probed(MPI_Comm comm, unsigned messages)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct rng mine = rng_make(STREAM_PRIVATE + 77 + (uint64_t)test.rank);
    int *to_send = calloc((size_t)size, sizeof(int)), *to_come = calloc((size_t)size, sizeof(int));
    unsigned *seen = calloc((size_t)size, sizeof(unsigned));
    MPI_Request *requests = allocate(messages * sizeof(MPI_Request));
    struct message *sent = allocate(messages * sizeof(struct message));
    uint8_t **buffers = allocate(messages * sizeof(uint8_t *));
    for (unsigned m = 0; m < messages; m++) {
        const int to = (int)rng_below(&mine, (unsigned)size);
        sent[m] = (struct message){rank, to, (unsigned)to_send[to]++, random_size(&mine)};
    }
    MPI_Alltoall(to_send, 1, MPI_INT, to_come, 1, MPI_INT, comm);
    for (unsigned m = 0; m < messages; m++) {
        buffers[m] = allocate(sent[m].bytes);
        fill(&sent[m], buffers[m]);
        MPI_Isend(buffers[m], (int)sent[m].bytes, MPI_BYTE, sent[m].to, TAG_PROBED, comm,
                  &requests[m]);
    }
    int coming = 0;
    for (int peer = 0; peer < size; peer++)
        coming += to_come[peer];
    for (; coming > 0; coming--) {
        MPI_Message handle;
        MPI_Status status;
        int bytes, found = 0;
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, TAG_PROBED, comm, &found, &handle, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        const int from = status.MPI_SOURCE;
        const struct message message = {from, rank, seen[from]++, (size_t)bytes};
        uint8_t *buffer = allocate(message.bytes);
        MPI_Mrecv(buffer, bytes, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
        compare(&message, buffer, "probed");
        free(buffer);
    }
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < size; peer++)
        TEST_CHECK((int)seen[peer] == to_come[peer], "probed", "%u messages from %d, expected %d",
                   seen[peer], peer, to_come[peer]);
    for (unsigned m = 0; m < messages; m++)
        free(buffers[m]);
    free(buffers);
    free(sent);
    free(requests);
    free(seen);
    free(to_come);
    free(to_send);
}

/* ---- the flood ---- */

/* All processes send to rank 0, which does something else meanwhile, and then receives the
 * messages in order. */
static void flooded(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (long i = 0; rank != 0 && i < flood; i++) {
        const long content[2] = {rank, i};
        MPI_Send(content, 2, MPI_LONG, 0, TAG_FLOOD, comm);
    }
    if (rank == 0)
        usleep(50000);
    long *next = calloc((size_t)size, sizeof(long));
    for (long i = 0; rank == 0 && i < flood * (size - 1); i++) {
        long content[2];
        MPI_Status status;
        MPI_Recv(content, 2, MPI_LONG, MPI_ANY_SOURCE, TAG_FLOOD, comm, &status);
        TEST_CHECK(content[0] == status.MPI_SOURCE && content[1] == next[content[0]], "flood",
                   "message %ld of %ld from %d, expected %ld", content[1], content[0],
                   status.MPI_SOURCE, next[status.MPI_SOURCE]);
        next[content[0]]++;
    }
    free(next);
}

/* ---- one-sided ---- */

/* Test a window in which each process has a block for every other one. */
static bool one_sided(void)
{
    enum { BLOCK = 50000 };
    const size_t size = (size_t)test.size;
    uint8_t *memory = calloc(size, BLOCK), *block = allocate(BLOCK), *back = allocate(BLOCK);
    long sum = 0, ones = 1;
    MPI_Win window, counters;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const bool offered = MPI_Win_create(memory, (MPI_Aint)(size * BLOCK), 1, MPI_INFO_NULL,
                                        MPI_COMM_WORLD, &window) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (offered) {
        MPI_Win_create(&sum, sizeof(sum), sizeof(sum), MPI_INFO_NULL, MPI_COMM_WORLD, &counters);
        MPI_Win_fence(0, window);
        for (int peer = 0; peer < test.size; peer++) {
            const struct message message = {test.rank, peer, 4, BLOCK};
            fill(&message, block);
            MPI_Put(block, BLOCK, MPI_BYTE, peer, (MPI_Aint)test.rank * BLOCK, BLOCK, MPI_BYTE,
                    window);
            MPI_Win_fence(0, window); /* so that the block can be reused */
        }
        for (int peer = 0; peer < test.size; peer++) {
            const struct message message = {peer, test.rank, 4, BLOCK};
            compare(&message, memory + (size_t)peer * BLOCK, "put");
        }
        const int other = (test.rank + 1) % test.size;
        const struct message message = {test.rank, other, 4, BLOCK};
        MPI_Get(back, BLOCK, MPI_BYTE, other, (MPI_Aint)test.rank * BLOCK, BLOCK, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        compare(&message, back, "get");
        MPI_Win_fence(0, counters);
        for (int peer = 0; peer < test.size; peer++)
            MPI_Accumulate(&ones, 1, MPI_LONG, peer, 0, 1, MPI_LONG, MPI_SUM, counters);
        MPI_Win_fence(0, counters);
        TEST_CHECK(sum == test.size, "accumulate", "%ld, expected %d", sum, test.size);
        MPI_Win_free(&counters);
        MPI_Win_free(&window);
    }
    free(back);
    free(block);
    free(memory);
    return offered;
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    MPI_Comm comm; /* shared by two threads, whose messages differ in their tags */
    int number;
};

/* Send to the right neighbour in a ring, and receive from the left one. */
static void *work(void *opaque)
{
    const struct worker *worker = opaque;
    const int tag = TAG_THREAD + worker->number, size = test.size;
    struct rng plan = rng_make(STREAM_PLAN + 500 + (uint64_t)worker->number);
    for (unsigned round = 0; round < 60; round++) {
        const size_t bytes = random_size(&plan) / 4;
        const int right = (test.rank + 1) % size, left = (test.rank + size - 1) % size;
        const struct message out = {test.rank, right, round + 1000u * (unsigned)tag, bytes};
        const struct message in = {left, test.rank, round + 1000u * (unsigned)tag, bytes};
        uint8_t *to = allocate(bytes), *from = allocate(bytes);
        fill(&out, to);
        if (round % 3)
            MPI_Sendrecv(to, (int)bytes, MPI_BYTE, right, tag, from, (int)bytes, MPI_BYTE, left,
                         tag, worker->comm, MPI_STATUS_IGNORE);
        else {
            MPI_Request request;
            MPI_Isend(to, (int)bytes, MPI_BYTE, right, tag, worker->comm, &request);
            MPI_Recv(from, (int)bytes, MPI_BYTE, left, tag, worker->comm, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        compare(&in, from, "threads");
        free(from);
        free(to);
    }
    return NULL;
}

static void threaded(void)
{
    struct worker workers[MOST_THREADS];
    const int n = threads < MOST_THREADS ? (int)threads : MOST_THREADS;
    for (int w = 0; w < n; w++) {
        workers[w].number = w;
        if (w % 2)
            workers[w].comm = workers[w - 1].comm;
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &workers[w].comm);
    }
    for (int w = 0; w < n; w++)
        pthread_create(&workers[w].thread, NULL, work, &workers[w]);
    for (int w = 0; w < n; w++)
        pthread_join(workers[w].thread, NULL);
    for (int w = 0; w < n; w += 2)
        MPI_Comm_free(&workers[w].comm);
}

/* ---- processes that are spawned or connect later ---- */

/* Exchange messages between both groups of an intercommunicator; the call is the same on both
 * sides. */
static void across(MPI_Comm both, bool first)
{
    MPI_Comm together;
    MPI_Intercomm_merge(both, !first, &together);
    for (unsigned round = 0; round < 4; round++)
        all_to_all(together, round + 300, "with processes that came later");
    probed(together, 20);
    MPI_Comm_free(&together);
    MPI_Comm_disconnect(&both);
}

static void spawned(const char *program)
{
    char seed[32], size[32];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)test.seed);
    snprintf(size, sizeof(size), "%ld", largest);
    char options_for_child[3][16] = {"--child", "--seed", "--largest"};
    char *arguments[] = {
        options_for_child[0], options_for_child[1], seed, options_for_child[2], size, NULL};
    for (int round = 0; round < 2;
         round++) { /* the second round starts after the processes of the first one have exited */
        MPI_Comm both;
        MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both,
                       MPI_ERRCODES_IGNORE);
        across(both, true);
    }
}

/* Connect two halves of the job to each other. */
static void connected(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, both;
    const bool first = test.rank < (test.size + 1) / 2;
    if (test.size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, first, 0, &half);
    if (test.rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (first)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &both);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &both);
    across(both, first);
    if (test.rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

/* ---- the program ---- */

static int level_wanted(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--threads") == 0)
            return MPI_THREAD_MULTIPLE;
    return MPI_THREAD_SINGLE;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "pt2pt", options, TEST_COUNT(options), level_wanted(argc, argv));
    if (no_read)
        forbid_reading();
    if (child) {
        MPI_Comm parents;
        MPI_Comm_get_parent(&parents);
        test_phase("spawned");
        across(parents, false);
        MPI_Finalize();
        return 0;
    }
    test_phase("all to all");
    for (long round = 0; round < rounds; round++)
        all_to_all(MPI_COMM_WORLD, (unsigned)round, "all to all");
    test_phase("probed");
    probed(MPI_COMM_WORLD, 60);
    test_phase("flood");
    flooded(MPI_COMM_WORLD);
    test_phase("one-sided");
    const bool with_windows = !no_read && one_sided(); /* Open MPI itself reads memory there */
    const bool with_threads = threads > 0 && test.provided == MPI_THREAD_MULTIPLE;
    if (with_threads) {
        test_phase("threads");
        threaded();
    }
    if (spawn_too) {
        test_phase("spawn");
        spawned(argv[0]);
        test_phase("connect");
        connected();
    }
    char note[100];
    snprintf(note, sizeof(note), "%s%s", with_windows ? "one-sided " : "no-windows ",
             with_threads ? "threads" : "");
    return test_end(note);
}
