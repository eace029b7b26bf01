/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subcommands that are scripts; this hands over to them. `nicbarr evaluate` measures what the
 * papers measured and writes a page about it. `nicbarr tune` measures which algorithms are best
 * here, for all jobs that come. `nicbarr trace` says where the time of a barrier goes.
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
