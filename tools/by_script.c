/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subcommands that are implemented by scripts. `nicbarr evaluate` repeats the papers' measurements,
 * and writes a page about them. `nicbarr tune` measures which algorithms are best on this machine,
 * for all later jobs. `nicbarr trace` shows how much time the parts of a barrier take.
 */
#include "tools/commands.h"
#include "tools/script.h"

int evaluate_command(int argc, char **argv)
{
    (void)argc;
    return script_run("bench/report/evaluate.sh", argv);
}

int trace_command(int argc, char **argv)
{
    (void)argc;
    return script_run("tools/trace.sh", argv);
}

int tune_command(int argc, char **argv)
{
    (void)argc;
    return script_run("bench/report/tune.sh", argv);
}
