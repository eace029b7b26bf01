/*
 * `nicbarr evaluate`: measures what the papers measured and writes a page about it. A script does
 * that (bench/report/evaluate.sh), which is installed in a folder of ours with all that it runs, in
 * the order of the source tree; this finds it and hands over to it.
 *
 * NICBARR_LIBEXECDIR in the environment is another folder, such as the source tree (tests).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"

int evaluate_command(int argc, char **argv)
{
    (void)argc;
    const char *folder = getenv("NICBARR_LIBEXECDIR");
    if (NULL == folder) {
        folder = PKGLIBEXECDIR;
    }
    char *script;
    if (-1 == asprintf(&script, "%s/bench/report/evaluate.sh", folder)) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
        return EXIT_FAILURE;
    }
    const char *command = argv[0];
    argv[0] = script;
    if (0 == setenv("NICBARR_VERSION", NICBARR_VERSION, 1)) {
        execv(script, argv);
    }
    fprintf(stderr, "%s: cannot run %s: %s; it is installed with nicbarr, and wants bash\n",
            command, script, strerror(errno));
    free(script);
    return EXIT_FAILURE;
}
