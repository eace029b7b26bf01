/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the tables of one machine's studies; see commands.h. */
#include <stdlib.h>

#include "bench/nicsim/commands.h"
#include "bench/nicsim/parameters.h"

int nicsim_write_studies(const struct nicsim_options *options, const struct nicsim_study *studies,
                         size_t count)
{
    struct nicsim_file file;
    bool good = true;
    if (!nicsim_read_machine(options->data, options->machine, &file)) {
        return EXIT_FAILURE;
    }
    printf("%s: %s\n\n", file.machine.name, file.about);
    for (size_t s = 0; good && s < count; ++s) {
        char path[300];
        FILE *csv;
        snprintf(path, sizeof(path), "%s/%s.csv", options->csv_dir, studies[s].name);
        if (!nicsim_csv_open(path, &csv)) {
            return EXIT_FAILURE;
        }
        good = studies[s].write(&file.machine, csv);
        if (!good) {
            fprintf(stderr, "nicsim: %s: out of memory, or the simulation did not finish\n",
                    studies[s].name);
        }
        good = nicsim_csv_close(csv, path) && good;
        printf("%s\n", path);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
