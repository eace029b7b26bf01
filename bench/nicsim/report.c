/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim report: presents the scaling study and the calibration on a page. Runs the script
 * bench/nicsim/report.sh, and passes it the paths of this program and of its data.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/nicsim/commands.h"
#include "tools/script.h"

int nicsim_report_command(const char *data, char **argv)
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length > 0) {
        self[length] = '\0';
    }
    argv[0] = (char *)"nicsim report";
    if (length <= 0 || 0 != setenv("NICSIM", self, 1) || 0 != setenv("NICSIM_DATA", data, 1)) {
        fprintf(stderr, "%s: cannot find its own program: %s\n", argv[0], strerror(errno));
        return EXIT_FAILURE;
    }
    return script_run("bench/nicsim/report.sh", argv);
}
