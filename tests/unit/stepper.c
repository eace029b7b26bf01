/* SPDX-License-Identifier: BSD-3-Clause */
/* See stepper.h. */
#include "tests/unit/stepper.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/crew.h"

/* The next operation of a process in a counter barrier. */
enum position { COUNT_LEAF, RESET_LEAF, COUNT_ROOT, RESET_ROOT, RELEASE, WAIT };

struct player {
    const struct myr_plan *plan;
    uint32_t entered, left; /* number of barriers; within the current one: */
    uint32_t step, in_step; /* slots: number of words processed */
    myr_word **word;
    enum position position; /* counters: the next operation */
};

struct game {
    struct player *players;
    uint32_t size, epoch, barriers;
};

static char failure[200];

static const char *complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof(failure), format, arguments);
    va_end(arguments);
    return failure;
}

/* The result of a move. */
enum move { MOVED, BLOCKED, DONE, WRONG };

static enum move wait_for(const struct player *player, const myr_word *word, uint32_t epoch)
{
    const uint32_t seen = myr_load_acquire(word);
    if (!myr_epoch_reached(seen, epoch)) {
        return BLOCKED;
    }
    if (seen != epoch && seen != epoch + 1) { /* a peer is at most one barrier ahead */
        complain("epoch %u was read by a process in epoch %u (its barrier %u)", seen, epoch,
                 player->entered);
        return WRONG;
    }
    return MOVED;
}

static enum move move_slots(struct player *player, uint32_t epoch)
{
    const struct myr_plan *plan = player->plan;
    if (player->step == plan->nsteps) {
        return DONE;
    }
    const struct mcp_step *step = &plan->steps[player->step];
    if (player->in_step < step->sends) {
        myr_store_release(*player->word, epoch);
    } else if (player->in_step < step->sends + step->waits) {
        const enum move move = wait_for(player, *player->word, epoch);
        if (MOVED != move) {
            return move;
        }
    } else { /* an empty step */
        ++player->step;
        return player->step == plan->nsteps ? DONE : MOVED;
    }
    ++player->word;
    ++player->in_step;
    if (player->in_step == step->sends + step->waits) {
        ++player->step;
        player->in_step = 0;
    }
    return player->step == plan->nsteps ? DONE : MOVED;
}

static enum move move_counter(struct player *player, uint32_t epoch)
{
    const struct myr_plan *plan = player->plan;
    switch (player->position) {
    case COUNT_LEAF:
        player->position = myr_fetch_add(plan->leaf) + 1 == plan->leaf_members ? RESET_LEAF : WAIT;
        return MOVED;
    case RESET_LEAF:
        myr_store_release(plan->leaf, 0);
        player->position = 1 == plan->leaves ? RELEASE : COUNT_ROOT;
        return MOVED;
    case COUNT_ROOT:
        player->position = myr_fetch_add(plan->root) + 1 == plan->leaves ? RESET_ROOT : WAIT;
        return MOVED;
    case RESET_ROOT:
        myr_store_release(plan->root, 0);
        player->position = RELEASE;
        return MOVED;
    case RELEASE:
        myr_store_release(plan->release, epoch);
        return DONE;
    case WAIT:
        break;
    }
    const enum move move = wait_for(player, plan->release, epoch);
    return MOVED == move ? DONE : move;
}

/* Execute one load or store. */
static enum move move(struct game *game, uint32_t rank)
{
    struct player *player = &game->players[rank];
    if (player->left == game->barriers) {
        return BLOCKED;
    }
    if (player->entered == player->left) {
        ++player->entered;
        player->step = player->in_step = 0;
        player->word = player->plan->words;
        player->position = COUNT_LEAF;
        return MOVED;
    }
    const uint32_t epoch = game->epoch + player->entered;
    const enum move made =
        NULL == player->plan->leaf ? move_slots(player, epoch) : move_counter(player, epoch);
    if (DONE != made) {
        return made;
    }
    ++player->left;
    for (uint32_t q = 0; q < game->size; ++q) {
        if (game->players[q].entered < player->left) {
            complain("rank %u left barrier %u before rank %u entered it", rank, player->left, q);
            return WRONG;
        }
    }
    return MOVED;
}

