#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the job of `nicbarr doctor` (doctor_job.c), and ends it if it hangs (status 124).
#
#     job.sh SECONDS MPIRUN-ARGUMENT...
set -eu
limit=$1
shift
# shellcheck source=ompi/jobs.sh
. "$(dirname "$0")/../ompi/jobs.sh"
case " $* " in
    *" --host "*) on_several_hosts ;;
esac
exec timeout --foreground -k 5 "$limit" mpirun "$@"
