/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion of the requests of a step `messages`, in all ways; see messages_parts.h. */
#include "../mpi/common.h"
#include "messages_parts.h"

enum { KEPT = 4711 /* not an error class */ };

enum { BY_WAITSOME, BY_WAITANY, BY_TESTSOME, BY_TESTANY, BY_TEST, BY_GET_STATUS };

/* (Open MPI 4.1 loses statuses in calls that complete several requests if one has failed.) */
static bool one_by_one(const struct messages *m)
{
    return step_number(m->plan.step, "short", 0);
}

MPI_Status messages_status(void)
{
    return (MPI_Status){.MPI_ERROR = KEPT, .MPI_SOURCE = KEPT, .MPI_TAG = KEPT};
}

void messages_check_kept(const struct messages *m, const MPI_Status *status, const char *call)
{
    TEST_CHECK(status->MPI_ERROR == KEPT, "messages", "line %d: %s has written %d into MPI_ERROR",
               m->plan.step->line, call, status->MPI_ERROR);
}

void messages_activate(struct messages *m, int i)
{
    m->is_active[i] = true;
    m->active++;
}

void messages_received(struct messages *m, int i, int error, const MPI_Status *status)
{
    m->receives[i].status = *status;
    MPI_Error_class(error, &m->receives[i].error);
    m->received++;
}

static void completed(struct messages *m, int i, int error, const MPI_Status *status)
{
    if (!m->is_active[i])
        return;
    m->is_active[i] = false;
    m->active--;
    if (i < m->plan.n_in)
        messages_received(m, i, error, status);
    else /* the program may use the buffer again */
        layout_clear(&m->sent[i - m->plan.n_in]);
}

/* Completes requests after a call that returns several statuses. */
static void several_completed(struct messages *m, int n, const int *indices)
{
    for (int k = 0; k < n; k++)
        completed(m, indices ? indices[k] : k, MPI_SUCCESS, &m->statuses[k]);
}

static void complete_single(struct messages *m, unsigned way, int at)
{
    MPI_Status status = messages_status(), earlier = status;
    int flag = 1, error;
    if (way == BY_WAITANY) {
        error = MPI_Waitany(m->n, m->requests, &at, &status);
    } else if (way == BY_TESTANY) {
        error = MPI_Testany(m->n, m->requests, &at, &flag, &status);
    } else if (way == BY_TEST) {
        error = MPI_Test(&m->requests[at], &flag, &status);
    } else if (m->is_active[at]) {
        MPI_Request_get_status(m->requests[at], &flag, &earlier);
        messages_check_kept(m, &earlier, "MPI_Request_get_status");
        if (!flag)
            return;
        error = MPI_Wait(&m->requests[at], &status);
        TEST_CHECK(at >= m->plan.n_in || (earlier.MPI_SOURCE == status.MPI_SOURCE &&
                                          earlier.MPI_TAG == status.MPI_TAG),
                   "messages", "line %d: statuses of one request differ", m->plan.step->line);
    } else {
        return;
    }
    if (!flag || at == MPI_UNDEFINED || !m->is_active[at])
        return;
    messages_check_kept(m, &status, "a completion");
    completed(m, at, error, &status);
}

void messages_complete_some(struct messages *m, uint64_t how, int i)
{
    unsigned way = one_by_one(m) ? BY_TEST : how % WAYS;
    int n;
    if (way != BY_WAITSOME && way != BY_TESTSOME) {
        complete_single(m, way, i % m->n);
        return;
    }
    (way == BY_WAITSOME ? MPI_Waitsome : MPI_Testsome)(m->n, m->requests, &n, m->indices,
                                                       m->statuses);
    several_completed(m, n, m->indices);
}

void messages_complete_all(struct messages *m)
{
    uint64_t how = plan_lot(&m->plan, COMPLETION, 0);
    if (how % 3 == 0 && !one_by_one(m)) {
        MPI_Waitall(m->n, m->requests, m->statuses);
        several_completed(m, m->n, NULL);
    }
    for (int i = 0; i < m->n && how % 3 == 1; i++) {
        int at = how / 3 % 2 ? i : m->n - 1 - i;
        MPI_Status status = messages_status();
        int error = MPI_Wait(&m->requests[at], &status);
        if (m->is_active[at])
            messages_check_kept(m, &status, "MPI_Wait");
        completed(m, at, error, &status);
    }
    for (int i = 0; m->active > 0; i++)
        messages_complete_some(m, how / 3, i);
}

bool messages_cancel(struct messages *m, int i)
{
    MPI_Status status = messages_status();
    int cancelled;
    MPI_Cancel(&m->requests[i]);
    int error = MPI_Wait(&m->requests[i], &status);
    messages_check_kept(m, &status, "MPI_Cancel");
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        completed(m, i, error, &status);
    return cancelled;
}
