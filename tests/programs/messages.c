/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between all pairs of processes of a communicator; see messages.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "messages.h"
#include "../mpi/common.h"
#include "collective.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAGS = 4, FIRST_TAG = 4096, STEP_TAGS = 8, NEVER_SENT = 7, STEPS = 2048 };

/* What the random numbers of a process are for. */
enum { SENDS = 1, RECEIVES, ORDER_OF_SENDS, ORDER_OF_RECEIVES, COMPLETION };

/* Why a message fits no further receive: one was posted for it, or is known to have received it. */
enum { POSTED = 1, RECEIVED = 2 };

struct message {
    int peer; /* rank of the destination or source */
    int tag;
    size_t n;
    uint64_t key, order; /* of its data, and among all sends of the process */
    bool ready;          /* the destination posts its receives first */
    bool late;           /* it is sent after all messages to its receiver that are not */
    unsigned passed;     /* POSTED, RECEIVED */
};

struct receive {
    int source, tag; /* or wildcards */
    struct layout layout;
    MPI_Status status;
};

struct messages {
    const struct step *step;
    const struct place *place;
    const struct data_type *type;
    int thread;
    uint64_t lot; /* random number of the process */
    bool early, away;
    struct message *in, *out;
    int n_in, n_out;
    struct receive *receives; /* in the order in which they are posted */
    struct layout *sent;
    int posted, received;
    unsigned from_any; /* bits of tags that are received from any source from now on */
    bool all_from_any; /* all messages are, with any tag */
    /* The receives', then the sends'. */
    int n, active;
    MPI_Request *requests;
    bool *is_active;
    int *indices;
    MPI_Status *statuses;
    /* A receive that is cancelled. */
    MPI_Request cancelled;
    unsigned char nothing;
    void *attached;
};

static void *allocate(int n, size_t bytes)
{
    void *memory = calloc((size_t)n + 1, bytes);
    if (!memory)
        test_fail("messages", "out of memory");
    return memory;
}

static uint64_t own_lot(const struct messages *m, int purpose, int i)
{
    return data_hash(m->lot, (uint64_t)purpose, (uint64_t)i);
}

/* Returns one of the letters of a word. */
static char letter(const struct messages *m, const char *key, const char *otherwise, uint64_t lot)
{
    const char *letters = step_word(m->step, key, otherwise);
    return letters[lot % strlen(letters)];
}

static bool has_letter(const struct messages *m, const char *key, char wanted)
{
    return strchr(step_word(m->step, key, ""), wanted) != NULL;
}

static int tag_of(const struct messages *m, unsigned number)
{
    return FIRST_TAG + (int)(m->step->id % STEPS * STEP_TAGS + number);
}

/* ---- which messages there are ---- */

static bool is_early(const struct step *step, int process)
{
    return data_hash(step->id, (uint64_t)process, 71) % 2;
}

static bool is_away(const struct step *step, int process)
{
    long every = step_number(step, "away", 0);
    return every && ((process + (long)step->id) % every == 0) == (every > 0);
}

/* Returns the number of messages of a pair; at most a few if there are many pairs. */
static int count_of(const struct messages *m, uint64_t lot)
{
    int most = (int)step_number(m->step, "times", 1), size = m->place->size + m->place->remote_size;
    if (size > 4)
        most = 1 + most * 4 / size;
    int few = most < 3 ? most : 3;
    const int counts[] = {0, (int)(lot / 4 % (unsigned)few) + 1, most,
                          (int)(lot / 4 % (unsigned)most)};
    return counts[lot % 4];
}

/* Sizes are small, anything, slightly below or above a limit (without headers), or all the same. */
static size_t elements_of(const struct messages *m, uint64_t pair, uint64_t lot)
{
    static const size_t limits[] = {128, 256, 1024, 4096, 16384, 32768, 65536, 131072};
    size_t most = (size_t)step_number(m->step, "n", 1), n = (lot >> 8) % 64;
    if (lot % 4 == 0)
        n = (lot >> 8) % (most + 1);
    if (lot % 4 == 1)
        n = (limits[(lot >> 8) % TEST_COUNT(limits)] + 16 - (lot >> 16) % 96) / m->type->extent;
    return n < most && (pair >> 8) % 4 ? n : most;
}

/* Appends the messages from one process to another to a list (if any), in the order of the sends.
 * Returns their number. */
