/* SPDX-License-Identifier: BSD-3-Clause */
/* nicsim barrier: simulates barriers of one kind, and prints everything that was counted. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/parameters.h"

void nicsim_print_counters(const struct mcp_counters *counters)
{
    printf("\nthe firmware's counters, summed over all NICs:\n");
#define PRINT(name, text)                                                                          \
    if (0 != counters->name) {                                                                     \
        printf("%12llu %s\n", (unsigned long long)counters->name, text);                           \
    }
    MCP_COUNTERS(PRINT)
#undef PRINT
}

bool nicsim_is_complete(bool played, uint32_t finished, uint32_t nodes)
{
    if (!played) {
        fprintf(stderr, "nicsim: out of memory\n");
    } else if (finished != nodes) {
        fprintf(stderr, "nicsim: only %u of %u nodes finished\n", finished, nodes);
    }
    return played && finished == nodes;
}

static void print_barrier_outcome(const struct nicsim_game *game, const struct nicsim_outcome *o)
{
    const double all = (double)game->barriers + game->warm_up;
    char name[NICBARR_CHOICE_TEXT];
    printf("%s, %u nodes, %s executed by the %s, %s, seed %llu\n\n", game->machine->name,
           game->nodes, nicbarr_choice_name(game->choice, name), game->on_nics ? "NICs" : "hosts",
           NICSIM_MPI == game->level ? "MPI" : "GM", (unsigned long long)game->seed);
    printf("%12.2f us a barrier%s\n", o->barrier_us,
           game->works ? ", including the work before it" : "");
    printf("%12.1f packets a barrier, %.0f bytes\n", (double)o->tally.sent / all,
           (double)o->tally.bytes / all);
    printf("%12.1f DMAs a barrier\n", (double)o->tally.dmas / all);
    printf("%12llu packets lost\n", (unsigned long long)o->tally.lost);
    printf("%12zu bytes of a NIC's memory for the group, at most\n", o->group_bytes);
    nicsim_print_counters(&o->counters);
}

int nicsim_barrier_command(const struct nicsim_options *options)
{
    struct nicsim_file file;
    struct nicsim_outcome outcome;
    if (!nicsim_read_machine(options->data, options->machine, &file)) {
        return EXIT_FAILURE;
    }
    struct nicsim_game game = options->game;
    game.machine = &file.machine;
    const clock_t began = clock();
    const bool played = nicsim_play(&game, &outcome);
    if (!nicsim_is_complete(played, outcome.finished, game.nodes)) {
        return EXIT_FAILURE;
    }
    print_barrier_outcome(&game, &outcome);
    printf("\n%llu events in %.1f s of CPU time\n", (unsigned long long)outcome.events,
           (double)(clock() - began) / CLOCKS_PER_SEC);
    return EXIT_SUCCESS;
}
