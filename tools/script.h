/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing over to one of our scripts. They are installed in a folder of ours, with all that they
 * run. In that folder things lie as in the source tree.
 */
#ifndef TOOLS_SCRIPT_H
#define TOOLS_SCRIPT_H

/* Where such a file is, to be freed; NULL: no memory. NICBARR_LIBEXECDIR in the environment is
 * another folder, such as the source tree (tests). */
char *script_path(const char *file);

/*
 * Become the script, such as "bench/report/evaluate.sh", with argv's arguments after argv[0], which
 * is what an error calls the command. It finds its program's version in NICBARR_VERSION. Returns
 * only after a line on standard error that says why not: a failed program's exit status.
 */
int script_run(const char *script, char **argv);

#endif
