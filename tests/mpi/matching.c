/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that each message is received by the receive that MPI prescribes: all processes send and
 * receive at random, and afterwards rank 0 compares the records of all processes.
 *
 * A round uses a few communicators: sends in all modes (standard, synchronous, buffered); receives
 * with or without wildcards for source and tag, with buffers for the whole message or a part;
 * probes, matched probes, and cancelled receives. At the end each process receives the remaining
 * messages.
 *
 * MPI requires (MPI 4.0, 3.5): of two messages from one sender on one communicator, the earlier one
 * matches the earlier one of two receives if both receives match it and the earlier one matches
 * both. Each message contains its sender and its number, so that rank 0 can check all pairs. A
 * receive that was never matched must not have been skipped.
 *
 * --spoil shows that the test can fail: two receives claim to have been posted in reverse order.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMUNICATORS = 3,
    TAGS = 4,
    MOST = 400, /* maximum number of sends, and of receives, of a process in a round */
    LARGE = 100000,
    HEAD = 2, /* longs at the beginning of a message: the sender's rank, and its number */
};

static long rounds = 10;
static long games = 120;
static long truncate_too;
static long spoil;

static const struct test_option options[] = {
    {"--rounds", OPTION_LONG, &rounds, "games (10)"},
    {"--games", OPTION_LONG, &games, "sends of each process in a game (120; 400 at most)"},
    {"--truncate", OPTION_FLAG, &truncate_too,
     "also receives with too little room (there ob1 of 4.1.4 writes beyond the buffer)"},
    {"--spoil", OPTION_FLAG, &spoil,
     "report two receives in the wrong order, to see the test fail"},
};

static MPI_Comm comms[COMMUNICATORS];

/* ---- records of the calls; plain longs, so that rank 0 can gather them ---- */

struct sent {
    long from, to; /* ranks in MPI_COMM_WORLD */
    long comm, tag, number, bytes;
};

struct received {
    long at; /* rank in MPI_COMM_WORLD */
    long comm;
    long source, tag;  /* requested source in MPI_COMM_WORLD and tag; -1: wildcard */
    long posted;       /* order of posting, or of the matched probe */
    long from, number; /* of the message; -1: the receive was cancelled */
    long waited;       /* 1 if it waited until the end of the round without a message */
};

static struct {
    struct sent sent[MOST];
    MPI_Request send[MOST];
    char *content[MOST];
    struct received received[2 * MOST];
    MPI_Request receive[2 * MOST];
    char *buffer[2 * MOST];
    long room[2 * MOST];
    int sends, receives;
    long arrived;
} game;

static int world_rank(int comm, int rank)
{
    MPI_Group here, all;
    int result;
    MPI_Comm_group(comms[comm], &here);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(here, 1, &rank, all, &result);
    MPI_Group_free(&here);
    MPI_Group_free(&all);
    return result;
}

/* ---- contents ---- */

static char byte_of(long from, long number, long at)
{
    return (char)(from * 101 + number * 31 + at * 7 + (at >> 9));
}

static long some_bytes(struct rng *rng)
{
    static const long likely[] = {16, 200, 216, 217, 1024, 4096, 32720, 32744, 32768, LARGE};
    const long least = HEAD * (long)sizeof(long);
    switch (rng_below(rng, 6)) {
    case 0:
        return likely[rng_below(rng, TEST_COUNT(likely))];
    case 1:
        return least + (long)rng_below(rng, LARGE - (unsigned)least);
    default:
        return least + (long)rng_below(rng, 400);
    }
}

/* ---- calls ---- */

static void send_one(struct rng *rng)
{
    const int i = game.sends++, comm = (int)rng_below(rng, COMMUNICATORS);
    int size;
    MPI_Comm_size(comms[comm], &size);
    const int to = (int)rng_below(rng, (unsigned)size), tag = (int)rng_below(rng, TAGS);
    const long bytes = some_bytes(rng), head[HEAD] = {test.rank, i};
    game.sent[i] = (struct sent){test.rank, world_rank(comm, to), comm, tag, i, bytes};
    game.content[i] = malloc((size_t)bytes);
    for (long b = 0; b < bytes; b++)
        game.content[i][b] = byte_of(test.rank, i, b);
    memcpy(game.content[i], head, sizeof(head));
    int (*how)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    switch (rng_below(rng, 4)) {
    case 0:
        how = MPI_Issend;
        break;
    case 1:
        how = bytes < 1024 ? MPI_Ibsend : MPI_Isend;
        break;
    default:
        how = MPI_Isend;
    }
    how(game.content[i], (int)bytes, MPI_BYTE, to, tag, comms[comm], &game.send[i]);
}

static int new_receive(int comm, int source, int tag, long room)
{
    const int i = game.receives++;
    game.received[i] = (struct received){test.rank,
                                         comm,
                                         MPI_ANY_SOURCE == source ? -1 : world_rank(comm, source),
                                         MPI_ANY_TAG == tag ? -1 : tag,
                                         i,
                                         -1,
                                         -1,
                                         0};
    game.room[i] = room;
    game.buffer[i] = malloc((size_t)room + 1);
    memset(game.buffer[i], 0x55, (size_t)room + 1);
    return i;
}