static int add(const struct messages *m, struct message *list, int peer, int from, int to)
{
    uint64_t pair = data_hash(m->step->id, (uint64_t)(from << 8 | to), test.seed);
    uint64_t order = own_lot(m, ORDER_OF_SENDS, peer) >> 20;
    int n = count_of(m, pair);
    for (int k = 0; list && k < n; k++) {
        uint64_t lot = data_hash(pair, (uint64_t)k, 81);
        order += own_lot(m, ORDER_OF_SENDS, -1) % 2 ? 1 : 1 + (lot >> 28);
        list[k] = (struct message){.peer = peer,
                                   .tag = tag_of(m, (lot >> 40) % TAGS),
                                   .n = elements_of(m, pair, lot),
                                   .key = lot,
                                   .order = order,
                                   .ready = is_early(m->step, to) && !is_away(m->step, to),
                                   .late = is_away(m->step, from) && !is_away(m->step, to)};
    }
    return n;
}

/* Lists the messages from or to this process. Late ones are at the end. */
static struct message *list_messages(const struct messages *m, bool incoming, int *n)
{
    const struct place *place = m->place;
    const unsigned char *peers = place->inter ? place->remote : place->members;
    int n_peers = place->inter ? place->remote_size : place->size;
    struct message *list = NULL;
    for (int pass = 0; pass < 2; pass++) {
        int listed = 0;
        for (int i = 0; i < 2 * n_peers; i++) {
            int peer = i % n_peers, other = peers[peer];
            if (is_away(m->step, other) == (i >= n_peers))
                listed += add(m, list ? list + listed : NULL, peer, incoming ? other : test.rank,
                              incoming ? test.rank : other);
        }
        list = list ? list : allocate(listed, sizeof(*list));
        *n = listed;
    }
    return list;
}

static int by_order(const void *a, const void *b)
{
    uint64_t left = ((const struct message *)a)->order, right = ((const struct message *)b)->order;
    return (left > right) - (left < right);
}

/* Returns the first incoming message that fits, and has not been passed; NULL if there is none. */
static struct message *first_fitting(const struct messages *m, int source, int tag, unsigned passed)
{
    for (int i = 0; i < m->n_in; i++)
        if (!(m->in[i].passed & passed) && (source == MPI_ANY_SOURCE || source == m->in[i].peer) &&
            (tag == MPI_ANY_TAG || tag == m->in[i].tag))
            return &m->in[i];
    return NULL;
}

/* ---- data ---- */

static void open_layout(const struct messages *m, struct layout *layout, const char *key, size_t n,
                        uint64_t lot)
{
    char kind = lot % 8 ? 'P' : letter(m, key, "P", 0);
    layout_open(layout, layout_kind(kind, lot / 8, n), m->type, 1, n);
}

static void put(const struct messages *m, const struct message *message, struct layout *layout)
{
    struct data_values values = {.type = m->type, .op = DATA_COPY, .key = message->key};
    for (size_t i = 0; i < message->n; i++)
        data_put(&values, 0, i, layout_at(layout, 0, i));
}

/* ---- completion ---- */

static void activate(struct messages *m, int i)
{
    m->is_active[i] = true;
    m->active++;
}

static void received(struct messages *m, int i, const MPI_Status *status)
{
    m->receives[i].status = *status;
    m->received++;
}

static void completed(struct messages *m, int i, const MPI_Status *status)
{
    if (!m->is_active[i])
        return;
    m->is_active[i] = false;
    m->active--;
    if (i < m->n_in)
        received(m, i, status);
    else /* the program may use the buffer again */
        layout_clear(&m->sent[i - m->n_in]);
}

/* Completes some requests, or none. Some are active. */
static void complete_some(struct messages *m, uint64_t how, int i)
{
    int n = 1, at = i % m->n;
    switch (how % 5) {
    case 0:
        MPI_Waitsome(m->n, m->requests, &n, m->indices, m->statuses);
        break;
    case 1:
        MPI_Waitany(m->n, m->requests, m->indices, m->statuses);
        break;
    case 2:
        MPI_Testsome(m->n, m->requests, &n, m->indices, m->statuses);
        break;
    case 3:
        MPI_Testany(m->n, m->requests, m->indices, &n, m->statuses);
        break;
    default:
        m->indices[0] = at;
        MPI_Test(&m->requests[at], &n, m->statuses);
    }
    for (int k = 0; k < n; k++)
        completed(m, m->indices[k], &m->statuses[k]);
}

