/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the scripts of nicbarr; see script.h. */
#include "tools/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *script_path(const char *file)
{
    const char *dir = getenv("NICBARR_LIBEXECDIR");
    char *path;
    return asprintf(&path, "%s/%s", NULL == dir ? PKGLIBEXECDIR : dir, file) < 0 ? NULL : path;
}

int script_run(const char *script, char **argv)
{
    char *path = script_path(script);
    if (NULL == path) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
        return EXIT_FAILURE;
    }
    const char *command = argv[0];
    argv[0] = path;
    if (0 == setenv("NICBARR_VERSION", NICBARR_VERSION, 1)) {
        execv(path, argv);
    }
    fprintf(stderr, "%s: cannot run %s: %s (it is installed with nicbarr, and needs bash)\n",
            command, path, strerror(errno));
    free(path);
    return EXIT_FAILURE;
}