static void choose(struct rng *rng, int *comm, int *source, int *tag)
{
    int size;
    *comm = (int)rng_below(rng, COMMUNICATORS);
    MPI_Comm_size(comms[*comm], &size);
    *source = rng_below(rng, 3) ? (int)rng_below(rng, (unsigned)size) : MPI_ANY_SOURCE;
    *tag = rng_below(rng, 3) ? (int)rng_below(rng, TAGS) : MPI_ANY_TAG;
}

static void receive_one(struct rng *rng)
{
    int comm, source, tag;
    choose(rng, &comm, &source, &tag);
    const long room = truncate_too && rng_below(rng, 5) == 0 ? some_bytes(rng) : LARGE;
    const int i = new_receive(comm, source, tag, room);
    MPI_Irecv(game.buffer[i], (int)room, MPI_BYTE, source, tag, comms[comm], &game.receive[i]);
}

/* Record that a receive has completed with this error. */
static void take_result(int i, int error, const MPI_Status *status)
{
    int cancelled, class = MPI_SUCCESS;
    long head[HEAD];
    MPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return;
    game.arrived++;
    memcpy(head, game.buffer[i], sizeof(head));
    struct received *received = &game.received[i];
    received->from = head[0];
    received->number = head[1];
    TEST_CHECK(head[0] >= 0 && head[0] < test.size && head[1] >= 0 && head[1] < MOST, "content",
               "a message from %ld with number %ld", head[0], head[1]);
    TEST_CHECK(world_rank((int)received->comm, status->MPI_SOURCE) == head[0], "status",
               "source %d, but the message is from %ld", status->MPI_SOURCE, head[0]);
    TEST_CHECK(received->source < 0 || received->source == head[0], "status",
               "a message from %ld for a receive from %ld", head[0], received->source);
    TEST_CHECK(received->tag < 0 || received->tag == status->MPI_TAG, "status",
               "a message with tag %d for a receive with %ld", status->MPI_TAG, received->tag);
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    TEST_CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE, "error", "class %d", class);
    long bytes = game.room[i];
    if (class == MPI_SUCCESS) {
        int count;
        MPI_Get_count(status, MPI_BYTE, &count);
        bytes = count;
    }
    long good = (long)sizeof(head);
    while (good < bytes && game.buffer[i][good] == byte_of(head[0], head[1], good))
        good++;
    TEST_CHECK(good == bytes, "content", "byte %ld of message %ld of %ld", good, head[1], head[0]);
    while (good <= game.room[i] && game.buffer[i][good] == 0x55)
        good++;
    TEST_CHECK(good == game.room[i] + 1, "content",
               "byte %ld behind %ld bytes of message %ld of %ld", good, bytes, head[1], head[0]);
}

static void test_one(int i)
{
    int done;
    MPI_Status status;
    if (game.receive[i] == MPI_REQUEST_NULL)
        return;
    const int error = MPI_Test(&game.receive[i], &done, &status);
    if (done)
        take_result(i, error, &status);
}

/* Receive the message that a matched probe has found, if any. */
static void receive_found(int comm, int source, int tag)
{
    int found, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Improbe(source, tag, comms[comm], &found, &message, &status);
    if (!found)
        return;
    MPI_Get_count(&status, MPI_BYTE, &count);
    const int i = new_receive(comm, source, tag, count);
    MPI_Imrecv(game.buffer[i], count, MPI_BYTE, &message, &game.receive[i]);
}

static void act(struct rng *rng)
{
    int comm, source, tag, flag;
    const unsigned what = rng_below(rng, 12);
    if (what < 5 && game.sends < games) {
        send_one(rng);
    } else if (what < 9 && game.receives < games) {
        receive_one(rng);
    } else if (what == 9 && game.receives < 2 * games) {
        choose(rng, &comm, &source, &tag);
        receive_found(comm, source, tag);
    } else if (what == 10 && game.receives > 0) {
        const int i = (int)rng_below(rng, (unsigned)game.receives);
        if (game.receive[i] != MPI_REQUEST_NULL && rng_below(rng, 3) == 0)
            MPI_Cancel(&game.receive[i]);
        test_one(i);
    } else {
        choose(rng, &comm, &source, &tag);
        MPI_Iprobe(source, tag, comms[comm], &flag, MPI_STATUS_IGNORE);
    }
}

/* Returns the number of messages that this process gets. (Open MPI's own collective computes the
 * sum.) */