static void complete_all(struct messages *m)
{
    uint64_t how = own_lot(m, COMPLETION, 0);
    if (how % 3 == 0) {
        MPI_Waitall(m->n, m->requests, m->statuses);
        for (int i = 0; i < m->n; i++)
            completed(m, i, &m->statuses[i]);
    }
    for (int i = 0; i < m->n && how % 3 == 1; i++) {
        int at = how / 3 % 2 ? i : m->n - 1 - i;
        MPI_Wait(&m->requests[at], m->statuses);
        completed(m, at, m->statuses);
    }
    for (int i = 0; m->active > 0; i++)
        complete_some(m, how / 3, i);
}

/* ---- receives ---- */

static void choose_pattern(struct messages *m, struct receive *receive,
                           const struct message *message, uint64_t lot)
{
    unsigned tag = 1u << (message->tag - tag_of(m, 0));
    bool by_tag = m->lot % 2;
    m->all_from_any |= has_letter(m, "wild", 'b') && lot % 32 == 0;
    if (by_tag && has_letter(m, "wild", 's') && lot / 32 % 8 == 0)
        m->from_any |= tag;
    bool any_source = m->all_from_any || (m->from_any & tag);
    bool any_tag = m->all_from_any || (!by_tag && has_letter(m, "wild", 't') && lot / 256 % 2);
    receive->source = any_source ? MPI_ANY_SOURCE : message->peer;
    receive->tag = any_tag ? MPI_ANY_TAG : message->tag;
}

/* Returns the elements of the largest message that fits. */
static size_t largest(const struct messages *m, const struct receive *receive)
{
    size_t most = 0;
    for (int i = 0; i < m->n_in; i++)
        if ((receive->tag == MPI_ANY_TAG || m->in[i].tag == receive->tag) && m->in[i].n > most)
            most = m->in[i].n;
    return most;
}

static void receive_probed(struct messages *m, int i, char call, uint64_t lot)
{
    struct receive *r = &m->receives[i];
    MPI_Comm comm = m->place->comm;
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status status;
    int n, flag = 0;
    if (call == 'P')
        MPI_Probe(r->source, r->tag, comm, &status);
    else if (call == 'M')
        MPI_Mprobe(r->source, r->tag, comm, &found, &status);
    else
        while (!flag)
            call == 'I' ? MPI_Iprobe(r->source, r->tag, comm, &flag, &status)
                        : MPI_Improbe(r->source, r->tag, comm, &flag, &found, &status);
    MPI_Get_count(&status, m->type->mpi, &n);
    TEST_CHECK(n >= 0, "messages", "line %d: a probe reports %d elements", m->step->line, n);
    open_layout(m, &r->layout, "recv", (size_t)n, lot);
    if (call == 'N') {
        MPI_Imrecv(r->layout.buffer, r->layout.count, r->layout.type, &found, &m->requests[i]);
        activate(m, i);
        return;
    }
    if (call == 'M')
        MPI_Mrecv(r->layout.buffer, r->layout.count, r->layout.type, &found, &status);
    else
        MPI_Recv(r->layout.buffer, r->layout.count, r->layout.type, status.MPI_SOURCE,
                 status.MPI_TAG, comm, &status);
    received(m, i, &status);
}

static void receive(struct messages *m, struct message *wanted)
{
    int i = m->posted++;
    uint64_t lot = own_lot(m, RECEIVES, i);
    struct receive *r = &m->receives[i];
    choose_pattern(m, r, wanted, lot);
    bool any = r->source == MPI_ANY_SOURCE;
    struct message *message = any ? wanted : first_fitting(m, r->source, r->tag, POSTED);
    message->passed |= POSTED;
    char call = letter(m, "calls", "i", lot >> 20);
    if (!m->early && strchr("PMIN", call)) {
        receive_probed(m, i, call, lot >> 30);
        return;
    }
    size_t more = lot % 5 == 0 ? (lot >> 40) % 20 : 0;
    open_layout(m, &r->layout, "recv", (any ? largest(m, r) : message->n) + more, lot >> 30);
    struct layout *l = &r->layout;
    MPI_Comm comm = m->place->comm;
    if (call == 'r' && !m->early) {
        MPI_Status status;
        MPI_Recv(l->buffer, l->count, l->type, r->source, r->tag, comm, &status);
        received(m, i, &status);
        return;
    }
    if (call == 'p') {
        MPI_Recv_init(l->buffer, l->count, l->type, r->source, r->tag, comm, &m->requests[i]);
        MPI_Start(&m->requests[i]);
    } else {
        MPI_Irecv(l->buffer, l->count, l->type, r->source, r->tag, comm, &m->requests[i]);
        if (lot % 3 == 0)
            layout_free_type(l);
    }
    activate(m, i);
    if (lot % 7 == 0)
        complete_some(m, 2 + lot / 7 % 3, i);
}

