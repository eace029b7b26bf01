/* SPDX-License-Identifier: BSD-3-Clause */
/* nicsim bcast: simulates broadcasts of one kind, and prints everything that was counted. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/parameters.h"

static void print_bcast_outcome(const struct nicsim_bcast_game *game,
                                const struct nicsim_bcast_outcome *o)
{
    const double all = (double)game->broadcasts + game->warm_up;
    printf("%s, %u nodes, %u bytes broadcast by the %s, %s, seed %llu\n\n", game->machine->name,
           game->nodes, game->bytes, game->on_nics ? "NICs" : "hosts",
           NICSIM_MPI == game->level ? "MPI" : "GM", (unsigned long long)game->seed);
    printf("%12.2f us from one broadcast to the next%s\n", o->round_us,
           game->answered ? ", including the last node's reply" : "");
    printf("%12.2f us in the root's call\n", o->root_us);
    printf("%12.1f packets a broadcast, %.0f bytes\n", (double)o->tally.sent / all,
           (double)o->tally.bytes / all);
    printf("%12.1f DMAs a broadcast\n", (double)o->tally.dmas / all);
    if (game->on_nics) {
        printf("%12zu bytes of a NIC's memory for the group, at most\n", o->group_bytes);
    }
    nicsim_print_counters(&o->counters);
}

int nicsim_bcast_command(const struct nicsim_options *options)
{
    struct nicsim_file file;
    struct nicsim_bcast_outcome outcome;
    if (!nicsim_read_machine(options->data, options->machine, &file)) {
        return EXIT_FAILURE;
    }
    const struct nicsim_game *like = &options->game;
    const struct nicsim_bcast_game game = {
        .machine = &file.machine,
        .nodes = like->nodes,
        .bytes = options->bytes,
        .on_nics = like->on_nics,
        .fan_out = options->fan_out,
        .level = like->level,
        .answered = !options->consecutive,
        .warm_up = like->warm_up,
        .broadcasts = like->barriers,
        .seed = like->seed,
    };
    const bool played = nicsim_play_bcast(&game, &outcome);
    if (!nicsim_is_complete(played, outcome.finished, game.nodes)) {
        return EXIT_FAILURE;
    }
    print_bcast_outcome(&game, &outcome);
    return EXIT_SUCCESS;
}