static long expected(void)
{
    long *to = calloc((size_t)test.size, sizeof(*to)), mine;
    for (int i = 0; i < game.sends; i++)
        to[game.sent[i].to]++;
    MPI_Reduce_scatter_block(to, &mine, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    free(to);
    return mine;
}

static void receive_rest(void)
{
    const long all = expected();
    while (game.arrived < all) {
        for (int comm = 0; comm < COMMUNICATORS && game.receives < 2 * MOST; comm++)
            receive_found(comm, MPI_ANY_SOURCE, MPI_ANY_TAG);
        for (int i = 0; i < game.receives; i++)
            test_one(i);
    }
    for (int i = 0; i < game.receives; i++) {
        if (game.receive[i] != MPI_REQUEST_NULL) {
            MPI_Status status;
            MPI_Cancel(&game.receive[i]);
            const int error = MPI_Wait(&game.receive[i], &status);
            take_result(i, error, &status);
            game.received[i].waited = 1;
        }
    }
    MPI_Waitall(game.sends, game.send, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* otherwise messages of the next round could arrive */
}

/* ---- evaluation ---- */

/* Gather all processes' records on rank 0, which frees them. */
static void *gather(const void *own, int count, size_t bytes, int *all)
{
    int *counts = calloc((size_t)test.size, sizeof(*counts));
    int *displs = calloc((size_t)test.size, sizeof(*displs));
    const int longs = count * (int)(bytes / sizeof(long));
    long total = 0;
    MPI_Gather(&longs, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < test.size; r++) {
        displs[r] = (int)total;
        total += counts[r];
    }
    long *records = malloc((size_t)(total + 1) * sizeof(*records));
    MPI_Gatherv(own, longs, MPI_LONG, records, counts, displs, MPI_LONG, 0, MPI_COMM_WORLD);
    *all = (int)(total / (long)(bytes / sizeof(long)));
    free(counts);
    free(displs);
    return records;
}

static bool fits(const struct received *received, const struct sent *sent)
{
    return received->at == sent->to && received->comm == sent->comm &&
           (received->source < 0 || received->source == sent->from) &&
           (received->tag < 0 || received->tag == sent->tag);
}

static const struct received *find(const struct received *all, int count, const struct sent *sent)
{
    const struct received *found = NULL;
    for (int i = 0; i < count; i++) {
        if (all[i].at == sent->to && all[i].from == sent->from && all[i].number == sent->number) {
            TEST_CHECK(!found, "evaluation", "message %ld of %ld was received twice", sent->number,
                       sent->from);
            found = &all[i];
        }
    }
    TEST_CHECK(found, "evaluation", "message %ld of %ld was not received", sent->number,
               sent->from);
    return found;
}

static void check_pair(const struct sent *first, const struct received *of_first,
                       const struct sent *second, const struct received *of_second)
{
    TEST_CHECK(!(of_second->posted < of_first->posted && fits(of_second, first)), "evaluation",
               "message %ld of %ld has overtaken message %ld on the way to %ld", second->number,
               second->from, first->number, first->to);
}

static void check_waiting(const struct received *waiting, const struct sent *sent,
                          const struct received *of)
{
    TEST_CHECK(!(fits(waiting, sent) && of->posted > waiting->posted), "evaluation",
               "message %ld of %ld has passed over a receive of %ld", sent->number, sent->from,
               waiting->at);
}

static void evaluate(void)
{
    int nsent, nreceived;
    if (spoil && game.receives > 1) {
        for (int i = 0; i < game.receives; i++)
            game.received[i].posted = game.receives - i;
    }
    struct sent *sent = gather(game.sent, game.sends, sizeof(*sent), &nsent);
    struct received *received = gather(game.received, game.receives, sizeof(*received), &nreceived);
    if (test.rank == 0) {
        const struct received **of = calloc((size_t)nsent + 1, sizeof(*of));
        for (int i = 0; i < nsent; i++)
            of[i] = find(received, nreceived, &sent[i]);
        for (int i = 0; i < nsent; i++) {
            for (int j = i + 1; j < nsent; j++) {
                if (sent[i].from == sent[j].from && sent[i].to == sent[j].to &&
                    sent[i].comm == sent[j].comm)
                    check_pair(&sent[i], of[i], &sent[j], of[j]);
            }
        }
        for (int i = 0; i < nreceived; i++) {
            for (int j = 0; received[i].waited && j < nsent; j++)
                check_waiting(&received[i], &sent[j], of[j]);
        }
        free(of);
    }
    free(sent);
    free(received);
}

/* ---- a round ---- */

static void play(struct rng *rng)
{
    memset(&game, 0, sizeof(game));
    for (long i = 0; i < 4 * games; i++) {
        act(rng);
        if (rng_below(rng, 20) == 0)
            delay_random(rng);
    }
    test_phase("receiving what is left");
    receive_rest();
    for (int i = 0; i < game.sends; i++)
        free(game.content[i]);
    for (int i = 0; i < game.receives; i++)
        free(game.buffer[i]);
    test_phase("evaluation");
    evaluate();
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "matching", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (games > MOST)
        games = MOST;
    struct rng rng = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    int bytes = 4 * MOST * (1024 + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t)bytes);
    MPI_Buffer_attach(attached, bytes);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test.rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, test.rank, &comms[2]);
    for (int c = 0; c < COMMUNICATORS; c++)
        MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN);
    for (long round = 0; round < rounds; round++) {
        test_phase("playing");
        play(&rng);
    }
    for (int c = 0; c < COMMUNICATORS; c++)
        MPI_Comm_free(&comms[c]);
    MPI_Buffer_detach(&attached, &bytes);
    free(attached);
    return test_end("");
}