/* Receives the late messages, or the others. */
static void receive_all(struct messages *m, bool late)
{
    uint64_t lot = own_lot(m, ORDER_OF_RECEIVES, late);
    int *order = allocate(m->n_in, sizeof(int));
    struct rng rng = {lot};
    rng_permutation(&rng, order, m->n_in);
    for (int i = 0; i < m->n_in; i++) {
        struct message *wanted = &m->in[lot % 3 == 0   ? i
                                        : lot % 3 == 1 ? m->n_in - 1 - i
                                                       : order[i]];
        if (wanted->late != late)
            continue;
        /* The receive from its source and with its tag was meant for an earlier message. */
        if (wanted->passed & POSTED)
            wanted = first_fitting(m, MPI_ANY_SOURCE, MPI_ANY_TAG, POSTED);
        receive(m, wanted);
    }
    free(order);
}

static void check(struct messages *m, struct receive *r)
{
    const MPI_Status *status = &r->status;
    int n, cancelled, line = m->step->line;
    MPI_Get_count(status, m->type->mpi, &n);
    MPI_Test_cancelled(status, &cancelled);
    TEST_CHECK(!cancelled, "messages", "line %d: a receive was cancelled", line);
    TEST_CHECK(r->source == MPI_ANY_SOURCE || r->source == status->MPI_SOURCE, "messages",
               "line %d: a message from %d instead of %d", line, status->MPI_SOURCE, r->source);
    struct message *message = first_fitting(m, status->MPI_SOURCE, r->tag, RECEIVED);
    TEST_CHECK(message, "messages", "line %d: too many messages from %d with tag %d", line,
               status->MPI_SOURCE, status->MPI_TAG);
    message->passed |= RECEIVED;
    TEST_CHECK(message->tag == status->MPI_TAG && (int)message->n == n, "messages",
               "line %d: a message from %d with tag %d and %d elements, expected tag %d and %zu",
               line, message->peer, status->MPI_TAG, n, message->tag, message->n);
    unsigned char *got = layout_copy(&r->layout);
    layout_clear(&r->layout);
    put(m, message, &r->layout);
    long wrong = layout_difference(&r->layout, got);
    TEST_CHECK(wrong < 0, "messages", "line %d: byte %ld of a message of %d elements from %d", line,
               wrong, n, message->peer);
    free(got);
}

/* ---- sends ---- */

static void send_one(struct messages *m, int i)
{
    const struct message *message = &m->out[i];
    struct layout *l = &m->sent[i];
    uint64_t lot = own_lot(m, SENDS, i);
    int to = message->peer, tag = message->tag;
    MPI_Comm comm = m->place->comm;
    MPI_Request *request = &m->requests[m->n_in + i];
    char mode = letter(m, "modes", "i", lot >> 20);
    open_layout(m, l, "send", message->n, lot);
    put(m, message, l);
    /* (MPI_Bsend of Open MPI 4.1.4 waits for the receiver of a long message, too.) */
    if (message->ready && strchr("sSb", mode)) {
        (mode == 'b'   ? MPI_Bsend
         : mode == 's' ? MPI_Send
                       : MPI_Ssend)(l->buffer, l->count, l->type, to, tag, comm);
        layout_clear(l);
        return;
    }
    bool persistent = mode == 'p' || mode == 'P';
    (mode == 'p'                  ? MPI_Send_init
     : mode == 'P'                ? MPI_Ssend_init
     : mode == 'b' || mode == 'B' ? MPI_Ibsend
     : mode == 'S' || mode == 'I'
         ? MPI_Issend
         : MPI_Isend)(l->buffer, l->count, l->type, to, tag, comm, request);
    if (persistent)
        MPI_Start(request);
    else if (lot % 3 == 0)
        layout_free_type(l);
    activate(m, m->n_in + i);
}

static void attach_buffer(struct messages *m)
{
    size_t bytes = 1;
    if (!has_letter(m, "modes", 'b') && !has_letter(m, "modes", 'B'))
        return;
    for (int i = 0; i < m->n_out; i++)
        bytes += m->out[i].n * m->type->extent + MPI_BSEND_OVERHEAD;
    m->attached = allocate(1, bytes);
    MPI_Buffer_attach(m->attached, (int)bytes);
}

