/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr evaluate`: measures what the papers measured and writes a page about it. `nicbarr tune`:
 * measures which algorithms are best here, for all jobs that come. Scripts do that
 * (bench/report/evaluate.sh, tune.sh); this hands over to them.
 */
#include "tools/commands.h"
#include "tools/script.h"

int evaluate_command(int argc, char **argv)
{
    (void)argc;
    return script_run("bench/report/evaluate.sh", argv);
}

int tune_command(int argc, char **argv)
{
    (void)argc;
    return script_run("bench/report/tune.sh", argv);
}
