/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subcommands of the tool `nicbarr`, one per file.
 *
 * nicbarr.c calls each function with the arguments from the name of the subcommand on. argv[0] is
 * the name that --help and messages use ("nicbarr report"). The functions return the exit status,
 * which is 0, or 1 after a message on standard error that describes what to do. Wrong usage ends
 * the program with status 64 (EX_USAGE). */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

int doctor_command(int argc, char **argv);   /* doctor.c; returns 1 if there are problems */
int evaluate_command(int argc, char **argv); /* by_script.c */
int report_command(int argc, char **argv);   /* report.c */
int status_command(int argc, char **argv);   /* status.c */
int trace_command(int argc, char **argv);    /* by_script.c */
int tune_command(int argc, char **argv);     /* by_script.c */

#endif
