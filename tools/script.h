/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our scripts. They are installed in a folder of ours with all that they call, in the same places
 * as in the source tree.
 */
#ifndef TOOLS_SCRIPT_H
#define TOOLS_SCRIPT_H

/* The path of such a file, to be freed; NULL if memory runs out. NICBARR_LIBEXECDIR in the
 * environment names another folder, such as the source tree (tests). */
char *script_path(const char *file);

/*
 * Replace this process by a script, such as "bench/report/evaluate.sh". It gets argv's arguments
 * after argv[0]; argv[0] is the command's name in error messages. The environment variable
 * NICBARR_VERSION has the program's version. On failure prints a message, and returns the exit
 * status of a failed program.
 */
int script_run(const char *script, char **argv);

#endif
