/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives of a step `messages`: their patterns, calls and checks; see messages_parts.h. */
#include "../mpi/common.h"
#include "messages_parts.h"
#include "payload.h"

#include <stdlib.h>
#include <string.h>

static void choose_pattern(struct messages *m, struct receive *receive,
                           const struct message *message, uint64_t lot)
{
    unsigned tag = 1u << (message->tag - plan_tag(&m->plan, 0));
    bool by_tag = m->plan.lot % 2;
    m->all_from_any |= messages_have_letter(m, "wild", 'b') && lot % 32 == 0;
    if (by_tag && messages_have_letter(m, "wild", 's') && lot / 32 % 8 == 0)
        m->from_any |= tag;
    bool any_source = m->all_from_any || (m->from_any & tag);
    bool any_tag =
        m->all_from_any || (!by_tag && messages_have_letter(m, "wild", 't') && lot / 256 % 2);
    receive->source = any_source ? MPI_ANY_SOURCE : message->peer;
    receive->tag = any_tag ? MPI_ANY_TAG : message->tag;
}

/* short=1: there is no room for all elements of some messages. */
static size_t room_for(const struct messages *m, size_t n, uint64_t lot)
{
    bool is_short = step_number(m->plan.step, "short", 0) && lot % 4 == 0;
    return is_short && n > 0 ? (lot >> 8) % n : n;
}

static void receive_probed(struct messages *m, int i, char call, uint64_t lot)
{
    struct receive *r = &m->receives[i];
    MPI_Comm comm = m->plan.place->comm;
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status status = messages_status();
    int n, flag = 0, error;
    if (call == 'P')
        MPI_Probe(r->source, r->tag, comm, &status);
    else if (call == 'M')
        MPI_Mprobe(r->source, r->tag, comm, &found, &status);
    else
        while (!flag)
            call == 'I' ? MPI_Iprobe(r->source, r->tag, comm, &flag, &status)
                        : MPI_Improbe(r->source, r->tag, comm, &flag, &found, &status);
    messages_check_kept(m, &status, "a probe");
    MPI_Get_count(&status, m->plan.type->mpi, &n);
    TEST_CHECK(n >= 0, "messages", "line %d: a probe reports %d elements", m->plan.step->line, n);
    messages_layout(m, &r->layout, "recv", room_for(m, (size_t)n, lot >> 12), lot);
    const struct layout *l = &r->layout;
    if (call == 'N') {
        MPI_Imrecv(l->buffer, l->count, l->type, &found, &m->requests[i]);
        messages_activate(m, i);
        return;
    }
    int source = status.MPI_SOURCE, tag = status.MPI_TAG;
    status = messages_status();
    if (call == 'M')
        error = MPI_Mrecv(l->buffer, l->count, l->type, &found, &status);
    else
        error = MPI_Recv(l->buffer, l->count, l->type, source, tag, comm, &status);
    messages_check_kept(m, &status, "a receive");
    messages_received(m, i, error, &status);
}

static void post(struct messages *m, int i, bool persistent)
{
    const struct receive *r = &m->receives[i];
    const struct layout *l = &r->layout;
    MPI_Request *request = &m->requests[i];
    if (*request == MPI_REQUEST_NULL)
        (persistent ? MPI_Recv_init : MPI_Irecv)(l->buffer, l->count, l->type, r->source, r->tag,
                                                 m->plan.place->comm, request);
    if (persistent)
        MPI_Start(request);
}

static void receive_posted(struct messages *m, int i, char call, uint64_t lot)
{
    struct receive *r = &m->receives[i];
    struct layout *l = &r->layout;
    if (call == 'r' && !m->early) {
        MPI_Status status = messages_status();
        int error =
            MPI_Recv(l->buffer, l->count, l->type, r->source, r->tag, m->plan.place->comm, &status);
        messages_check_kept(m, &status, "MPI_Recv");
        messages_received(m, i, error, &status);
        return;
    }
    post(m, i, call == 'p');
    messages_activate(m, i);
    if (lot / 64 % 11 == 0 && messages_cancel(m, i))
        post(m, i, call == 'p');
    if (call != 'p' && lot % 3 == 0)
        layout_free_type(l);
    if (lot % 7 == 0 && m->active > 0)
        messages_complete_some(m, TRY + lot / 7 % (WAYS - TRY), i);
}

