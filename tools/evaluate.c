/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr evaluate`: measures what the papers measured and writes a page about it. A script does
 * that (bench/report/evaluate.sh); this hands over to it.
 */
#include "tools/commands.h"
#include "tools/script.h"

int evaluate_command(int argc, char **argv)
{
    (void)argc;
    return script_run("bench/report/evaluate.sh", argv);
}