/* ---- the step ---- */

/* Returns whether all processes, or all that do not stay away, have got so far in this step. */
static bool all_have_entered(const struct messages *m, int position, bool all)
{
    for (int i = 0; i < m->place->size + m->place->remote_size; i++) {
        int process =
            i < m->place->size ? m->place->members[i] : m->place->remote[i - m->place->size];
        if ((all || !is_away(m->step, process)) &&
            !board_entered(process, m->thread, board_position(m->step, position)))
            return false;
    }
    return true;
}

/* First waits, in MPI, until nobody needs this process for an earlier step. */
static void stay_away(const struct messages *m)
{
    int flag;
    while (!all_have_entered(m, 0, true))
        MPI_Iprobe(MPI_ANY_SOURCE, tag_of(m, NEVER_SENT), m->place->comm, &flag, MPI_STATUS_IGNORE);
    while (!all_have_entered(m, 1, false))
        usleep(1000);
}

static void open_lists(struct messages *m)
{
    m->in = list_messages(m, true, &m->n_in);
    m->out = list_messages(m, false, &m->n_out);
    qsort(m->out, (size_t)m->n_out, sizeof(*m->out), by_order);
    m->n = m->n_in + m->n_out;
    m->receives = allocate(m->n_in, sizeof(*m->receives));
    m->sent = allocate(m->n_out, sizeof(*m->sent));
    m->requests = allocate(m->n, sizeof(MPI_Request));
    m->is_active = allocate(m->n, sizeof(bool));
    m->indices = allocate(m->n, sizeof(int));
    m->statuses = allocate(m->n, sizeof(MPI_Status));
    for (int i = 0; i < m->n; i++)
        m->requests[i] = MPI_REQUEST_NULL;
}

struct messages *messages_start(const struct step *step, int thread)
{
    struct messages *m = allocate(1, sizeof(*m));
    m->step = step;
    m->thread = thread;
    m->place = place_of(step, "c");
    m->type = type_of_step(step);
    m->lot = data_hash(step->id, (uint64_t)test.rank, test.seed + 91);
    m->early = is_early(step, test.rank);
    m->away = is_away(step, test.rank);
    open_lists(m);
    attach_buffer(m);
    if (m->away)
        stay_away(m);
    MPI_Irecv(&m->nothing, 1, MPI_BYTE, MPI_ANY_SOURCE, tag_of(m, NEVER_SENT), m->place->comm,
              &m->cancelled);
    if (m->early) {
        receive_all(m, false);
        receive_all(m, true);
    }
    for (int i = 0; i < m->n_out; i++)
        send_one(m, i);
    return m;
}

static void cancel(struct messages *m)
{
    MPI_Status status;
    int cancelled;
    MPI_Cancel(&m->cancelled);
    MPI_Wait(&m->cancelled, &status);
    MPI_Test_cancelled(&status, &cancelled);
    TEST_CHECK(cancelled, "messages", "line %d: a receive was not cancelled", m->step->line);
}

static void close_all(struct messages *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->requests[i] != MPI_REQUEST_NULL) /* persistent */
            MPI_Request_free(&m->requests[i]);
    for (int i = 0; i < m->n_in; i++)
        layout_close(&m->receives[i].layout);
    for (int i = 0; i < m->n_out; i++)
        layout_close(&m->sent[i]);
    void *const all[] = {m->in,        m->out,     m->receives, m->sent,     m->requests,
                         m->is_active, m->indices, m->statuses, m->attached, m};
    for (size_t i = 0; i < TEST_COUNT(all); i++)
        free(all[i]);
}

void messages_finish(struct messages *m)
{
    int first = 0;
    while (first < m->n_in && !m->in[first].late)
        first++;
    if (!m->early)
        receive_all(m, false);
    if (step_number(m->step, "away", 0)) {
        for (int i = 0; m->received < first; i++)
            complete_some(m, m->lot / 8, i);
        board_enter(m->thread, board_position(m->step, 1));
    }
    if (!m->early)
        receive_all(m, true);
    complete_all(m);
    cancel(m);
    for (int i = 0; i < m->n_in; i++)
        check(m, &m->receives[i]);
    if (has_letter(m, "wild", 'b')) /* otherwise a receive could get a message of the next step */
        MPI_Barrier(m->place->comm);
    if (m->attached) {
        void *buffer;
        int bytes;
        MPI_Buffer_detach(&buffer, &bytes);
    }
    close_all(m);
}
