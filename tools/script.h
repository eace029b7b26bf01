/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locates and runs the scripts of nicbarr. They are installed in a private directory with all files
 * that they need, with the same relative paths as in the source tree. */
#ifndef TOOLS_SCRIPT_H
#define TOOLS_SCRIPT_H

/* Returns the path of such a file, which the caller frees, or NULL if memory runs out.
 * NICBARR_LIBEXECDIR in the environment names another directory, such as the source tree (for
 * tests). */
char *script_path(const char *file);

/*
 * Replaces this process by a script, such as "bench/report/evaluate.sh". The script gets the
 * arguments of `argv` after argv[0], which is the name of the command in error messages. The
 * environment variable NICBARR_VERSION contains the version of the program. On failure prints a
 * message, and returns the exit status of a failed program. */
int script_run(const char *script, char **argv);

#endif