static void receive(struct messages *m, struct message *wanted)
{
    int i = m->posted++;
    uint64_t lot = plan_lot(&m->plan, RECEIVES, i);
    struct receive *r = &m->receives[i];
    choose_pattern(m, r, wanted, lot);
    bool any = r->source == MPI_ANY_SOURCE;
    struct message *message =
        any ? wanted : plan_first_fitting(&m->plan, r->source, r->tag, POSTED);
    message->passed |= POSTED;
    char call = messages_letter(m, "calls", "i", lot >> 20);
    if (!m->early && strchr("PMIN", call)) {
        receive_probed(m, i, call, lot >> 30);
        return;
    }
    size_t more = lot % 5 == 0 ? (lot >> 40) % 20 : 0;
    size_t most = any ? plan_largest(&m->plan, r->tag) : message->n;
    messages_layout(m, &r->layout, "recv", room_for(m, most, lot >> 12) + more, lot >> 30);
    receive_posted(m, i, call, lot);
}

void messages_receive_all(struct messages *m, bool late)
{
    int n = m->plan.n_in, *order = calloc((size_t)n + 1, sizeof(int));
    uint64_t lot = plan_lot(&m->plan, ORDER_OF_RECEIVES, late);
    struct rng rng = {lot};
    if (!order)
        test_fail("messages", "out of memory");
    rng_permutation(&rng, order, n);
    for (int i = 0; i < n; i++) {
        struct message *wanted = &m->plan.in[lot % 3 == 0   ? i
                                             : lot % 3 == 1 ? n - 1 - i
                                                            : order[i]];
        if (wanted->late != late)
            continue;
        /* A receive for this message has been posted in place of one for an earlier message from
         * the same source with the same tag. */
        if (wanted->passed & POSTED)
            wanted = plan_first_fitting(&m->plan, MPI_ANY_SOURCE, MPI_ANY_TAG, POSTED);
        receive(m, wanted);
    }
    free(order);
}

static void check(struct messages *m, struct receive *r)
{
    const MPI_Status *status = &r->status;
    int n, cancelled, line = m->plan.step->line;
    MPI_Get_count(status, m->plan.type->mpi, &n);
    MPI_Test_cancelled(status, &cancelled);
    TEST_CHECK(!cancelled, "messages", "line %d: a receive was cancelled", line);
    TEST_CHECK(r->source == MPI_ANY_SOURCE || r->source == status->MPI_SOURCE, "messages",
               "line %d: a message from %d instead of %d", line, status->MPI_SOURCE, r->source);
    struct message *message = plan_first_fitting(&m->plan, status->MPI_SOURCE, r->tag, RECEIVED);
    TEST_CHECK(message, "messages", "line %d: too many messages from %d with tag %d", line,
               status->MPI_SOURCE, status->MPI_TAG);
    message->passed |= RECEIVED;
    bool truncated = message->n > r->layout.n;
    TEST_CHECK(r->error == (truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "messages",
               "line %d: error class %d, %zu elements received with room for %zu", line, r->error,
               message->n, r->layout.n);
    TEST_CHECK(message->tag == status->MPI_TAG && (truncated || (int)message->n == n), "messages",
               "line %d: a message from %d with tag %d and %d elements, expected tag %d and %zu",
               line, message->peer, status->MPI_TAG, n, message->tag, message->n);
    payload_check(&r->layout, message->key, truncated ? r->layout.n : message->n,
                  truncated ? 0 : message->n, "messages", line, message->peer);
}

void messages_check_all(struct messages *m)
{
    for (int i = 0; i < m->plan.n_in; i++)
        check(m, &m->receives[i]);
}