/* Repeatedly choose a random rank, and let it make one move, a few, or as many as it can. */
static const char *play(struct game *game, uint64_t *random)
{
    for (;;) {
        uint32_t rank = crew_below(random, game->size), tried = 0;
        enum move made;
        while (BLOCKED == (made = move(game, rank)) && ++tried < game->size) {
            rank = (rank + 1) % game->size;
        }
        const uint32_t kind = crew_below(random, 4);
        for (uint32_t more = 0 == kind ? UINT32_MAX : kind - 1; MOVED == made && more > 0; --more) {
            made = move(game, rank);
        }
        if (WRONG == made) {
            return failure;
        }
        if (tried == game->size) {
            break;
        }
    }
    for (uint32_t r = 0; r < game->size; ++r) {
        if (game->players[r].left < game->barriers) {
            return complain("rank %u will wait in barrier %u for ever", r,
                            game->players[r].entered);
        }
    }
    return NULL;
}

const char *stepper_play(const struct myr_plan *plans, uint32_t size, uint32_t *epoch,
                         uint32_t barriers, uint64_t *random)
{
    struct game game = {calloc(size, sizeof(*game.players)), size, *epoch, barriers};
    if (NULL == game.players) {
        return "out of memory";
    }
    for (uint32_t r = 0; r < size; ++r) {
        game.players[r].plan = &plans[r];
    }
    const char *wrong = play(&game, random);
    free(game.players);
    *epoch += barriers;
    return wrong;
}

/* ---- checks of plans ---- */

static bool is_aligned_inside(const myr_word *word, const void *slots, size_t bytes)
{
    const uintptr_t at = (uintptr_t)word, begin = (uintptr_t)slots;
    return 0 == at % sizeof(*word) && at >= begin && at + sizeof(*word) <= begin + bytes;
}

/* Record that `rank` writes `word`. Returns false if it has a writer already. */
static bool claim(uint32_t *writers, const void *slots, const myr_word *word, uint32_t rank)
{
    uint32_t *writer = &writers[((uintptr_t)word - (uintptr_t)slots) / sizeof(*word)];
    if (0 != *writer) {
        return false;
    }
    *writer = rank + 1;
    return true;
}

static const char *inspect(const struct myr_plan *plan, uint32_t rank, uint32_t *writers,
                           const void *slots, size_t bytes)
{
    if (NULL != plan->leaf) {
        if (!is_aligned_inside(plan->leaf, slots, bytes) ||
            !is_aligned_inside(plan->root, slots, bytes) ||
            !is_aligned_inside(plan->release, slots, bytes)) {
            return complain("a counter of rank %u is misaligned or outside", rank);
        }
        return plan->leaf == plan->root || plan->leaf == plan->release ||
                       plan->root == plan->release
                   ? complain("counters of rank %u are the same word", rank)
                   : NULL;
    }
    myr_word **word = plan->words;
    for (uint32_t s = 0; s < plan->nsteps; ++s) {
        for (uint32_t i = 0; i < plan->steps[s].sends + plan->steps[s].waits; ++i, ++word) {
            if (!is_aligned_inside(*word, slots, bytes)) {
                return complain("a word of rank %u is misaligned or outside", rank);
            }
            if (i < plan->steps[s].sends && !claim(writers, slots, *word, rank)) {
                return complain("a word that rank %u writes has two writers", rank);
            }
        }
    }
    return NULL;
}

const char *stepper_inspect(const struct myr_plan *plans, uint32_t size, const void *slots,
                            size_t bytes)
{
    uint32_t *writers = calloc(bytes / sizeof(myr_word) + 1, sizeof(*writers));
    const char *wrong = NULL == writers ? "out of memory" : NULL;
    for (uint32_t r = 0; NULL == wrong && r < size; ++r) {
        wrong = inspect(&plans[r], r, writers, slots, bytes);
    }
    free(writers);
    return wrong;
}

void stepper_preset(const struct myr_plan *plans, uint32_t size, uint32_t epoch)
{
    for (uint32_t r = 0; r < size; ++r) {
        const struct myr_plan *plan = &plans[r];
        if (NULL != plan->leaf) {
            myr_store_release(plan->release, epoch);
            continue;
        }
        myr_word **word = plan->words;
        for (uint32_t s = 0; s < plan->nsteps; ++s) {
            for (uint32_t i = plan->steps[s].sends + plan->steps[s].waits; i > 0; --i) {
                myr_store_release(*word++, epoch);
            }
        }
    }
}
