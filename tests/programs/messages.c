/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between all pairs of processes of a communicator; see messages.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "messages.h"
#include "../mpi/common.h"
#include "collective.h"
#include "messages_parts.h"
#include "payload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *allocate(int n, size_t bytes)
{
    void *memory = calloc((size_t)n + 1, bytes);
    if (!memory)
        test_fail("messages", "out of memory");
    return memory;
}

char messages_letter(const struct messages *m, const char *key, const char *otherwise, uint64_t lot)
{
    const char *letters = step_word(m->plan.step, key, otherwise);
    return letters[lot % strlen(letters)];
}

bool messages_have_letter(const struct messages *m, const char *key, char wanted)
{
    return strchr(step_word(m->plan.step, key, ""), wanted) != NULL;
}

void messages_layout(const struct messages *m, struct layout *layout, const char *key, size_t n,
                     uint64_t lot)
{
    char kind = lot % 8 ? 'P' : messages_letter(m, key, "P", 0);
    layout_open(layout, layout_kind(kind, lot / 8, n), m->plan.type, 1, n);
}

/* ---- sends ---- */

static void send_one(struct messages *m, int i)
{
    const struct message *message = &m->plan.out[i];
    struct layout *l = &m->sent[i];
    uint64_t lot = plan_lot(&m->plan, SENDS, i);
    int to = message->peer, tag = message->tag;
    MPI_Comm comm = m->plan.place->comm;
    MPI_Request *request = &m->requests[m->plan.n_in + i];
    char mode = messages_letter(m, "modes", "i", lot >> 20);
    messages_layout(m, l, "send", message->n, lot);
    payload_put(l, message->key, message->n);
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
    messages_activate(m, m->plan.n_in + i);
}

static void attach_buffer(struct messages *m)
{
    size_t bytes = 1;
    if (!messages_have_letter(m, "modes", 'b') && !messages_have_letter(m, "modes", 'B'))
        return;
    for (int i = 0; i < m->plan.n_out; i++)
        bytes += m->plan.out[i].n * m->plan.type->extent + MPI_BSEND_OVERHEAD;
    m->attached = allocate(1, bytes);
    MPI_Buffer_attach(m->attached, (int)bytes);
}

/* ---- the step ---- */

/* Returns whether all processes, or all that do not stay away, have reached this position of the
 * step. */
static bool all_have_entered(const struct messages *m, int position, bool all)
{
    const struct place *place = m->plan.place;
    for (int i = 0; i < place->size + place->remote_size; i++) {
        int process = i < place->size ? place->members[i] : place->remote[i - place->size];
        if ((all || !plan_away(m->plan.step, process)) &&
            !board_entered(process, m->thread, board_position(m->plan.step, position)))
            return false;
    }
    return true;
}

/* Makes no MPI calls until the processes that do not stay away have exchanged their messages.
 * Before that, it makes progress until all processes have entered the step, because they may need
 * this one for an earlier step. */
static void stay_away(const struct messages *m)
{
    int flag;
    while (!all_have_entered(m, 0, true))
        MPI_Iprobe(MPI_ANY_SOURCE, plan_tag(&m->plan, NEVER_SENT), m->plan.place->comm, &flag,
                   MPI_STATUS_IGNORE);
    while (!all_have_entered(m, 1, false))
        usleep(1000);
}

static void open_lists(struct messages *m)
{
    m->n = m->plan.n_in + m->plan.n_out;
    m->receives = allocate(m->plan.n_in, sizeof(*m->receives));
    m->sent = allocate(m->plan.n_out, sizeof(*m->sent));
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
    MPI_Comm comm = place_of(step, "c")->comm;
    plan_open(&m->plan, step, place_of(step, "c"), type_of_step(step));
    m->thread = thread;
    m->early = plan_early(step, test.rank);
    m->away = plan_away(step, test.rank);
    open_lists(m);
    attach_buffer(m);
    if (step_number(step, "short", 0))
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (m->away)
        stay_away(m);
    MPI_Irecv(&m->nothing, 1, MPI_BYTE, MPI_ANY_SOURCE, plan_tag(&m->plan, NEVER_SENT), comm,
              &m->cancelled);
    if (m->early) {
        messages_receive_all(m, false);
        messages_receive_all(m, true);
    }
    for (int i = 0; i < m->plan.n_out; i++)
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
    TEST_CHECK(cancelled, "messages", "line %d: a receive was not cancelled", m->plan.step->line);
}

static void close_all(struct messages *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->requests[i] != MPI_REQUEST_NULL) /* persistent */
            MPI_Request_free(&m->requests[i]);
    for (int i = 0; i < m->plan.n_in; i++)
        layout_close(&m->receives[i].layout);
    for (int i = 0; i < m->plan.n_out; i++)
        layout_close(&m->sent[i]);
    plan_close(&m->plan);
    void *const all[] = {m->receives, m->sent,     m->requests, m->is_active,
                         m->indices,  m->statuses, m->attached, m};
    for (size_t i = 0; i < TEST_COUNT(all); i++)
        free(all[i]);
}

void messages_finish(struct messages *m)
{
    int first = 0;
    while (first < m->plan.n_in && !m->plan.in[first].late)
        first++;
    if (!m->early)
        messages_receive_all(m, false);
    if (step_number(m->plan.step, "away", 0)) {
        for (int i = 0; m->received < first; i++)
            messages_complete_some(m, m->plan.lot / 8, i);
        board_enter(m->thread, board_position(m->plan.step, 1));
    }
    if (!m->early)
        messages_receive_all(m, true);
    messages_complete_all(m);
    cancel(m);
    messages_check_all(m);
    /* Without this barrier a receive with both wildcards could get a message of the next step. */
    if (messages_have_letter(m, "wild", 'b'))
        MPI_Barrier(m->plan.place->comm);
    if (step_number(m->plan.step, "short", 0))
        MPI_Comm_set_errhandler(m->plan.place->comm, MPI_ERRORS_ARE_FATAL);
    if (m->attached) {
        void *buffer;
        int bytes;
        MPI_Buffer_detach(&buffer, &bytes);
    }
    close_all(m);
}
