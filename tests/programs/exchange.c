/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Sendrecv and MPI_Sendrecv_replace; see exchange.h. */
#include "exchange.h"
#include "../mpi/common.h"
#include "collective.h"
#include "payload.h"

enum { EXCHANGE_TAG = 2048, STEPS = 1024 };

struct round {
    uint64_t lot;
    int from, to; /* ranks, or MPI_PROC_NULL */
    size_t most;
    bool replace;
};

/* The first `among` processes of a random order form a cycle, or a chain. */
static void find_peers(struct round *round, const struct place *place)
{
    int order[MAX_RANKS], size = place->size, at = 0;
    struct rng rng = {round->lot};
    rng_permutation(&rng, order, size);
    int among = round->lot % 4 ? size : 1 + (int)(round->lot / 4 % (unsigned)size);
    bool open = round->lot / 1024 % 4 == 0;
    while (order[at] != place->rank)
        at++;
    bool outside = at >= among, first = at == 0, last = at == among - 1;
    round->from = outside || (open && first) ? MPI_PROC_NULL : order[(at + among - 1) % among];
    round->to = outside || (open && last) ? MPI_PROC_NULL : order[(at + 1) % among];
}

static uint64_t key_of(const struct round *round, int rank)
{
    return data_hash(round->lot, (uint64_t)rank, test.seed);
}

/* Returns the number of elements that a rank sends in the round. */
static size_t elements_of(const struct round *round, int rank)
{
    uint64_t lot = round->replace ? round->lot >> 20 : key_of(round, rank) >> 20;
    return lot % 3 ? lot / 4 % (round->most + 1) : round->most;
}

static void check(const struct step *step, const struct round *round, struct layout *layout,
                  const MPI_Status *status)
{
    bool none = round->from == MPI_PROC_NULL;
    int n, expected = none ? 0 : (int)elements_of(round, round->from), line = step->line;
    MPI_Get_count(status, layout->of->mpi, &n);
    TEST_CHECK(n == expected && status->MPI_SOURCE == round->from &&
                   (!none || status->MPI_TAG == MPI_ANY_TAG),
               "exchange", "line %d: %d elements from %d with tag %d, expected %d from %d", line, n,
               status->MPI_SOURCE, status->MPI_TAG, expected, round->from);
    if (!none)
        payload_check(layout, key_of(round, round->from), (size_t)n, (size_t)n, "exchange", line,
                      round->from);
}

void exchange_play(const struct step *step, int number)
{
    const struct place *place = place_of(step, "c");
    const struct data_type *type = type_of_step(step);
    struct round round = {.lot = data_hash(step->id, (uint64_t)number, 101),
                          .most = (size_t)step_number(step, "n", 1),
                          .replace = step_is(step, "how", "r")};
    find_peers(&round, place);
    uint64_t own = key_of(&round, place->rank);
    size_t n = elements_of(&round, place->rank), room = round.most + own % 8;
    int tag = EXCHANGE_TAG + (int)(step->id % STEPS);
    struct layout send, receive = {0};
    MPI_Status status;
    layout_open(&send, layout_kind(*step_word(step, "send", "P"), own, n), type, 1, n);
    payload_put(&send, own, n);
    if (round.replace) {
        MPI_Sendrecv_replace(send.buffer, send.count, send.type, round.to, tag, round.from, tag,
                             place->comm, &status);
    } else {
        layout_open(&receive, layout_kind(*step_word(step, "recv", "P"), own, room), type, 1, room);
        MPI_Sendrecv(send.buffer, send.count, send.type, round.to, tag, receive.buffer,
                     receive.count, receive.type, round.from, tag, place->comm, &status);
    }
    check(step, &round, round.replace ? &send : &receive, &status);
    if (!round.replace || round.from == MPI_PROC_NULL)
        payload_check(&send, own, n, n, "exchange", step->line, place->rank);
    layout_close(&send);
    layout_close(&receive);
}
