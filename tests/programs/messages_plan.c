/* SPDX-License-Identifier: BSD-3-Clause */
/* Which messages a step sends; see messages_plan.h. */
#include "messages_plan.h"
#include "../mpi/common.h"

#include <stdlib.h>

enum { FIRST_TAG = 4096, STEP_TAGS = 8, STEPS = 2048 };

uint64_t plan_lot(const struct messages_plan *plan, int purpose, int i)
{
    return data_hash(plan->lot, (uint64_t)purpose, (uint64_t)i);
}

int plan_tag(const struct messages_plan *plan, unsigned number)
{
    return FIRST_TAG + (int)(plan->step->id % STEPS * STEP_TAGS + number);
}

bool plan_early(const struct step *step, int process)
{
    return data_hash(step->id, (uint64_t)process, 71) % 2;
}

bool plan_away(const struct step *step, int process)
{
    long every = step_number(step, "away", 0);
    return every && ((process + (long)step->id) % every == 0) == (every > 0);
}

/* Returns the number of messages of a pair; at most a few if there are many pairs. */
static int count_of(const struct messages_plan *plan, uint64_t lot)
{
    int most = (int)step_number(plan->step, "times", 1);
    int size = plan->place->size + plan->place->remote_size;
    if (size > 4)
        most = 1 + most * 4 / size;
    int few = most < 3 ? most : 3;
    const int counts[] = {0, (int)(lot / 4 % (unsigned)few) + 1, most,
                          (int)(lot / 4 % (unsigned)most)};
    return counts[lot % 4];
}

/* Returns the size of a message: small, arbitrary, or slightly below or above a limit, from which
 * the size of headers is not subtracted. All messages of some pairs have the maximum size. */
static size_t elements_of(const struct messages_plan *plan, uint64_t pair, uint64_t lot)
{
    static const size_t limits[] = {128, 256, 1024, 4096, 16384, 32768, 65536, 131072};
    size_t most = (size_t)step_number(plan->step, "n", 1), n = (lot >> 8) % 64;
    if (lot % 4 == 0)
        n = (lot >> 8) % (most + 1);
    if (lot % 4 == 1)
        n = (limits[(lot >> 8) % TEST_COUNT(limits)] + 16 - (lot >> 16) % 96) / plan->type->extent;
    return n < most && (pair >> 8) % 4 ? n : most;
}

/* Appends the messages from one process to another to a list (if any), in the order of the sends.
 * Returns their number. */
static int add(const struct messages_plan *plan, struct message *list, int peer, int from, int to)
{
    const struct step *step = plan->step;
    uint64_t pair = data_hash(step->id, (uint64_t)(from << 8 | to), test.seed);
    uint64_t order = plan_lot(plan, ORDER_OF_SENDS, peer) >> 20;
    int n = count_of(plan, pair);
    for (int k = 0; list && k < n; k++) {
        uint64_t lot = data_hash(pair, (uint64_t)k, 81);
        order += plan_lot(plan, ORDER_OF_SENDS, -1) % 2 ? 1 : 1 + (lot >> 28);
        list[k] = (struct message){.peer = peer,
                                   .tag = plan_tag(plan, (lot >> 40) % TAGS),
                                   .n = elements_of(plan, pair, lot),
                                   .key = lot,
                                   .order = order,
                                   .ready = plan_early(step, to) && !plan_away(step, to),
                                   .late = plan_away(step, from) && !plan_away(step, to)};
    }
    return n;
}

/* Lists the messages from or to this process. Late ones are at the end. */
static struct message *list_messages(const struct messages_plan *plan, bool incoming, int *n)
{
    const struct place *place = plan->place;
    const unsigned char *peers = place->inter ? place->remote : place->members;
    int n_peers = place->inter ? place->remote_size : place->size;
    struct message *list = NULL;
    for (int pass = 0; pass < 2; pass++) {
        int listed = 0;
        for (int i = 0; i < 2 * n_peers; i++) {
            int peer = i % n_peers, other = peers[peer];
            if (plan_away(plan->step, other) == (i >= n_peers))
                listed += add(plan, list ? list + listed : NULL, peer, incoming ? other : test.rank,
                              incoming ? test.rank : other);
        }
        if (!list && !(list = calloc((size_t)listed + 1, sizeof(*list))))
            test_fail("messages", "out of memory");
        *n = listed;
    }
    return list;
}

static int by_order(const void *a, const void *b)
{
    uint64_t left = ((const struct message *)a)->order, right = ((const struct message *)b)->order;
    return (left > right) - (left < right);
}

void plan_open(struct messages_plan *plan, const struct step *step, const struct place *place,
               const struct data_type *type)
{
    *plan = (struct messages_plan){.step = step, .place = place, .type = type};
    plan->lot = data_hash(step->id, (uint64_t)test.rank, test.seed + 91);
    plan->in = list_messages(plan, true, &plan->n_in);
    plan->out = list_messages(plan, false, &plan->n_out);
    qsort(plan->out, (size_t)plan->n_out, sizeof(*plan->out), by_order);
}

void plan_close(struct messages_plan *plan)
{
    free(plan->in);
    free(plan->out);
}

struct message *plan_first_fitting(const struct messages_plan *plan, int source, int tag,
                                   unsigned passed)
{
    for (int i = 0; i < plan->n_in; i++) {
        struct message *message = &plan->in[i];
        if (!(message->passed & passed) && (source == MPI_ANY_SOURCE || source == message->peer) &&
            (tag == MPI_ANY_TAG || tag == message->tag))
            return message;
    }
    return NULL;
}

size_t plan_largest(const struct messages_plan *plan, int tag)
{
    size_t most = 0;
    for (int i = 0; i < plan->n_in; i++)
        if ((tag == MPI_ANY_TAG || plan->in[i].tag == tag) && plan->in[i].n > most)
            most = plan->in[i].n;
    return most;
}
